package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/seawalltest"
)

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
