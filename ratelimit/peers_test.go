package ratelimit_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// The tests in the files peers_test.go take inputs that gave wrong results in other limiters, which they are
// named after: TestPeer_<system>_<what is right>. Those that need a store are beside the stores.

// refusedEverywhere asserts that a quota gives an error that says why, wherever it can be given.
func refusedEverywhere(t *testing.T, quota ratelimit.Quota, why string) {
	t.Helper()
	assert.NotPanics(t, func() {
		rule, err := quota.Rule()
		assert.ErrorContains(t, err, why)
		assert.Nil(t, rule)

		good := policy("api")
		own, plan := good, good
		own.Quota = quota
		plan.Plans, plan.Plan = map[string]ratelimit.Quota{"gold": quota}, func(*seawall.Request) string { return "gold" }
		l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{good}})
		require.NoError(t, err)
		for _, p := range []ratelimit.Policy{own, plan} {
			_, err = ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{p}})
			assert.ErrorContains(t, err, why)
			assert.ErrorContains(t, l.Reload([]ratelimit.Policy{p}), why)
		}
		checks := l.Plan(nil, &seawall.Request{Key: seawall.NewKey("a")})
		require.Len(t, checks, 1)
		assert.EqualValues(t, 20, checks[0].Rule.(ratelimit.Rule).Limit(), "what was good before goes on")
	})
}

func TestPeer_redis_rate_aRateOfZeroIsRefusedWhereItIsMade(t *testing.T) { // 1
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.PerMinute(0), 1), "Count is 0; want at least 1")
}

func TestPeer_redis_cell_aCountOfZeroIsAnError(t *testing.T) { // 6
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.Rate{Count: 0, Per: 60 * time.Second}, 16), "Count is 0; want at least 1")
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.Rate{Count: 30, Per: 0}, 16), "Per is 0s; want a positive duration")
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.PerMinute(30), 0), "burst is 0; want 1")
	for _, quota := range []ratelimit.Quota{
		ratelimit.SlidingLog(0, time.Minute), ratelimit.SlidingCounter(0, time.Minute), ratelimit.FixedWindow(0, ratelimit.Daily()),
	} {
		refusedEverywhere(t, quota, "limit is 0; want 1")
	}
}

func TestPeer_throttled_perSecondOfZeroIsAnErrorAndNoPanic(t *testing.T) { // 9
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.PerSecond(0), 1), "Count is 0; want at least 1")
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.PerSecond(math.MinInt64), 1), "want at least 1")
}

func TestPeer_golang_x_time_aRateOfZeroIsNotUnlimited(t *testing.T) { // 12; what one in 30 days admits is beside the stores
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.PerSecond(0), 1), "Count is 0; want at least 1")
	_, err := ratelimit.ParseRate("0")
	assert.ErrorContains(t, err, `rate "0": want`)
	_, err = ratelimit.ParseRate("Inf")
	assert.ErrorContains(t, err, `rate "Inf": want`)
}

func TestPeer_redis_2e8TokensOfOneADayAreRefusedWhereTheyAreMade(t *testing.T) { // 7; as a cost, it is beside the stores
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.PerDay(1), 200_000_000), "takes more than 100 years to refill")
	refusedEverywhere(t, ratelimit.TokenBucket(ratelimit.PerDay(1), 213_504), "takes more than 100 years to refill") // 2^64 ns and a bit
}

func TestPeer_spring_cloud_gateway_dailyQuotasGoBeyond25000(t *testing.T) { // 11
	for _, n := range []int64{24_855, 24_856, 25_000, 1_000_000, 1_000_000_000} { // 24 855 days are 2^31 s
		for _, quota := range []ratelimit.Quota{
			ratelimit.TokenBucket(ratelimit.PerDay(n), n), ratelimit.SlidingLog(n, 24*time.Hour),
			ratelimit.SlidingCounter(n, 24*time.Hour), ratelimit.FixedWindow(n, ratelimit.Daily()),
		} {
			rule, err := quota.Rule()
			require.NoError(t, err, "%v", quota)
			assert.Equal(t, n, rule.Limit(), "%v", quota)
			assert.InDelta(t, 24*time.Hour, rule.Window(), float64(n), "%v: at most a nanosecond a token", quota)
		}
	}
}

func TestPeer_redis_cell_moreThan1000ASecondIsARate(t *testing.T) { // 5
	for _, n := range []int64{1500, 2000, 6000, 1_000_000} {
		rule, err := ratelimit.TokenBucket(ratelimit.PerSecond(n), n).Rule()
		require.NoError(t, err)
		assert.Equal(t, n, rule.Limit())
		assert.InDelta(t, time.Second, rule.Window(), float64(n), "%d a second", n)
	}
}

func TestPeer_redis_rate_aRateBelowOneASecondIsExact(t *testing.T) { // 13
	rate, err := ratelimit.ParseRate("0.0055")
	require.NoError(t, err)
	assert.Equal(t, ratelimit.Rate{Count: 11, Per: 2000 * time.Second}, rate)
	rule, err := ratelimit.TokenBucket(rate, 11).Rule()
	require.NoError(t, err)
	assert.InDelta(t, 2000*time.Second, rule.Window(), 11, "eleven tokens take 2000 s, to a nanosecond each")
}
