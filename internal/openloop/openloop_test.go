package openloop

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tests run in the fake time of synctest, so every latency is exact.

func TestCallsBeginWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at [20]time.Duration
		rec := Run(t.Context(), Load{Rate: 10, For: 2 * time.Second}, func(i int) {
			at[i] = time.Since(began)
			time.Sleep(350 * time.Millisecond) // longer than the gap
		})
		require.Len(t, rec.Samples, 20)
		assert.Equal(t, began, rec.Began)
		for i, s := range rec.Samples {
			due := time.Duration(i) * 100 * time.Millisecond
			assert.Equal(t, Sample{Call: i, Due: due, Latency: 350 * time.Millisecond}, s)
			assert.Equal(t, due, at[i])
		}
	})
}

// TestAStallIsMeasuredForAll stalls both workers for a second: whoever was due meanwhile has waited.
func TestAStallIsMeasuredForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := Run(t.Context(), Load{Rate: 10, For: 2 * time.Second, Workers: 2}, func(i int) {
			if i < 2 {
				time.Sleep(time.Second)
			}
		})
		require.Len(t, rec.Samples, 20)
		for i, s := range rec.Samples {
			want := time.Duration(max(0, 10-i)) * 100 * time.Millisecond // until the first worker is back
			if i < 2 {
				want = time.Second
			}
			assert.Equal(t, want, s.Latency, "call %d", i)
		}
	})
}

func TestNoMoreThanWorkersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Int64
		full := false
		Run(t.Context(), Load{Rate: 1000, For: time.Second, Workers: 7}, func(i int) {
			n := busy.Add(1)
			assert.LessOrEqual(t, n, int64(7))
			time.Sleep(50 * time.Millisecond)
			if i == 500 {
				full = busy.Load() == 7
			}
			busy.Add(-1)
		})
		assert.True(t, full)
	})
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 950*time.Millisecond)
		defer cancel()
		began := time.Now()
		rec := Run(ctx, Load{Rate: 10, For: time.Hour}, func(int) {})
		assert.Len(t, rec.Samples, 10)
		assert.Equal(t, 950*time.Millisecond, time.Since(began))
		assert.Empty(t, Run(ctx, Load{Rate: 10, For: time.Hour}, func(int) { t.Error("called") }).Samples)
	})
}

func TestNoLoad(t *testing.T) {
	t.Parallel()
	for _, l := range []Load{{}, {Rate: -1, For: time.Second}, {Rate: 1, For: -time.Second}} {
		assert.Empty(t, Run(t.Context(), l, func(int) { t.Error("called") }).Samples)
	}
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	rec := &Record{}
	for i := range 100 {
		rec.Samples = append(rec.Samples, Sample{Call: i, Due: time.Duration(i), Latency: time.Duration(100 - i)})
	}
	all := rec.All()
	assert.Len(t, all, 100)
	for q, want := range map[float64]time.Duration{0: 1, 0.005: 1, 0.5: 50, 0.99: 99, 0.991: 100, 1: 100} {
		assert.Equal(t, want, all.P(q), "%v", q)
	}
	assert.EqualValues(t, 100, all.Max())
	assert.Equal(t, Latencies{91, 92}, rec.Between(8, 10), "sorted, from inclusive, to exclusive")
	assert.Equal(t, Latencies{97}, rec.Where(func(s Sample) bool { return s.Call == 3 }))
	assert.Zero(t, rec.Between(100, 200).P(0.99))
	assert.Zero(t, Latencies{}.Max())
}
