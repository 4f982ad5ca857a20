package workershed

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

func TestShareShedsFromTheBottom(t *testing.T) {
	for _, tc := range []struct{ level, test, read, write float64 }{
		{0, 0, 0, 0},
		{1. / 6, 0.5, 0, 0},
		{1. / 3, 1, 0, 0},
		{0.5, 1, 0.5, 0},
		{2. / 3, 1, 1, 0},
		{5. / 6, 1, 1, 0.5},
		{1, 1, 1, 1},
		{math.NaN(), 0, 0, 0},
		{-1, 0, 0, 0},
		{2, 1, 1, 1},
		{math.Inf(1), 1, 1, 1},
	} {
		assert.InDelta(t, tc.test, share(tc.level, seawall.TestMode), 1e-9, "test at %v", tc.level)
		assert.InDelta(t, tc.read, share(tc.level, seawall.Read), 1e-9, "read at %v", tc.level)
		assert.InDelta(t, tc.write, share(tc.level, seawall.Write), 1e-9, "write at %v", tc.level)
		assert.Zero(t, share(tc.level, seawall.Critical), "critical at %v", tc.level)
	}
}

func TestShareOfUnknownTiers(t *testing.T) {
	assert.Zero(t, share(1, seawall.Critical+1))
	assert.Zero(t, share(1, math.MaxInt8))
	assert.InDelta(t, share(0.2, seawall.TestMode), share(0.2, math.MinInt8), 1e-9)
}

func TestRetryAfterGrowsWithTheLevel(t *testing.T) {
	assert.Equal(t, time.Second, retryAfter(0))
	assert.Equal(t, 5500*time.Millisecond, retryAfter(0.5))
	assert.Equal(t, 10*time.Second, retryAfter(1))
	assert.Equal(t, time.Second, retryAfter(math.NaN()))
	assert.Equal(t, 10*time.Second, retryAfter(math.Inf(1)))
}
