package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

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
		both, err := store.NewFailover(store.FailoverConfig{Shared: f.Store, Local: memstore.New(memstore.Config{})})
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
