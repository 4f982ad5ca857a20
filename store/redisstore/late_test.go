package redisstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// peeks returns what a caller has left.
func peeks(t *testing.T, s *redisstore.Store, c seawall.Check) int64 {
	t.Helper()
	c.Op, c.ID = seawall.Peek, 0
	results, err := s.Apply(short(t, soon), nil, []seawall.Check{c})
	require.NoError(t, err)
	return results[0].Remaining
}

// TestACallThatRunsTooLateChangesNothing freezes Redis with calls under way, on every connection, and has it run them
// when nobody waits for them any more.
func TestACallThatRunsTooLateChangesNothing(t *testing.T) {
	t.Parallel()
	for name, frozen := range map[string]time.Duration{
		"before the sockets give up": 200 * time.Millisecond, "after it": 1500 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s, c := openReal(t, server), connect(t, server)
			warm(t, s)
			rate := bucket(t, "a", ratelimit.PerDay(1), 100)
			require.EqualValues(t, 100, peeks(t, s, rate))
			ran := server.CommandCalls(t, "evalsha")
			server.Stop()
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					checks := []seawall.Check{rate, lease(t, "a", 100, time.Minute)}
					_, err := s.Apply(short(t, 5*time.Millisecond), nil, checks)
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					assert.NoError(t, s.Release(t.Context(), leaseOf(checks[1])))
				})
			}
			all.Wait()
			<-time.After(frozen)
			server.Cont()
			require.Eventually(t, func() bool { return peeks(t, s, rate) == 100 }, soon, 5*time.Millisecond)
			assert.Greater(t, server.CommandCalls(t, "evalsha"), ran+1, "some did run")
			holds(t, c, leasesKey("a"), 0)
			for range 15 {
				require.EqualValues(t, 100, peeks(t, s, rate))
				<-time.After(20 * time.Millisecond)
			}
		})
	}
}

// TestTheFirstCallLearnsTheClock costs one more hop, once.
func TestTheFirstCallLearnsTheClock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	warm(t, s)
	rate := bucket(t, "a", ratelimit.PerDay(1), 100)
	apply(t, s, rate)
	for i := range int64(3) {
		before := server.CommandCalls(t, "evalsha")
		s.ForgetClock() // which a heartbeat may learn first
		assert.Equal(t, 98-2*i, apply(t, s, rate)[0].Remaining)
		assert.GreaterOrEqual(t, server.CommandCalls(t, "evalsha")-before, int64(2), "and a heartbeat, perhaps")
		assert.Less(t, s.ClockOffset().Abs(), time.Second)
		assert.Equal(t, 97-2*i, apply(t, s, rate)[0].Remaining, "spent once each")
	}
}

// TestAClockThatWasSetIsLearntAnew: a forward step makes every call late, which tells so; a backward step makes none
// late, until a heartbeat or a probe tells.
func TestAClockThatWasSetIsLearntAnew(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	warm(t, s)
	rate := bucket(t, "a", ratelimit.PerDay(1), 1000)
	for _, off := range []time.Duration{-time.Hour, -365 * 24 * time.Hour} {
		s.SetClockOffset(off) // Redis has been set forward since
		apply(t, s, rate)
		assert.Less(t, s.ClockOffset().Abs(), 50*time.Millisecond)
	}
	for name, asks := range map[string]func() error{
		"a probe":     func() error { return s.Probe(short(t, soon)) },
		"a heartbeat": s.Beat,
	} {
		s.SetClockOffset(time.Hour)
		apply(t, s, rate)
		require.NoError(t, asks(), name)
		assert.Less(t, s.ClockOffset().Abs(), time.Second, name)
	}
}

// TestALateHeartbeatBringsBackNobody has heartbeats run late, after the instance has left.
func TestALateHeartbeatBringsBackNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	s := tuned(t, c, time.Hour, memberTTL, 4, 0)
	require.Eventually(t, func() bool { return s.Fleet().Announced }, soon, time.Millisecond)
	s.SetClockOffset(-time.Hour)
	require.ErrorContains(t, s.Beat(), "too late")
	require.NoError(t, s.Beat(), "it has learnt")
	require.NoError(t, s.Close(short(t, soon)))
	require.Zero(t, c.HLen(t.Context(), membersKey).Val())
	s.SetClockOffset(-time.Minute)
	assert.Error(t, s.Beat())
	assert.Zero(t, c.HLen(t.Context(), membersKey).Val())
}

// TestALateRenewalBringsBackNoLease has a renewal run when its time is over.
func TestALateRenewalBringsBackNoLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	held, ok := take(t, s, lease(t, "a", 10, time.Minute))
	require.True(t, ok)
	require.NoError(t, s.Release(t.Context(), held))
	holds(t, c, leasesKey("a"), 0)
	for _, off := range []time.Duration{-time.Hour, -2 * time.Second} {
		s.SetClockOffset(off)
		require.ErrorContains(t, s.RenewNow(short(t, soon), held), "too late")
		assert.Zero(t, c.Exists(t.Context(), leasesKey("a")).Val())
	}
	s.ForgetClock()
	require.ErrorContains(t, s.RenewNow(short(t, soon), held), "too late")
	assert.Zero(t, c.Exists(t.Context(), leasesKey("a")).Val())
	require.NoError(t, s.RenewNow(short(t, soon), held), "it has learnt")
	assert.EqualValues(t, 1, c.ZCard(t.Context(), leasesKey("a")).Val())
}
