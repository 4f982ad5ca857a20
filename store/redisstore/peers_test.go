package redisstore_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// The tests in this file take inputs that gave wrong results in other limiters, which they are named after:
// TestPeer_<system>_<what is right>. Those that are about what a store decides run on both stores side by side.

// peerFleet is two instances of a service that share their state, by a clock that stands still unless it is advanced.
type peerFleet struct {
	seawall.Store // of the first instance
	other         seawall.Store
	advance       func(time.Duration)
	renew         func() // what the first instance holds and is due
}

// onBothStores runs a case on a store in memory, where both instances are one, and on Redis.
func onBothStores(t *testing.T, run func(t *testing.T, f *peerFleet)) {
	t.Helper()
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		s := openMemory(t)
		run(t, &peerFleet{s.Store, s.Store, s.Advance, s.Renew})
	})
	t.Run("redis", func(t *testing.T) { run(t, twoOnRedis(t)) })
}

func twoOnRedis(t *testing.T) *peerFleet {
	t.Helper()
	server := redistest.Start(t)
	var now atomic.Int64
	now.Store(start.UnixNano())
	open := func() *redisstore.Store {
		s, err := redisstore.NewStepped(redisstore.Config{Client: patient(t, server.URL()), Namespace: "test"},
			func() time.Time { return time.Unix(0, now.Load()) })
		require.NoError(t, err)
		closeAtEnd(t, s)
		return s
	}
	first := open()
	return &peerFleet{first, open(), func(d time.Duration) { now.Add(int64(d)) }, first.Renew}
}

// patient returns a client that never takes Redis for slow because this machine is, for tests that are not about that.
func patient(t *testing.T, url string) *redis.Client {
	t.Helper()
	const long = "10s"
	o, err := redisstore.Options(url + "?dial_timeout=" + long + "&read_timeout=" + long + "&write_timeout=" + long + "&pool_timeout=" + long)
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// openPatient returns a store on Redis' own clock, with such a client.
func openPatient(t *testing.T, server *redistest.Server) *redisstore.Store {
	t.Helper()
	return openOn(t, patient(t, server.URL()))
}

// spends returns a caller's check on a quota, that costs 1.
func spends(t *testing.T, caller string, quota ratelimit.Quota) seawall.Check {
	t.Helper()
	rule, err := quota.Rule()
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, ratelimit.Name, "api"), Rule: rule, Key: seawall.NewKey(caller), Cost: 1}
}

func costing(c seawall.Check, cost int64) seawall.Check {
	c.Cost = cost
	return c
}

func peeking(c seawall.Check) seawall.Check {
	c.Op = seawall.Peek
	return c
}

// inAllAlgorithms runs a case with limit per window in each algorithm, for a caller of its own.
func inAllAlgorithms(t *testing.T, limit int64, window time.Duration, run func(t *testing.T, c seawall.Check)) {
	t.Helper()
	for _, quota := range []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.Rate{Count: limit, Per: window}, limit), ratelimit.SlidingLog(limit, window),
		ratelimit.SlidingCounter(limit, window), ratelimit.FixedWindow(limit, ratelimit.Every(window)),
	} {
		t.Run(quota.String(), func(t *testing.T) { run(t, spends(t, quota.String(), quota)) })
	}
}

// admitted asks n times, the instances in turn, and returns how often the answer was yes.
func (f *peerFleet) admitted(t *testing.T, c seawall.Check, n int) (yes int) {
	t.Helper()
	for i := range n {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		if apply(t, s, c)[0].Admitted {
			yes++
		}
	}
	return yes
}

// atOnce asks n times at once, the instances in turn, and returns how often the answer was yes.
func (f *peerFleet) atOnce(t *testing.T, c seawall.Check, n int) int {
	t.Helper()
	var yes atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		s := []seawall.Store{f.Store, f.other}[i%2]
		all.Go(func() {
			<-begin
			results, err := s.Apply(context.Background(), nil, []seawall.Check{c})
			if assert.NoError(t, err) && results[0].Committed {
				yes.Add(1)
			}
		})
	}
	close(begin)
	all.Wait()
	return int(yes.Load())
}

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

// # Double and unfair spending

func TestPeer_upstash_ratelimit_aDenialCostsNothing(t *testing.T) { // 14
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, k := range []struct{ limit, spent int64 }{{2, 0}, {1000, 998}} { // two are left of both
			inAllAlgorithms(t, k.limit, time.Hour, func(t *testing.T, c seawall.Check) {
				if k.spent > 0 {
					require.True(t, apply(t, f, costing(c, k.spent))[0].Admitted)
				}
				for range 3 {
					got := apply(t, f, costing(c, 1000))[0]
					assert.False(t, got.Admitted)
					assert.EqualValues(t, 2, got.Remaining)
				}
				assert.True(t, apply(t, f, costing(c, 2))[0].Admitted, "the two are still there")
			})
		}
	})
}

func TestPeer_upstash_ratelimit_aDenialWritesNothing(t *testing.T) { // 14
	t.Parallel()
	server := redistest.Start(t)
	s, c := openPatient(t, server), server.Client(t)
	inAllAlgorithms(t, 2, time.Hour, func(t *testing.T, check seawall.Check) {
		key := bucketKey(check.Rule.Kind())
		check.Key = seawall.NewKey(check.Rule.Kind())
		require.False(t, apply(t, s, costing(check, 1000))[0].Admitted)
		assert.Zero(t, c.Exists(t.Context(), key).Val(), "nothing stored")
		require.True(t, apply(t, s, check)[0].Admitted)
		stored, lives := c.Dump(t.Context(), key).Val(), c.PTTL(t.Context(), key).Val()
		require.False(t, apply(t, s, costing(check, 1000))[0].Admitted)
		assert.Equal(t, stored, c.Dump(t.Context(), key).Val())
		assert.LessOrEqual(t, c.PTTL(t.Context(), key).Val(), lives+2*time.Millisecond, "but for the rounding")
	})
}

func TestPeer_upstash_ratelimit_theLastTokenIsThereToSpend(t *testing.T) { // 15
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		inAllAlgorithms(t, 3, time.Hour, func(t *testing.T, c seawall.Check) {
			for left := int64(2); left >= 0; left-- {
				got := apply(t, f, c)[0]
				assert.True(t, got.Admitted)
				assert.Equal(t, left, got.Remaining)
			}
			assert.False(t, apply(t, f, c)[0].Admitted)
		})
	})
}

func TestPeer_boulder_spendingAtOnceCostsAsMuchAsInTurn(t *testing.T) { // 16
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		inAllAlgorithms(t, 100, time.Hour, func(t *testing.T, c seawall.Check) {
			assert.Equal(t, 50, f.atOnce(t, c, 50))
			assert.EqualValues(t, 50, apply(t, f, peeking(c))[0].Remaining)
		})
	})
}

func TestPeer_httprate_ofFiftyAtOnceTheLimitPasses(t *testing.T) { // 17
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		inAllAlgorithms(t, 25, time.Hour, func(t *testing.T, c seawall.Check) {
			assert.Equal(t, 25, f.atOnce(t, c, 50))
		})
	})
}

func TestPeer_httprate_aDecisionIsOneScriptAndNoLock(t *testing.T) { // 17
	t.Parallel()
	server := redistest.Start(t)
	a, b := openPatient(t, server), openPatient(t, server)
	inAllAlgorithms(t, 1000, time.Hour, func(t *testing.T, c seawall.Check) {
		apply(t, a, c)
		apply(t, b, c)
		server.ResetStat(t)
		began := time.Now()
		assert.Equal(t, 50, (&peerFleet{Store: a, other: b}).atOnce(t, c, 50))
		heartbeats := 4 * (int64(time.Since(began)/time.Second) + 2) // of two instances, the first of which sends the script
		assert.LessOrEqual(t, calls(t, server), 50+heartbeats)
		for _, command := range []string{"multi", "watch", "setnx", "script|load"} {
			assert.LessOrEqual(t, server.CommandCalls(t, command), heartbeats, command)
		}
	})
}

func TestPeer_apisix_oneASecondIsOneASecond(t *testing.T) { // 18
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, k := range []struct {
			quota       ratelimit.Quota
			least, most int // in ten seconds
		}{
			{ratelimit.TokenBucket(ratelimit.PerSecond(1), 1), 10, 10},
			{ratelimit.SlidingLog(1, time.Second), 10, 10},
			{ratelimit.FixedWindow(1, ratelimit.Every(time.Second)), 10, 10},
			{ratelimit.SlidingCounter(1, time.Second), 5, 10}, // a previous request counts until its weight is nothing
		} {
			c := spends(t, k.quota.String(), k.quota)
			yes := 0
			for range 50 {
				yes += f.atOnce(t, c, 4)
				f.advance(200 * time.Millisecond)
			}
			assert.GreaterOrEqual(t, yes, k.least, "%v", k.quota)
			assert.LessOrEqual(t, yes, k.most, "%v", k.quota)
		}
	})
}

// skewed is a rule on an instance whose clock is wrong.
type skewed struct {
	ratelimit.Rule
	by time.Duration
}

func (s skewed) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	env.Now += int64(s.by)
	return s.Rule.Args(dst, env, c)
}

// The limit is ten a day instead of ten a second, and the clocks differ by as much, so that nothing refills
// while the test runs. In memory there is one instance, and one clock that does not step.
func TestPeer_stripe_gist_anInstanceWhoseClockIsWrongGivesNothingAway(t *testing.T) { // 19
	t.Parallel()
	server := redistest.Start(t)
	at100, at99 := openPatient(t, server), openPatient(t, server)
	noon := time.Now().Truncate(time.Second).Add(-12 * time.Hour)
	for _, quota := range []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.PerDay(10), 10), ratelimit.SlidingLog(10, day), ratelimit.SlidingCounter(10, day),
		ratelimit.FixedWindow(10, ratelimit.Every(day).From(noon)),
	} {
		for _, skew := range []time.Duration{-day, day} {
			right := spends(t, fmt.Sprint(quota, skew), quota)
			wrong := right
			wrong.Rule = skewed{right.Rule.(ratelimit.Rule), skew}
			first, second := &peerFleet{Store: at100, other: at100}, &peerFleet{Store: at99, other: at99}
			assert.Equal(t, 10, first.admitted(t, right, 10), "%v", quota)
			assert.Equal(t, 0, second.admitted(t, wrong, 2), "%v, skew %v", quota, skew)
			assert.Equal(t, 0, first.admitted(t, right, 10), "%v, skew %v", quota, skew)
		}
	}
}

// useAtOnce uses n connections of the client's pool at the same time, and tells whether all worked.
func useAtOnce(c *redis.Client, n int) bool {
	ok := true
	for range n {
		conn := c.Conn()
		defer func() { _ = conn.Close() }()
		ok = conn.Ping(context.Background()).Err() == nil && ok
	}
	return ok
}

func TestPeer_go_redis_aStalledCallSpendsOnce(t *testing.T) { // 20
	t.Parallel()
	server := redistest.Start(t)
	o, err := redisstore.Options(server.URL() + "?read_timeout=100ms")
	require.NoError(t, err)
	o.MinIdleConns = 0 // a retry would go out on the latest of them, which would have to say hello first
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	s, other := openOn(t, client), openPatient(t, server)
	check := spends(t, "", ratelimit.TokenBucket(ratelimit.PerDay(1), 10))
	left := func() int64 { return apply(t, other, peeking(check))[0].Remaining }
	for i := range 10 { // until a call was sent at all
		check.Key = seawall.NewKey("warm")
		require.Eventually(t, func() bool {
			_, err := s.Apply(context.Background(), nil, []seawall.Check{check})
			return err == nil && useAtOnce(client, 8)
		}, soon, time.Millisecond, "the script is known, and the pool is warm")
		check.Key = seawall.NewKey(fmt.Sprint("caller ", i))
		server.Stop()
		stalled := time.Now()
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{check})
		<-time.After(time.Until(stalled.Add(700 * time.Millisecond)))
		server.Cont()
		require.Error(t, err)
		for began := time.Now(); left() == 10 && time.Since(began) < time.Second; <-time.After(time.Millisecond) {
		}
		if left() < 10 {
			for range 20 {
				require.EqualValues(t, 9, left(), "once")
			}
			return
		}
	}
	t.Fatal("no call was sent")
}

func TestPeer_kong_aRequestCountsOnce(t *testing.T) { // 21
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		inAllAlgorithms(t, 10, time.Hour, func(t *testing.T, c seawall.Check) {
			for i := range int64(6) {
				s := []seawall.Store{f.Store, f.other}[i%2]
				assert.Equal(t, 9-i, apply(t, s, c)[0].Remaining)
			}
			assert.EqualValues(t, 4, apply(t, f, peeking(c))[0].Remaining)
		})
	})
}

// TestPeer_kong_whatIsAlsoCountedLocallyCountsOnce has a local store keep count beside the shared one, as
// Kong's nodes do between two syncs.
func TestPeer_kong_whatIsAlsoCountedLocallyCountsOnce(t *testing.T) { // 21
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		both, err := store.NewFailover(f.Store, memstore.New(memstore.Config{}))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, both.Close(context.Background())) })
		rate, slot := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerDay(1), 10)), lease(t, "a", 10, time.Minute)
		for i := range int64(5) {
			got := apply(t, both, rate, slot)
			assert.Equal(t, 9-i, got[0].Remaining)
			assert.Equal(t, 9-i, got[1].Remaining)
		}
		got := apply(t, f.other, peeking(rate), peeking(slot))
		assert.EqualValues(t, 5, got[0].Remaining)
		assert.EqualValues(t, 5, got[1].Remaining)
	})
}

func TestPeer_envoy_ratelimit_whatOneLimitDeniesChargesNoOther(t *testing.T) { // 22
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		inAllAlgorithms(t, 100, time.Hour, func(t *testing.T, site seawall.Check) {
			user := spends(t, "user of "+site.Key.String(), ratelimit.TokenBucket(ratelimit.PerDay(1), 1))
			user.Limit = limit(t, ratelimit.Name, "user")
			require.True(t, apply(t, f, user, site)[1].Committed)
			for _, checks := range [][]seawall.Check{{user, site}, {site, user}} {
				for range 3 {
					got := apply(t, f, checks...)
					assert.False(t, got[0].Committed || got[1].Committed)
				}
			}
			assert.EqualValues(t, 99, apply(t, f, peeking(site))[0].Remaining)
		})
	})
}

func TestPeer_erpc_twoPoliciesThatMatchDoNotShareACounter(t *testing.T) { // 23
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		rpc, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "all", Quota: ratelimit.FixedWindow(1000, ratelimit.Every(time.Hour))},
			{Name: "eth_call", Quota: ratelimit.FixedWindow(10, ratelimit.Every(time.Hour)), Routes: []string{"eth_call"}},
		}})
		require.NoError(t, err)
		checks := rpc.Plan(nil, &seawall.Request{Key: seawall.NewKey("a"), Route: "eth_call"})
		require.Len(t, checks, 2)
		for i := range int64(10) {
			got := apply(t, f, checks...)
			require.True(t, got[0].Committed && got[1].Committed, "call %d", i)
			assert.Equal(t, 999-i, got[0].Remaining)
			assert.Equal(t, 9-i, got[1].Remaining)
		}
		got := apply(t, f, checks...)
		assert.True(t, got[0].Admitted)
		assert.False(t, got[1].Admitted, "the eleventh, by the limit of ten")
	})
}

func TestPeer_gubernator_threeASecondAreThreeASecond(t *testing.T) { // 24
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		for _, k := range []struct {
			quota ratelimit.Quota
			burst int
		}{{ratelimit.TokenBucket(ratelimit.PerSecond(3), 3), 3}, {ratelimit.SlidingLog(3, time.Second), 0}} {
			c := spends(t, k.quota.String(), k.quota)
			var yes []int // the tenths of a second in which one was admitted
			for i := range 200 {
				got := apply(t, f, c)[0]
				if got.Admitted {
					yes = append(yes, i)
				}
				if i > 20 {
					assert.Zero(t, got.Remaining, "%v: it never fills up while somebody asks", k.quota)
				}
				f.advance(100 * time.Millisecond)
			}
			assert.InDelta(t, 60+k.burst, len(yes), 1, "%v, in 20 s", k.quota)
			for i, at := range yes {
				within := 0
				for _, other := range yes[i:] {
					if other < at+10 {
						within++
					}
				}
				if at > 10 || k.burst == 0 { // before, the burst comes on top
					assert.LessOrEqual(t, within, 3, "%v, in the second from %d00 ms on", k.quota, at)
				}
			}
		}
	})
}

func TestPeer_kong_whoAsksTooOftenIsServedAtTheLimit(t *testing.T) { // 25
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		inAllAlgorithms(t, 10, time.Minute, func(t *testing.T, c seawall.Check) {
			least := 98
			if c.Rule.Kind() == "counter" { // it takes the ten of the minute before for evenly spread, and they are not
				least = 90
			}
			var last10 int
			for minute := range 20 {
				yes := 0
				for range 12 {
					if apply(t, f, c)[0].Admitted {
						yes++
					}
					f.advance(5 * time.Second)
				}
				if minute >= 10 {
					last10 += yes
				}
				assert.GreaterOrEqual(t, yes, 9, "minute %d", minute)
			}
			assert.GreaterOrEqual(t, last10, least, "in the last ten minutes")
			assert.LessOrEqual(t, last10, 101)
		})
	})
}

// timeless are the callers' keys that never expire.
func timeless(t *testing.T, c *redis.Client) (keys []string) {
	t.Helper()
	for _, key := range c.Keys(t.Context(), "test:*").Val() {
		if c.PTTL(t.Context(), key).Val() == -1 { // no expiry
			keys = append(keys, key)
		}
	}
	return keys
}

func TestPeer_ulule_noKeyIsEverWithoutATTL(t *testing.T) { // 15, 26
	t.Parallel()
	server := redistest.Start(t)
	s, c := openPatient(t, server), server.Client(t)
	inAllAlgorithms(t, 3, time.Minute, func(t *testing.T, check seawall.Check) {
		checks := []seawall.Check{check, lease(t, check.Key.String(), 3, time.Minute)}
		for i := range 5 { // the last ones are denied
			apply(t, s, checks...)
			require.Empty(t, timeless(t, c), "request %d", i)
		}
		back := check
		back.Op, back.ID = seawall.Refund, checks[0].ID
		apply(t, s, back)
		assert.Empty(t, timeless(t, c), "a refund keeps it")
	})
	assert.NotEmpty(t, c.Keys(t.Context(), "test:*ratelimit*").Val(), "there was something to look at")
}

// TestPeer_limits_aKeyWithoutATTLLocksNobodyOut leaves behind what a crash between a write and its EXPIRE does.
func TestPeer_limits_aKeyWithoutATTLLocksNobodyOut(t *testing.T) { // 26
	t.Parallel()
	server := redistest.Start(t)
	s, c := openPatient(t, server), server.Client(t)
	var locked []seawall.Check
	var keys []string
	inAllAlgorithms(t, 2, time.Second, func(t *testing.T, check seawall.Check) {
		for i := range 1000 { // until one had not expired already
			caller := fmt.Sprint(check.Rule.Kind(), i)
			check.Key = seawall.NewKey(caller)
			require.True(t, apply(t, s, costing(check, 2))[0].Admitted)
			if c.Persist(t.Context(), bucketKey(caller)).Val() {
				locked, keys = append(locked, check), append(keys, bucketKey(caller))
				return
			}
		}
		t.Fatal("no key could be kept")
	})
	require.Len(t, locked, 4)
	for i, check := range locked {
		require.Eventually(t, func() bool { return apply(t, s, check)[0].Admitted }, soon, 10*time.Millisecond, keys[i])
		assert.NotEqual(t, time.Duration(-1), c.PTTL(t.Context(), keys[i]).Val(), "%s: from then on it expires again", keys[i])
	}
}

// # TTL, clock, reload

// timely runs a case, for a caller of its own, until one run took no longer than a time after which another
// answer would be right.
func timely(t *testing.T, most time.Duration, run func(caller string) (check func())) {
	t.Helper()
	for i := range 20 {
		began := time.Now()
		check := run(fmt.Sprint("caller ", i))
		if time.Since(began) < most {
			check()
			return
		}
	}
	t.Fatalf("this machine is too slow: want less than %v", most)
}

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

// dials counts the connections of a client.
type dials struct{ all, now, most atomic.Int64 }

func (d *dials) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d.all.Add(1)
		for n, most := d.now.Add(1), d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
		}
		defer d.now.Add(-1)
		return next(ctx, network, addr)
	}
}

func (d *dials) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (d *dials) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
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

// # Failure

// peerStack is a stack of a rate policy that fails in the given way, and of slots.
func peerStack(t *testing.T, s seawall.Store, fails seawall.Failure) (*seawall.Stack, *seawalltest.Recorder) {
	t.Helper()
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1000), 100_000), OnFailure: fails},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1000})
	require.NoError(t, err)
	seen := &seawalltest.Recorder{}
	stack, err := seawall.New(seawall.Config{Store: s, Observer: seen}, rate, slots)
	require.NoError(t, err)
	return stack, seen
}

// decide is one request from begin to end.
func decide(t *testing.T, s *seawall.Stack) seawall.Decision {
	a := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")})
	defer a.Done(t.Context())
	return a.Decision()
}

// byRedis waits until a request is decided by Redis.
func byRedis(t *testing.T, s *seawall.Stack, seen *seawalltest.Recorder) {
	t.Helper()
	require.Eventually(t, func() bool {
		before := len(seen.Fallbacks())
		decide(t, s)
		return len(seen.Fallbacks()) == before
	}, soon, 5*time.Millisecond)
}

func TestPeer_envoy_ratelimit_withoutRedisRequestsTakeMilliseconds(t *testing.T) { // 43
	t.Parallel()
	for name, hit := range map[string]func(*redistest.Server){"killed": (*redistest.Server).Kill, "frozen": (*redistest.Server).Stop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			stack, seen := peerStack(t, openReal(t, server), seawall.FailOpen)
			byRedis(t, stack, seen)
			hit(server)
			var took []time.Duration
			for range 21 {
				began := time.Now()
				assert.False(t, decide(t, stack).Denied)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			assert.Less(t, took[10], 200*time.Millisecond, "the median, generously; all: %v", took)
			assert.GreaterOrEqual(t, len(seen.Fallbacks()), 20, "Redis did not decide")
			if name == "frozen" {
				server.Cont()
			} else {
				server.Restart(t)
			}
			byRedis(t, stack, seen)
		})
	}
}

func TestPeer_envoy_ratelimit_aFailoverNeedsNoRestart(t *testing.T) { // 44
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	stack, seen := peerStack(t, openPatient(t, server), seawall.FailOpen)
	byRedis(t, stack, seen)
	for range 2 {
		require.NoError(t, admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
		require.Eventually(t, func() bool {
			assert.False(t, decide(t, stack).Denied)
			all := seen.Fallbacks()
			return len(all) > 0 && all[len(all)-1].Reason == "readonly"
		}, soon, time.Millisecond)
		require.NoError(t, admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
		byRedis(t, stack, seen)
	}
}

func TestPeer_envoy_ratelimit_anOutageIsNoStormOfConnections(t *testing.T) { // 44
	t.Parallel()
	server := redistest.Start(t)
	client, dialled := connect(t, server), new(dials)
	client.AddHook(dialled)
	stack, seen := peerStack(t, openOn(t, client), seawall.FailOpen)
	byRedis(t, stack, seen)
	storm := func(during time.Duration) (requests int64) {
		var n atomic.Int64
		var all sync.WaitGroup
		for began, i := time.Now(), 0; i < 64; i++ {
			all.Go(func() {
				for time.Since(began) < during {
					assert.False(t, decide(t, stack).Denied)
					n.Add(1)
				}
			})
		}
		all.Wait()
		return n.Load()
	}
	server.Kill()
	before := dialled.all.Load()
	requests := storm(500 * time.Millisecond)
	assert.LessOrEqual(t, dialled.all.Load()-before, int64(40), "of %d requests: the pool's ten, and a few tries", requests)
	server.Restart(t)
	storm(100 * time.Millisecond)
	byRedis(t, stack, seen)
	assert.LessOrEqual(t, dialled.most.Load(), int64(10), "at a time")
	assert.LessOrEqual(t, client.PoolStats().TotalConns, uint32(10))
}

func TestPeer_envoy_ratelimit_anAbsentRedisIsNoCrashLoop(t *testing.T) { // 44
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	stack, seen := peerStack(t, openPatient(t, server), seawall.FailLocal) // asserts that there is no error
	for range 20 {
		require.NotPanics(t, func() { assert.False(t, decide(t, stack).Denied) })
	}
	require.Len(t, seen.Fallbacks(), 2*20)
	assert.Empty(t, seen.Failures())
	server.Restart(t)
	byRedis(t, stack, seen)
}

func TestPeer_rate_limiter_flexible_onlyErrorsGoToTheLocalStore(t *testing.T) { // 47
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		own, err := store.NewFailover(f.Store, memstore.New(memstore.Config{}))
		require.NoError(t, err)
		t.Cleanup(func() { _ = own.Close(context.Background()) })
		rate, slot := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerDay(1), 4)), lease(t, "b", 4, time.Minute)
		for range 4 { // others use up what the local store knows nothing of
			require.True(t, apply(t, f.other, rate)[0].Admitted)
			require.True(t, apply(t, f.other, slot)[0].Admitted)
		}
		for range 3 {
			for _, c := range []seawall.Check{rate, slot} {
				got := apply(t, own, c)[0]
				assert.False(t, got.Admitted, "over the limit is over the limit")
				assert.False(t, got.Fallback)
			}
		}
		require.NoError(t, f.Store.(interface{ Close(context.Context) error }).Close(short(t, soon)))
		taken := 0
		for range 5 {
			got, err := own.Apply(t.Context(), nil, []seawall.Check{slot})
			require.Error(t, err)
			require.Len(t, got, 1)
			assert.True(t, got[0].Fallback)
			if got[0].Committed {
				taken++
			}
		}
		assert.Contains(t, []int{2, 4}, taken, "an error is for the local store to decide: by its share of two instances, or all if it has not seen the other")
	})
}

func TestPeer_go_redis_aContextThatIsDoneEndsTheWait(t *testing.T) { // 49
	t.Parallel()
	server := redistest.Start(t)
	s := openPatient(t, server)
	warm(t, s)
	c := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerSecond(10), 10))
	apply(t, s, c)
	server.Stop()
	defer server.Cont()
	fastest := time.Hour
	for range 5 {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.Apply(ctx, nil, []seawall.Check{c})
		fastest = min(fastest, time.Since(began))
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "timeout", reasonOf(err))
	}
	assert.GreaterOrEqual(t, fastest, 20*time.Millisecond)
	assert.Less(t, fastest, 200*time.Millisecond, "not when the socket gives up")
}

func TestPeer_spring_cloud_gateway_aCrossSlotErrorIsNoAnswer(t *testing.T) { // 50
	t.Parallel()
	client := patient(t, redistest.Start(t, "--cluster-enabled", "yes").URL())
	require.NoError(t, client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(client.ClusterInfo(context.Background()).Val(), "cluster_state:ok")
	}, soon, 5*time.Millisecond)
	s := openOn(t, client)
	a, b := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerDay(1), 5)), spends(t, "b", ratelimit.TokenBucket(ratelimit.PerDay(1), 5))
	require.NotEqual(t, client.ClusterKeySlot(t.Context(), bucketKey("a")).Val(), client.ClusterKeySlot(t.Context(), bucketKey("b")).Val())
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		results, err := s.Apply(context.Background(), nil, []seawall.Check{a, b})
		require.ErrorContains(t, err, "CROSSSLOT")
		assert.Equal(t, "moved", reasonOf(err))
		assert.Empty(t, results)
	}, soon, 5*time.Millisecond)

	for fails, denied := range map[seawall.Failure]bool{seawall.FailLocal: false, seawall.FailOpen: false, seawall.FailClosed: true} {
		l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "caller", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5), OnFailure: fails},
			{
				Name: "account", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5), OnFailure: fails,
				Key: func(r *seawall.Request) seawall.Key { return r.More[0] },
			},
		}})
		require.NoError(t, err)
		stack, err := seawall.New(seawall.Config{Store: s, Wait: soon, WaitClosed: soon}, l)
		require.NoError(t, err)
		admission := stack.Admit(t.Context(), &seawall.Request{Key: a.Key, More: []seawall.Key{b.Key}})
		assert.Equal(t, denied, admission.Decision().Denied, "%v", fails)
		for _, res := range admission.Results() {
			assert.True(t, res.Fallback, "the failure policy decided")
			assert.GreaterOrEqual(t, res.Remaining, int64(0))
		}
		admission.Done(t.Context())
	}
}

func TestPeer_gravitee_aScriptThatRedisDoesNotKnowIsSent(t *testing.T) { // 50
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	inAllAlgorithms(t, 10, time.Hour, func(t *testing.T, c seawall.Check) {
		for i := range int64(5) { // a master that took over has never seen a script
			require.NoError(t, client.ScriptFlush(t.Context()).Err())
			assert.Equal(t, 9-i, apply(t, s, c)[0].Remaining)
		}
	})
	held, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	release(t, s, held)
	holds(t, client, leasesKey("a"), 0)
}

func TestPeer_go_redis_nothingDependsOnLoadingScripts(t *testing.T) { // 50
	t.Parallel()
	server := redistest.Start(t, "--rename-command", "SCRIPT", "")
	client := server.Client(t)
	require.ErrorContains(t, client.ScriptLoad(t.Context(), "return 1").Err(), "unknown command")
	stack, seen := peerStack(t, openPatient(t, server), seawall.FailOpen) // prepares its scripts
	byRedis(t, stack, seen)
	byRedis(t, stack, seen)
	assert.Positive(t, server.CommandCalls(t, "eval"))
}

func TestPeer_apisix_aPooledConnectionKeepsItsDatabase(t *testing.T) { // 51
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	quota := ratelimit.TokenBucket(ratelimit.PerDay(1), 1000)
	var stores []seawall.Store
	var clients []*redis.Client
	for i := range 2 {
		c := patient(t, fmt.Sprintf("%s/%d", server.URL(), i))
		stores, clients = append(stores, openOn(t, c)), append(clients, c)
	}
	for round := range int64(3) {
		for i, s := range stores {
			check := spends(t, fmt.Sprint("caller of ", i), quota)
			require.Eventually(t, func() bool { // connections were cut
				_, err := s.Apply(short(t, soon), nil, []seawall.Check{peeking(check)})
				return err == nil
			}, soon, time.Millisecond)
			assert.Equal(t, 20, (&peerFleet{Store: s, other: s}).atOnce(t, check, 20))
			assert.Equal(t, 1000-20*(round+1), apply(t, s, peeking(check))[0].Remaining)
		}
		require.NoError(t, admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	}
	for i, c := range clients {
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			keys, err := c.Keys(context.Background(), "*ratelimit*").Result()
			assert.NoError(t, err)
			assert.Equal(t, []string{bucketKey(fmt.Sprint("caller of ", i))}, keys)
		}, soon, 5*time.Millisecond)
	}
}

// # Identity, keys, memory

func TestPeer_envoy_ratelimit_partsOfAKeyDoNotRunIntoEachOther(t *testing.T) { // 56
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		c := spends(t, "", ratelimit.TokenBucket(ratelimit.PerDay(1), 1))
		h := middleware.NewHasher(nil)
		for _, parts := range [][]string{
			{"user", "a_path_b"}, {"user", "a", "path", "b"}, {"user_a", "path_b"}, {"user", "a_path", "b"}, {"user", "a", "path_b"}, {"user_a_path_b"},
		} {
			for _, key := range []seawall.Key{seawall.NewKey(parts...), h.Key("login", parts...)} {
				c.Key = key
				assert.True(t, apply(t, f, c)[0].Admitted, "%q have a bucket of their own", parts)
				assert.False(t, apply(t, f, c)[0].Admitted, "%q", parts)
			}
		}
	})
}

func TestPeer_envoy_ratelimit_noTokenIsStored(t *testing.T) { // 56
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	const token = "sk_live_canary"
	check := spends(t, "", ratelimit.TokenBucket(ratelimit.PerDay(1), 1))
	check.Key = middleware.NewHasher([]byte("a secret of the deployment")).Key("key", token)
	slot := lease(t, "", 1, time.Minute)
	slot.Key = check.Key
	require.True(t, apply(t, s, check, slot)[1].Committed)
	keys := client.Keys(t.Context(), "*").Val()
	require.GreaterOrEqual(t, len(keys), 2)
	for _, key := range keys {
		assert.NotContains(t, strings.ToLower(key), "canary")
		assert.NotContains(t, strings.ToLower(client.Dump(t.Context(), key).Val()), "canary", key)
	}
}

// # Concurrency

func TestPeer_shenyu_aSlotThatNobodyRenewsExpires(t *testing.T) { // 57
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		asked, quiet := lease(t, "asked", 2, 10*time.Second), lease(t, "quiet", 2, 10*time.Second)
		require.Equal(t, 2, f.admitted(t, asked, 3))
		require.Equal(t, 2, f.admitted(t, quiet, 2))
		f.advance(10*time.Second - time.Millisecond)
		assert.Equal(t, 0, f.admitted(t, asked, 2))
		f.advance(time.Millisecond)
		assert.Equal(t, 2, f.admitted(t, asked, 3), "whoever held them has crashed")
		assert.Equal(t, 2, f.admitted(t, quiet, 3), "also if nobody was refused meanwhile")
	})
}

func TestPeer_apisix_ofTwoInstancesTheDeadOnesSlotsExpire(t *testing.T) { // 57
	t.Parallel()
	f := twoOnRedis(t)
	slot := lease(t, "a", 3, 10*time.Second)
	for _, s := range []seawall.Store{f.Store, f.other, f.other} { // the other one dies
		_, ok := take(t, s, slot)
		require.True(t, ok)
	}
	for range 4 {
		assert.Zero(t, apply(t, f.Store, peeking(slot))[0].Remaining)
		f.advance(2500 * time.Millisecond)
		f.renew()
	}
	assert.EqualValues(t, 2, apply(t, f.Store, peeking(slot))[0].Remaining, "the living one's stays")
}

// onlySlots is a stack of one slot per caller.
func onlySlots(t *testing.T, s seawall.Store, ttl, wait time.Duration) (*seawall.Stack, *seawalltest.Recorder) {
	t.Helper()
	l, err := concurrency.New(concurrency.Config{MaxInFlight: 1, TTL: ttl})
	require.NoError(t, err)
	seen := &seawalltest.Recorder{}
	stack, err := seawall.New(seawall.Config{Store: s, Wait: wait, Observer: seen}, l)
	require.NoError(t, err)
	return stack, seen
}

func TestPeer_mennanov_limiters_aSlotAskedForInAStallIsGivenBack(t *testing.T) { // 58
	t.Parallel()
	server := redistest.Start(t)
	s, other, client := openPatient(t, server), openPatient(t, server), server.Client(t)
	warm(t, s)
	stack, seen := onlySlots(t, s, time.Minute, 20*time.Millisecond)
	server.Stop()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		a := stack.Admit(ctx, &seawall.Request{Key: seawall.NewKey("a")})
		assert.False(t, a.Decision().Denied)
		cancel()
		a.Done(ctx)
	}
	require.Len(t, seen.Fallbacks(), 3, "it was not known whether they were taken")
	server.Cont()
	require.Eventually(t, func() bool {
		_, ok := take(t, other, lease(t, "a", 1, time.Minute))
		return ok
	}, soon, 5*time.Millisecond, "long before the TTL of a minute")
	holds(t, client, leasesKey("a"), 1)
}

func TestPeer_mennanov_limiters_aCanceledContextReleases(t *testing.T) { // 58
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		stack, seen := onlySlots(t, f.Store, time.Minute, soon)
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			a := stack.Admit(ctx, &seawall.Request{Key: seawall.NewKey("a")})
			require.False(t, a.Decision().Denied)
			cancel()
			a.Done(ctx)
			assert.EqualValues(t, 1, apply(t, f.other, peeking(lease(t, "a", 1, time.Minute)))[0].Remaining)
		}
		assert.Empty(t, seen.Fallbacks())
		assert.Empty(t, seen.Failures())
	})
}

func TestPeer_mennanov_limiters_aHandlerThatOutlivesTheTTLKeepsItsSlot(t *testing.T) { // 58
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		stack, _ := onlySlots(t, f.Store, 9*time.Second, soon)
		a := stack.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")})
		require.True(t, a.Results()[0].Committed)
		slot := lease(t, "a", 1, 9*time.Second)
		for i := range 10 { // a store looks through its leases more often than every third of a TTL
			f.advance(3 * time.Second)
			f.renew()
			require.False(t, apply(t, f.other, slot)[0].Admitted, "after %d s", 3*(i+1))
		}
		a.Done(t.Context())
		assert.True(t, apply(t, f.other, slot)[0].Admitted)
	})
}

func TestPeer_mennanov_limiters_leasesOfTwoInstancesHaveTwoNames(t *testing.T) { // 58
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		one := lease(t, "a", 1, time.Minute)
		held, ok := take(t, f.Store, one)
		require.True(t, ok)
		_, ok = take(t, f.other, one) // the first lease of its instance, too
		assert.False(t, ok)
		same := one
		same.ID = held.ID
		_, ok = take(t, f.Store, same)
		assert.False(t, ok, "not even with the id of one that is held")

		two := lease(t, "b", 2, time.Minute)
		first, ok := take(t, f.Store, two)
		require.True(t, ok)
		second, ok := take(t, f.other, two)
		require.True(t, ok)
		assert.Equal(t, 0, f.admitted(t, two, 2))
		release(t, f.Store, first)
		assert.Equal(t, 1, f.admitted(t, two, 2))
		release(t, f.other, second)
		assert.Equal(t, 1, f.admitted(t, two, 2))
	})
}

func TestPeer_solid_queue_aSecondReleaseFreesNothing(t *testing.T) { // 59
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		slot := lease(t, "a", 2, time.Minute)
		first, ok := take(t, f.Store, slot)
		require.True(t, ok)
		_, ok = take(t, f.other, slot)
		require.True(t, ok)
		for range 3 {
			release(t, f.Store, first)
		}
		assert.Equal(t, 1, f.admitted(t, slot, 4))
		release(t, f.Store, first)
		assert.Equal(t, 0, f.admitted(t, slot, 4), "the cap has not grown")
	})
}

func TestPeer_shenyu_expiredSlotsDoNotCount(t *testing.T) { // 60
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		slot := lease(t, "a", 5, 10*time.Second)
		for range 4 { // nobody removes them: there is no release, and no sweep
			assert.Equal(t, 5, f.admitted(t, slot, 6))
			assert.Zero(t, apply(t, f, peeking(slot))[0].Remaining)
			f.advance(10 * time.Second)
			assert.EqualValues(t, 5, apply(t, f, peeking(slot))[0].Remaining)
		}
	})
}

// # Shadow

func TestPeer_envoy_ratelimit_shadowNumbersAreExact(t *testing.T) { // 61
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5)}}})
		require.NoError(t, err)
		var seen seawalltest.Recorder
		stack, err := seawall.New(seawall.Config{Store: f, Wait: soon, Observer: &seen, Modes: seawall.Fixed{"ratelimit:api": seawall.LogOnly}}, l)
		require.NoError(t, err)
		for range 50 {
			assert.False(t, decide(t, stack).Denied)
		}
		assert.Equal(t, 5, seen.Count("ratelimit:api", seawall.Allowed))
		assert.Equal(t, 45, seen.Count("ratelimit:api", seawall.WouldDeny), "also of those who keep asking")
		assert.Empty(t, seen.Fallbacks())
	})
}

func TestPeer_envoy_ratelimit_aShadowRuleDoesNotFreeAnEnforcedOne(t *testing.T) { // 62
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		shadow := ratelimit.Policy{Name: "shadow", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 2)}
		enforced := ratelimit.Policy{Name: "enforced", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5)}
		for i, policies := range [][]ratelimit.Policy{{shadow, enforced}, {enforced, shadow}} {
			l, err := ratelimit.New(ratelimit.Config{Policies: policies})
			require.NoError(t, err)
			var seen seawalltest.Recorder
			stack, err := seawall.New(seawall.Config{Store: f, Wait: soon, Observer: &seen, Modes: seawall.Fixed{"ratelimit:shadow": seawall.LogOnly}}, l)
			require.NoError(t, err)
			for n := range int64(7) {
				a := stack.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey(fmt.Sprint("caller ", i))})
				assert.Equal(t, n >= 5, a.Decision().Denied, "request %d", n)
				for j, c := range a.Checks() {
					if c.Limit.Policy() == "enforced" {
						assert.Equal(t, max(0, 4-n), a.Results()[j].Remaining, "request %d", n)
					}
				}
				a.Done(t.Context())
			}
			assert.Equal(t, 5-2, seen.Count("ratelimit:shadow", seawall.WouldDeny))
			assert.Equal(t, 2, seen.Count("ratelimit:enforced", seawall.Denied))
			assert.Empty(t, seen.Fallbacks())
		}
	})
}
