package redisstore_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// # Arithmetic

func TestPeer_go_redis_aFreshKeyHasOneLessThanItsLimit(t *testing.T) { // 2
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for r := int64(1); r <= 200; r++ {
			got := apply(t, f, spends(t, fmt.Sprint(r), ratelimit.TokenBucket(ratelimit.PerSecond(r), r)))[0]
			assert.True(t, got.Admitted)
			assert.Equal(t, r-1, got.Remaining, "%d a second", r)
		}
	})
}

func TestPeer_redis_rate_costAboveBurstIsNever(t *testing.T) { // 3
	for name, c := range map[string]struct {
		limit, cost int64
		window      time.Duration
	}{
		"redis_rate":       {10, 20, time.Second},
		"bucket4j and one": {3, 4, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onBothStores(t, func(t *testing.T, f *peerFleet) {
				inAllAlgorithms(t, c.limit, c.window, func(t *testing.T, check seawall.Check) {
					for _, left := range []int64{c.limit, 0, c.limit} {
						got := apply(t, f, costing(check, c.cost))[0]
						assert.False(t, got.Admitted)
						assert.Equal(t, seawall.Never, got.RetryAfter)
						assert.Equal(t, left, got.Remaining, "and it costs nothing")
						if left == c.limit {
							require.True(t, apply(t, f, costing(check, c.limit))[0].Admitted)
						} else {
							f.advance(10 * c.window)
						}
					}
				})
			})
		})
	}
}

func TestPeer_redis_rate_aNegativeCostGivesNothingBack(t *testing.T) { // 4
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, cost := range []int64{-100, 0, math.MinInt64} {
			inAllAlgorithms(t, 10, time.Hour, func(t *testing.T, c seawall.Check) {
				c.Key = seawall.NewKey(c.Key.String(), fmt.Sprint(cost))
				for left := int64(9); left >= 0; left-- {
					got := apply(t, f, costing(c, cost))[0]
					assert.True(t, got.Committed)
					assert.Equal(t, left, got.Remaining, "what costs less than 1 costs 1")
				}
				assert.False(t, apply(t, f, costing(c, cost))[0].Admitted)
				back := costing(c, cost)
				back.Op = seawall.Refund
				apply(t, f, back)
				assert.LessOrEqual(t, apply(t, f, peeking(c))[0].Remaining, int64(1))
			})
		}
	})
}

func TestPeer_redis_cell_largeAndFastLimitsAreExact(t *testing.T) { // 5
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, k := range []struct {
			rate  ratelimit.Rate
			burst int64
			wait  time.Duration // for one token
		}{
			{ratelimit.Rate{Count: 1000, Per: 60 * time.Second}, 1000, 60 * time.Millisecond},
			{ratelimit.PerSecond(6000), 6000, 167 * time.Microsecond},
			{ratelimit.PerSecond(1500), 1500, 667 * time.Microsecond},
			{ratelimit.PerSecond(2000), 1, 500 * time.Microsecond},
		} {
			c := spends(t, k.rate.String(), ratelimit.TokenBucket(k.rate, k.burst))
			for i := range min(k.burst, 5) {
				assert.Equal(t, k.burst-1-i, apply(t, f, c)[0].Remaining, "%v: every request counts", k.rate)
			}
			if rest := k.burst - 5; rest > 0 {
				assert.Zero(t, apply(t, f, costing(c, rest))[0].Remaining)
			}
			got := apply(t, f, c)[0]
			assert.False(t, got.Admitted, "%v", k.rate)
			assert.Equal(t, k.wait, got.RetryAfter, "%v", k.rate)
			f.advance(got.RetryAfter)
			assert.Equal(t, 1, f.admitted(t, c, 3), "%v", k.rate)
		}
	})
}

func TestPeer_redis_aCostWhoseTimeOverflowsIsRefused(t *testing.T) { // 7
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, burst := range []int64{1, 36_525} { // a century's
			c := spends(t, fmt.Sprint(burst), ratelimit.TokenBucket(ratelimit.PerDay(1), burst))
			for _, cost := range []int64{200_000_000, 213_504, 106_752, math.MaxInt64} { // 2^64 ns are 213 503.98 days
				got := apply(t, f, costing(c, cost))[0]
				assert.Equal(t, seawall.Result{Limit: burst, Remaining: burst, RetryAfter: seawall.Never}, got, "cost %d", cost)
			}
			assert.True(t, apply(t, f, costing(c, burst))[0].Admitted)
		}
	})
}

func TestPeer_gubernator_2000PerSecondHasAnInterval(t *testing.T) { // 8
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		inAllAlgorithms(t, 2000, 1000*time.Millisecond, func(t *testing.T, c seawall.Check) {
			got := apply(t, f, c)[0]
			assert.True(t, got.Admitted)
			assert.EqualValues(t, 1999, got.Remaining)
			assert.GreaterOrEqual(t, got.ResetAfter, 500*time.Microsecond, "later than now")
			assert.True(t, apply(t, f, costing(c, 1999))[0].Admitted)
			got = apply(t, f, c)[0]
			assert.False(t, got.Admitted)
			assert.GreaterOrEqual(t, got.RetryAfter, 500*time.Microsecond)
			assert.LessOrEqual(t, got.RetryAfter, 1001*time.Millisecond)
			f.advance(got.RetryAfter)
			assert.True(t, apply(t, f, c)[0].Admitted)
		})
	})
}

func TestPeer_bucket4j_whoWasIdleForLongHasEverything(t *testing.T) { // 10
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, idle := range []time.Duration{12 * time.Hour, 10 * 8766 * time.Hour} {
			for _, limit := range []int64{1, 1_000_000} {
				inAllAlgorithms(t, limit, time.Second, func(t *testing.T, c seawall.Check) {
					require.True(t, apply(t, f, costing(c, limit))[0].Admitted)
					require.False(t, apply(t, f, c)[0].Admitted)
					f.advance(idle)
					assert.Equal(t, limit, apply(t, f, peeking(c))[0].Remaining)
					assert.True(t, apply(t, f, costing(c, limit))[0].Admitted)
				})
			}
		}
	})
}

func TestPeer_spring_cloud_gateway_dailyQuotasOfMillions(t *testing.T) { // 11
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, n := range []int64{25_001, 10_000_000} {
			inAllAlgorithms(t, n, 24*time.Hour, func(t *testing.T, c seawall.Check) {
				assert.EqualValues(t, 1, apply(t, f, costing(c, n-1))[0].Remaining)
				assert.True(t, apply(t, f, c)[0].Admitted)
				assert.False(t, apply(t, f, c)[0].Admitted)
			})
		}
	})
}

func TestPeer_golang_x_time_oneEventInTheLongestTimeIsOne(t *testing.T) { // 12
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, quota := range []ratelimit.Quota{
			ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 30 * 24 * time.Hour}, 1), // the slowest rate, instead of 0
			ratelimit.SlidingLog(1, 366*24*time.Hour),
		} {
			c := spends(t, quota.String(), quota)
			for range 50 {
				require.EqualValues(t, 1, apply(t, f, peeking(c))[0].Remaining, "looking reserves nothing")
			}
			yes := 0
			for range 58 { // 29 days
				yes += f.admitted(t, c, 2)
				f.advance(12 * time.Hour)
			}
			assert.Equal(t, 1, yes, "%v", quota)
		}
	})
}

func TestPeer_redis_rate_aRateBelowOneASecondIsKept(t *testing.T) { // 13
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		rate, err := ratelimit.ParseRate("0.0055")
		require.NoError(t, err)
		c := spends(t, "a", ratelimit.TokenBucket(rate, 1))
		require.True(t, apply(t, f, c)[0].Admitted)
		got := apply(t, f, c)[0]
		assert.False(t, got.Admitted)
		assert.Equal(t, 181_818_182*time.Microsecond, got.RetryAfter, "2000/11 s, up to a microsecond")
		f.advance(got.RetryAfter - time.Microsecond)
		assert.False(t, apply(t, f, c)[0].Admitted)
		f.advance(time.Microsecond)
		assert.True(t, apply(t, f, c)[0].Admitted)
	})
}
