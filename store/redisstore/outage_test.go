package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// warm makes the store's connections and scripts known.
func warm(t *testing.T, s *redisstore.Store) {
	t.Helper()
	for range 5 {
		l, _ := take(t, s, lease(t, "warm", 1, time.Minute))
		release(t, s, l)
	}
}

func TestLeaseOfAnUnansweredCallCanBeReleased(t *testing.T) {
	t.Parallel()
	for name, frozen := range map[string]time.Duration{
		"before the socket gives up": 50 * time.Millisecond, "after it": time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s, c := openReal(t, server), connect(t, server)
			warm(t, s)
			server.Stop()
			for range 5 {
				checks := []seawall.Check{lease(t, "a", 10, time.Minute), bucket(t, "a", ratelimit.PerDay(1), 10)}
				_, err := s.Apply(short(t, 5*time.Millisecond), nil, checks)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, "timeout", reasonOf(err))
				require.NoError(t, s.Release(t.Context(), leaseOf(checks[0])), "it may have been taken")
			}
			<-time.After(frozen)
			server.Cont()
			require.Eventually(t, func() bool {
				_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "b", ratelimit.PerSecond(1000), 1000)})
				return err == nil
			}, soon, 5*time.Millisecond)
			holds(t, c, leasesKey("a"), 0)
			require.Never(t, func() bool { return c.Exists(context.Background(), leasesKey("a")).Val() != 0 },
				time.Second, 20*time.Millisecond, "or it was renewed")
		})
	}
}

func TestReleaseIsRetriedAfterAFreeze(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	held, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	server.Stop()
	require.ErrorIs(t, s.Release(short(t, 5*time.Millisecond), held), context.DeadlineExceeded)
	require.NoError(t, s.Release(short(t, 5*time.Millisecond), held), "it is on its way")
	<-time.After(700 * time.Millisecond) // until the socket has given up
	server.Cont()
	holds(t, c, leasesKey("a"), 0)
}

func TestReleaseIsRetriedUntilRedisIsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	back, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	expires, ok := take(t, s, lease(t, "b", 1, time.Second))
	require.True(t, ok)
	server.Kill()
	require.ErrorIs(t, s.Release(short(t, time.Millisecond), back), context.DeadlineExceeded)
	require.ErrorIs(t, s.Release(short(t, time.Millisecond), expires), context.DeadlineExceeded)
	<-time.After(1100 * time.Millisecond) // the second lease's TTL
	require.Eventually(t, func() bool { return s.Queued() == 2 }, soon, time.Millisecond,
		"what was sent before the outage may still run, so nothing is left to its TTL")
	server.Restart(t)
	require.Eventually(t, func() bool { return s.Queued() == 0 }, soon, time.Millisecond)
	assert.Zero(t, c.Exists(t.Context(), leasesKey("a"), leasesKey("b")).Val())
}

// TestReleasesDoNotOutwaitAProbe has releases wait for longer and longer between their tries, until Redis answers a probe.
func TestReleasesDoNotOutwaitAProbe(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	for round := range 3 {
		warm(t, s)
		held, ok := take(t, s, lease(t, "a", 1, time.Minute))
		require.True(t, ok)
		server.Kill()
		require.ErrorIs(t, s.Release(short(t, time.Millisecond), held), context.DeadlineExceeded)
		<-time.After(800 * time.Millisecond) // the next try is due 1.5 s after the first, and the one behind it after 2.5 s
		server.Restart(t)
		require.Eventually(t, func() bool { return s.Probe(short(t, soon)) == nil }, soon, time.Millisecond)
		assert.Eventually(t, func() bool { return s.Queued() == 0 }, 300*time.Millisecond, time.Millisecond, "round %d", round)
	}
}

// TestNoPhantomsAfterAFreezeLongerThanTheTTL thaws a Redis in whose sockets acquires have waited for longer
// than their leases were to last.
func TestNoPhantomsAfterAFreezeLongerThanTheTTL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	warm(t, s)
	server.Stop()
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 100 {
				checks := []seawall.Check{lease(t, fmt.Sprint(caller, "-", i), 1, 2*time.Second)}
				_, err := s.Apply(short(t, 5*time.Millisecond), nil, checks)
				assert.Error(t, err)
				maybe := seawall.Lease{Limit: checks[0].Limit, Rule: checks[0].Rule.(seawall.Holder), Key: checks[0].Key, Cost: checks[0].Cost, ID: checks[0].ID}
				assert.NoError(t, s.Release(t.Context(), maybe))
			}
		})
	}
	callers.Wait()
	<-time.After(2500 * time.Millisecond)
	server.Cont()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, err := s.Apply(context.Background(), nil, nil)
		require.NoError(t, err)
		require.Zero(t, s.Queued())
		require.Empty(t, c.Keys(context.Background(), "test:*in-flight").Val())
	}, time.Second, 10*time.Millisecond, "sooner than a TTL: nobody is in flight")
}

// TestAShortOutageCostsNoLease pauses Redis across the time at which a lease was to be renewed.
func TestAShortOutageCostsNoLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	warm(t, s)
	ctx := context.Background()
	taken := time.Now()
	held, ok := take(t, s, lease(t, "a", 1, 4*time.Second))
	require.True(t, ok)
	<-time.After(time.Until(taken.Add(1200 * time.Millisecond)))
	require.NoError(t, c.Do(ctx, "client", "pause", 2000, "all").Err())
	<-time.After(time.Until(taken.Add(3300 * time.Millisecond)))
	for time.Since(taken) < 5*time.Second {
		require.False(t, apply(t, s, lease(t, "a", 1, 4*time.Second))[0].Admitted, "%v after the lease was taken", time.Since(taken))
		<-time.After(20 * time.Millisecond)
	}
	release(t, s, held)
}

func TestRedisAbsentAtFirst(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	s := openReal(t, server)
	s.Join(3)
	assert.Equal(t, seawall.Fleet{Instances: 1, Capacity: 3}, s.Fleet())
	for range 50 { // more than the pool has connections
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerSecond(1), 1)})
		require.Error(t, err)
		require.Equal(t, "refused", reasonOf(err), "%v", err)
	}
	server.Restart(t)
	sees(t, s, seawall.Fleet{Instances: 1, Capacity: 3, Announced: true})
	require.Eventually(t, func() bool {
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerSecond(1000), 1)})
		return err == nil
	}, soon, 5*time.Millisecond)
}

func TestCloseIsBoundedWhileRedisIsFrozen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	warm(t, s)
	_, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	server.Stop()
	_, err := s.Apply(short(t, 2*time.Millisecond), nil, []seawall.Check{lease(t, "b", 10, time.Minute)})
	require.Error(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Close(short(t, 20*time.Millisecond)) }()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(soon):
		t.Fatal("Close hangs")
	}
	server.Cont()
	require.NoError(t, s.Close(short(t, soon)), "a second one finishes it")
	c := server.Client(t)
	assert.Zero(t, c.Exists(t.Context(), leasesKey("a"), leasesKey("b"), membersKey).Val())
}

func TestTooManyWaitingAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := patient(t, server.URL())
	s := openOn(t, client)
	warm(t, s)
	server.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var busy, other atomic.Int64
	var all sync.WaitGroup
	check := lease(t, "a", 1_000_000, time.Minute)
	for range 6000 {
		all.Go(func() {
			checks := []seawall.Check{check}
			_, err := s.Apply(ctx, nil, checks)
			switch {
			case reasonOf(err) == "busy":
				busy.Add(1)
				cancel()
			case !errors.Is(err, context.Canceled):
				other.Add(1)
			}
			assert.NoError(t, s.Release(context.Background(), leaseOf(checks[0])))
		})
	}
	all.Wait()
	assert.Positive(t, busy.Load())
	assert.Zero(t, other.Load())
	server.Cont()
	warm(t, s)
	holds(t, client, leasesKey("a"), 0)
}
