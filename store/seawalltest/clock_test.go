package seawalltest_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall/store/seawalltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClockStandsUntilItIsMoved(t *testing.T) {
	start := time.Now()
	c := seawalltest.NewClock(start)
	start = start.Round(0)
	assert.Equal(t, start, c.Now(), "without a monotonic reading")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		assert.Equal(t, start, c.Now())
	})
	c.Advance(time.Hour)
	assert.Equal(t, start.Add(time.Hour), c.Now())
	c.Advance(-3 * time.Hour)
	assert.Equal(t, start.Add(-2*time.Hour), c.Now(), "back beyond its start")
}

func TestZeroClock(t *testing.T) {
	noon := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	var c seawalltest.Clock
	assert.Equal(t, noon, c.Now())
	c.Advance(time.Nanosecond)
	assert.Equal(t, noon.Add(1), c.Now())
	assert.Equal(t, noon, seawalltest.NewClock(time.Time{}).Now())
}

func TestClockIsSafeForConcurrentUse(t *testing.T) {
	var c seawalltest.Clock
	start := c.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				c.Advance(time.Second)
				_ = c.Now()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 800*time.Second, c.Now().Sub(start))
}
