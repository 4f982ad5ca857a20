package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

func TestPeer_throttled_aTTLIsNotCutToWholeSeconds(t *testing.T) { // 27
	t.Parallel()
	server := redistest.Start(t)
	s := openPatient(t, server)
	const interval = 1900 * time.Millisecond
	timely(t, interval, func(caller string) func() {
		first := spends(t, caller+" bucket", ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: interval}, 1))
		second := spends(t, caller+" log", ratelimit.SlidingLog(1, interval))
		for _, c := range []seawall.Check{first, second} {
			require.True(t, apply(t, s, c)[0].Admitted)
		}
		<-time.After(1150 * time.Millisecond)
		got, gotLog := apply(t, s, first)[0], apply(t, s, second)[0]
		return func() { assert.False(t, got.Admitted || gotLog.Admitted, "after 1.15 s of 1.9 s") }
	})
}

func TestPeer_go_redisstore_anIntervalBelowASecondLimits(t *testing.T) { // 28
	t.Parallel()
	server := redistest.Start(t)
	s := openPatient(t, server)
	const interval = 500 * time.Millisecond
	for _, quota := range []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: interval}, 1), ratelimit.SlidingLog(1, interval),
	} {
		began := time.Now()
		yes := (&peerFleet{Store: s, other: s}).admitted(t, spends(t, quota.String(), quota), 20)
		assert.GreaterOrEqual(t, yes, 1, "%v", quota)
		assert.LessOrEqual(t, yes, 1+int(time.Since(began)/interval), "%v: of 20", quota)
	}
}

func TestPeer_go_redisstore_callsDialNothing(t *testing.T) { // 28
	t.Parallel()
	server := redistest.Start(t)
	client, dialled := patient(t, server.URL()), new(dials)
	client.AddHook(dialled)
	s := openOn(t, client)
	warm(t, s)
	c := spends(t, "a", ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 500 * time.Millisecond}, 1))
	(&peerFleet{Store: s, other: s}).admitted(t, c, 20)
	(&peerFleet{Store: s, other: s}).atOnce(t, c, 200)
	assert.LessOrEqual(t, dialled.all.Load(), int64(10), "the pool, once")
}

func TestPeer_spring_cloud_gateway_aBucketThatFillsWithinASecondLimits(t *testing.T) { // 29
	quota := ratelimit.TokenBucket(ratelimit.PerSecond(10), 4)
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		c := spends(t, "a", quota)
		assert.Equal(t, 4, f.admitted(t, c, 20))
		f.advance(100 * time.Millisecond)
		assert.Equal(t, 1, f.admitted(t, c, 20))
	})
}

func TestPeer_stripe_gist_aBucketThatFillsWithinASecondIsStored(t *testing.T) { // 29
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	quota := ratelimit.TokenBucket(ratelimit.PerSecond(10), 4)
	timely(t, 300*time.Millisecond, func(caller string) func() {
		all := apply(t, s, costing(spends(t, caller, quota), 4))[0]
		lives := client.PTTL(t.Context(), bucketKey(caller)).Val()
		return func() {
			assert.True(t, all.Admitted)
			assert.Positive(t, lives, "it takes 400 ms to fill")
		}
	})
	began := time.Now()
	yes := (&peerFleet{Store: s, other: s}).admitted(t, spends(t, "a", quota), 20)
	assert.GreaterOrEqual(t, yes, 4)
	assert.LessOrEqual(t, yes, 4+int(time.Since(began)/(100*time.Millisecond)), "of 20")
}

func TestPeer_apisix_aTTLIsAsLongAsTheInterval(t *testing.T) { // 30
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	rate, err := ratelimit.ParseRate("0.1")
	require.NoError(t, err)
	timely(t, 10*time.Second, func(caller string) func() {
		began := time.Now()
		c := spends(t, caller, ratelimit.TokenBucket(rate, 1))
		require.True(t, apply(t, s, c)[0].Admitted)
		lives := client.PTTL(t.Context(), bucketKey(caller)).Val() + time.Since(began) + time.Millisecond
		<-time.After(1100 * time.Millisecond)
		second := apply(t, s, c)[0]
		return func() {
			assert.GreaterOrEqual(t, lives, 10*time.Second)
			assert.False(t, second.Admitted, "1.1 s of 10 s later")
		}
	})
}

func TestPeer_kong_aTTLIsNoLongerThanTheWindow(t *testing.T) { // 31
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	const rounded = 3 * time.Millisecond
	for _, window := range []time.Duration{time.Second, time.Minute, day} {
		inAllAlgorithms(t, 10, window, func(t *testing.T, c seawall.Check) {
			most := window + rounded
			if c.Rule.Kind() == "counter" { // the previous window weighs, too
				most += window
			}
			c.Key = seawall.NewKey(c.Key.String())
			require.True(t, apply(t, s, c)[0].Admitted)
			lives := client.PTTL(t.Context(), "test:{"+c.Key.String()+"}:ratelimit:api").Val()
			assert.LessOrEqual(t, lives, most)
			if window > time.Second { // or it may have gone meanwhile
				assert.Positive(t, lives)
			}
		})
	}
}

func TestPeer_rate_limit_redis_aWindowEndsOnItsBoundary(t *testing.T) { // 32
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		c := spends(t, "a", ratelimit.FixedWindow(1, ratelimit.Every(time.Second)))
		f.advance(123_457 * time.Microsecond)
		for range 5 {
			require.True(t, apply(t, f, c)[0].Admitted)
			got := apply(t, f, c)[0]
			require.False(t, got.Admitted)
			f.advance(got.RetryAfter - time.Microsecond)
			got = apply(t, f, c)[0]
			require.False(t, got.Admitted)
			require.Equal(t, time.Microsecond, got.RetryAfter)
			f.advance(time.Microsecond)
		}
	})
}

// TestPeer_rate_limit_redis_aKeyAboutToExpireIsNotKept asks without a pause while keys expire, so that some are
// asked for in their last millisecond.
func TestPeer_rate_limit_redis_aKeyAboutToExpireIsNotKept(t *testing.T) { // 32
	t.Parallel()
	server := redistest.Start(t)
	s := openPatient(t, server)
	for _, quota := range []ratelimit.Quota{
		ratelimit.FixedWindow(1, ratelimit.Every(time.Second)), ratelimit.SlidingLog(1, 30*time.Millisecond),
		ratelimit.TokenBucket(ratelimit.PerSecond(33), 1),
	} {
		c := spends(t, quota.String(), quota)
		var over time.Time // when the earliest wait that was told is over; zero: none was
		for yes := 0; yes < 2; {
			waited := !over.IsZero() && time.Now().After(over)
			got := apply(t, s, c)[0]
			if got.Admitted {
				yes, over = yes+1, time.Time{}
				continue
			}
			require.False(t, waited, "%v: denied when the wait was over", quota)
			require.LessOrEqual(t, got.RetryAfter, c.Rule.(ratelimit.Rule).Window()+time.Microsecond, "%v: no longer than a window", quota)
			if told := time.Now().Add(got.RetryAfter); over.IsZero() || told.Before(over) {
				over = told
			}
			if got.RetryAfter > 20*time.Millisecond { // there is nothing to see before
				<-time.After(got.RetryAfter - 10*time.Millisecond)
			}
		}
	}
}

func TestPeer_redis_cell_aRaisedRateShortensTheWait(t *testing.T) { // 34
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, raised := range []struct {
			from, to         ratelimit.Rate
			burst, burstThen int64
			wait             time.Duration
		}{
			{ratelimit.PerHour(10), ratelimit.PerHour(1000), 10, 1000, 3600 * time.Millisecond}, // redis_rate
			{ratelimit.PerHour(10), ratelimit.PerHour(1000), 10, 10, 3600 * time.Millisecond},
			{ratelimit.Rate{Count: 10, Per: 20 * time.Second}, ratelimit.Rate{Count: 1000, Per: 20 * time.Second}, 16, 16, 20 * time.Millisecond},
		} {
			policies := func(r ratelimit.Rate, burst int64) []ratelimit.Policy {
				return []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(r, burst)}}
			}
			l, err := ratelimit.New(ratelimit.Config{Policies: policies(raised.from, raised.burst)})
			require.NoError(t, err)
			ask := func() seawall.Result {
				return apply(t, f, l.Plan(nil, &seawall.Request{Key: seawall.NewKey(fmt.Sprint(raised))})...)[0]
			}
			for range raised.burst {
				require.True(t, ask().Admitted)
			}
			require.NoError(t, l.Reload(policies(raised.to, raised.burstThen)))
			got := ask()
			assert.False(t, got.Admitted, "as Policy.Plan says: the debt is time")
			assert.Equal(t, raised.wait, got.RetryAfter, "a token of the new rate, not what the old one owes")
			f.advance(got.RetryAfter)
			assert.True(t, ask().Admitted)
		}
	})
}

func TestPeer_vsthrottle_aClockThatStepsBackLocksNobodyOut(t *testing.T) { // 35
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, back := range []time.Duration{time.Millisecond, time.Minute, 24 * time.Hour} {
			inAllAlgorithms(t, 10, time.Minute, func(t *testing.T, c seawall.Check) {
				c.Key = seawall.NewKey(c.Key.String(), back.String())
				most := 60_001 * time.Millisecond
				if c.Rule.Kind() == "counter" {
					most *= 2
				}
				require.True(t, apply(t, f, costing(c, 10))[0].Admitted)
				f.advance(-back)
				got := apply(t, f, c)[0]
				assert.False(t, got.Admitted)
				assert.Zero(t, got.Remaining, "no less than nothing")
				assert.Positive(t, got.RetryAfter)
				assert.LessOrEqual(t, got.RetryAfter, most)
				f.advance(got.RetryAfter)
				assert.True(t, apply(t, f, c)[0].Admitted, "and it comes true")
			})
		}
		slot := lease(t, "a", 1, time.Minute)
		apply(t, f, slot)
		f.advance(-24 * time.Hour)
		assert.False(t, apply(t, f, slot)[0].Admitted)
		f.advance(time.Minute)
		assert.True(t, apply(t, f, slot)[0].Admitted, "a slot is taken for a TTL longer at most")
	})
}

func TestPeer_mennanov_limiters_stateThatLapsesIsNoError(t *testing.T) { // 36
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	c := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1)) // lives for 3 ms
	for i := range 50 {
		apply(t, s, c) // asserts that there is no error
		<-time.After(time.Duration(i%7) * time.Millisecond)
	}
	require.Eventually(t, func() bool { return client.Exists(t.Context(), bucketKey("a")).Val() == 0 }, soon, time.Millisecond)
	assert.True(t, apply(t, s, c)[0].Admitted)
	inAllAlgorithms(t, 5, time.Hour, func(t *testing.T, c seawall.Check) {
		c.Key = seawall.NewKey(c.Rule.Kind())
		for range 3 {
			assert.EqualValues(t, 4, apply(t, s, c)[0].Remaining)
			assert.EqualValues(t, 3, apply(t, s, c)[0].Remaining)
			require.EqualValues(t, 1, client.Del(t.Context(), bucketKey(c.Rule.Kind())).Val())
		}
	})
}
