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
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// These tests have a Failover in front of the store.

func inFrontOf(t *testing.T, s *redisstore.Store) *store.Failover {
	t.Helper()
	f, err := store.NewFailover(store.FailoverConfig{Shared: s, Local: memstore.New(memstore.Config{})})
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close(short(t, soon)) })
	return f
}

// TestTwoMayNumberLeases has two Failovers on one store, and the store itself.
func TestTwoMayNumberLeases(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	warm(t, s)
	for _, taker := range []seawall.Store{inFrontOf(t, s), inFrontOf(t, s), s} {
		_, ok := take(t, taker, lease(t, "a", 10, time.Minute))
		require.True(t, ok)
		_, ok = take(t, taker, slot(t, 40, 0))
		require.True(t, ok)
	}
	assert.EqualValues(t, 3, c.ZCard(t.Context(), leasesKey("a")).Val())
	require.NoError(t, s.Beat())
	assert.EqualValues(t, 3, s.Fleet().Used)
}

func TestAFarDeadlineIsNone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	warm(t, s)
	for _, year := range []int{2200, 2262, 9999} {
		ctx, cancel := context.WithDeadline(t.Context(), time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC))
		_, err := s.Apply(ctx, nil, []seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 100)})
		assert.NoError(t, err, "%d", year)
		cancel()
	}
}

// TestLostMembersAreStillCounted has Redis lose what it knew of a fleet of ten: their shares stay a tenth.
func TestLostMembersAreStillCounted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var fleet [10]*redisstore.Store
	for i := range fleet {
		fleet[i] = tuned(t, connect(t, server), time.Hour, 10*time.Second, 4, 0)
		closeAtEnd(t, fleet[i])
	}
	places := map[int64]bool{}
	for _, s := range fleet {
		require.NoError(t, s.Beat())
		require.EqualValues(t, len(fleet), s.Fleet().Instances)
		places[s.Fleet().Index] = true
	}
	require.Len(t, places, len(fleet))
	server.Restart(t)
	again := map[int64]bool{}
	for _, s := range fleet {
		require.Eventually(t, func() bool { return s.Beat() == nil }, soon, 10*time.Millisecond)
		assert.EqualValues(t, len(fleet), s.Fleet().Instances)
		again[s.Fleet().Index] = true
	}
	assert.Len(t, again, len(fleet))
}

// TestNoRedisIsGivenUp has a server that knows no scripts.
func TestNoRedisIsGivenUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--rename-command", "EVALSHA", "", "--rename-command", "EVAL", "")
	f := inFrontOf(t, openReal(t, server))
	require.Eventually(t, func() bool {
		_, err := f.Apply(short(t, time.Second), nil, []seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 100)})
		require.Error(t, err)
		return f.Open()
	}, soon, 5*time.Millisecond)
}

// TestNoLeaseIsLeftByFreezes freezes Redis again and again while leases come and go.
func TestNoLeaseIsLeftByFreezes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	warm(t, s)
	f := inFrontOf(t, s)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				checks := []seawall.Check{lease(t, "a", 1000, time.Minute)}
				wait, done := seawall.Patient(context.Background(), 5*time.Millisecond)
				_, _ = f.Apply(wait, nil, checks)
				done()
				<-time.After(time.Duration(n*(i+1)%20) * time.Millisecond)
				assert.NoError(t, f.Release(context.Background(), leaseOf(checks[0])))
			}
		})
	}
	for n := range 8 {
		<-time.After(100 * time.Millisecond)
		server.Stop()
		<-time.After(time.Duration(20+n*n*10) * time.Millisecond)
		server.Cont()
	}
	stop()
	all.Wait()
	holds(t, c, leasesKey("a"), 0)
	require.Never(t, func() bool { return c.ZCard(context.Background(), leasesKey("a")).Val() != 0 }, time.Second, 20*time.Millisecond)
}

// TestSlotsThatCannotBeGivenBackAreNotTaken has Redis refuse releases alone: everybody would be refused when all slots
// are taken by nobody.
func TestSlotsThatCannotBeGivenBackAreNotTaken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	warm(t, s)
	f := inFrontOf(t, s)
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "default", "-zrem").Err())
	for range 300 {
		checks := []seawall.Check{lease(t, "a", 20, time.Minute), slot(t, 40, 0)}
		wait, done := seawall.Patient(context.Background(), 100*time.Millisecond)
		results, err := f.Apply(wait, nil, checks)
		done()
		require.True(t, results[0].Admitted && results[1].Admitted, "%v", err)
		require.NoError(t, f.Release(t.Context(), leaseOf(checks[0]), leaseOf(checks[1])))
		<-time.After(time.Millisecond)
	}
	_, err := s.Apply(short(t, soon), nil, []seawall.Check{lease(t, "a", 20, time.Minute)})
	assert.ErrorContains(t, err, "slots cannot be given back")
	assert.Equal(t, "auth", reasonOf(err))
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "default", "+zrem").Err())
	require.Eventually(t, func() bool {
		_, err := f.Apply(short(t, time.Second), nil, []seawall.Check{bucket(t, "b", ratelimit.PerSecond(1000), 1000), lease(t, "b", 1000, time.Second)})
		return err == nil
	}, soon, 10*time.Millisecond)
	holds(t, c, leasesKey("a"), 0)
}

// TestARefusedLoginSpendsNothing freezes Redis for a moment that a login does not wait for.
func TestARefusedLoginSpendsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	warm(t, s)
	login, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 100), OnFailure: seawall.FailClosed},
	}})
	require.NoError(t, err)
	check := login.Plan(nil, &seawall.Request{Key: seawall.NewKey("a")})[0]
	for range 5 {
		require.EqualValues(t, 100, peeks(t, s, check))
		server.Stop()
		wait, done := seawall.Patient(context.Background(), 20*time.Millisecond)
		_, err := s.Apply(wait, nil, []seawall.Check{check})
		done()
		require.Error(t, err)
		<-time.After(20 * time.Millisecond)
		server.Cont()
	}
	require.EqualValues(t, 100, peeks(t, s, check))
}

// TestReleasesThatRideMendARefusal has the last refused releases go out along with requests, as soon as Redis takes them.
func TestReleasesThatRideMendARefusal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	warm(t, s)
	var held []seawall.Lease
	for range 20 {
		l, ok := take(t, s, lease(t, "a", 100, time.Minute))
		require.True(t, ok)
		held = append(held, l)
	}
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "default", "-zrem").Err())
	require.NoError(t, s.Release(t.Context(), held...))
	require.Eventually(t, func() bool { return s.Probe(short(t, soon)) != nil }, soon, 5*time.Millisecond)
	require.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "default", "+zrem").Err())
	for range 5 {
		apply(t, s, bucket(t, "b", ratelimit.PerSecond(1000), 1000))
	}
	require.Eventually(t, func() bool { return s.Probe(short(t, soon)) == nil }, soon, 10*time.Millisecond)
	_, ok := take(t, s, lease(t, "a", 100, time.Minute))
	assert.True(t, ok)
}

// TestAProbeKeepsToItsWait has Redis answer, but too late.
func TestAProbeKeepsToItsWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	warm(t, s)
	require.NoError(t, s.Probe(short(t, soon)))
	server.Stop()
	time.AfterFunc(300*time.Millisecond, server.Cont)
	ctx, done := seawall.Patient(context.Background(), 50*time.Millisecond)
	defer done()
	require.Error(t, s.Probe(ctx))
	require.Eventually(t, func() bool { return s.Probe(short(t, soon)) == nil }, soon, 10*time.Millisecond)
}
