package redisstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
)

// calls returns how many scripts the server has run.
func calls(t *testing.T, server *redistest.Server) int64 {
	return server.CommandCalls(t, "evalsha") + server.CommandCalls(t, "eval")
}

func TestReleasesShareCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(t)
	s := openReal(t, server)
	var held [64]seawall.Lease
	for i := range held {
		var ok bool
		held[i], ok = take(t, s, lease(t, "a", 1000, time.Minute))
		require.True(t, ok)
		require.False(t, held[i].Last)
	}
	before := calls(t, server)
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, l := range held {
		all.Go(func() {
			<-start
			assert.NoError(t, s.Release(context.Background(), l))
		})
	}
	close(start)
	all.Wait()
	holds(t, c, leasesKey("a"), 0)
	assert.LessOrEqual(t, calls(t, server)-before, int64(32), "heartbeats included")
}

func TestSerialClientWithOneSlotIsNeverRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	stores := [2]seawall.Store{openReal(t, server), openReal(t, server)}
	check := lease(t, "a", 1, time.Minute)
	refused := 0
	for i := range 3000 {
		l, ok := take(t, stores[i%2], check)
		if !ok {
			refused++
			continue
		}
		require.True(t, l.Last)
		require.NoError(t, stores[i%2].Release(context.Background(), l))
	}
	assert.Zero(t, refused)
}

func TestHeldLeasesOutliveTheirTTL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	const ttl = 1500 * time.Millisecond
	held, ok := take(t, s, lease(t, "a", 1, ttl))
	require.True(t, ok)
	taken := time.Now()
	require.Never(t, func() bool { return c.ZCard(context.Background(), leasesKey("a")).Val() != 1 }, 2*ttl, 50*time.Millisecond)
	_, ok = take(t, s, lease(t, "a", 1, ttl))
	assert.False(t, ok, "held since %v", taken)
	release(t, s, held)
	holds(t, c, leasesKey("a"), 0)
}

func TestLeasesOfTheDeadExpire(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	dead := tuned(t, connect(t, server), beat, memberTTL, 0, 0)
	_, ok := take(t, dead, lease(t, "a", 1, time.Second))
	require.True(t, ok)
	dead.Die()
	require.Eventually(t, func() bool {
		_, ok := take(t, s, lease(t, "a", 1, time.Second))
		return ok
	}, soon, 50*time.Millisecond)
}

// TestReleasedStaysReleased takes and releases from many goroutines while every held lease is renewed all
// the time.
func TestReleasedStaysReleased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	check := lease(t, "a", 16, 1500*time.Millisecond) // longer held than a third
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				l, ok := take(t, s, check)
				if !ok {
					continue
				}
				if (i+n)%20 == 0 { // long enough to be renewed
					select {
					case <-stop:
					case <-time.After(700 * time.Millisecond):
					}
				}
				l.Last = n%3 == 0
				assert.NoError(t, s.Release(context.Background(), l))
			}
		})
	}
	for range 100 {
		n, err := c.ZCard(t.Context(), leasesKey("a")).Result()
		require.NoError(t, err)
		assert.LessOrEqual(t, n, int64(16))
		time.Sleep(15 * time.Millisecond) // how long the stress lasts, not an assertion
	}
	close(stop)
	all.Wait()
	require.Eventually(t, func() bool { return s.Queued() == 0 }, soon, time.Millisecond)
	holds(t, c, leasesKey("a"), 0)
	require.Never(t, func() bool { return c.Exists(context.Background(), leasesKey("a")).Val() != 0 },
		time.Second, 20*time.Millisecond, "resurrected")
}

func TestLostDataIsReasserted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	held, ok := take(t, s, lease(t, "a", 1, 1500*time.Millisecond))
	require.True(t, ok)
	require.NoError(t, c.FlushAll(t.Context()).Err())
	holds(t, c, leasesKey("a"), 1)
	require.Eventually(t, func() bool { return c.Exists(context.Background(), membersKey).Val() == 1 }, soon, 5*time.Millisecond)
	release(t, s, held)
	holds(t, c, leasesKey("a"), 0)
}

func TestReleaseOfWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, other := openReal(t, server), openReal(t, server)
	l, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	release(t, other, l) // an id of another store
	strange := l
	strange.ID += 7
	release(t, s, strange)
	_, ok = take(t, other, lease(t, "a", 1, time.Minute))
	assert.False(t, ok)
	release(t, s, l)
	release(t, s, l)
	_, ok = take(t, other, lease(t, "a", 1, time.Minute))
	assert.True(t, ok)
}

func TestCloseGivesBackWhatIsHeld(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	s := openOn(t, c)
	for range 3 {
		_, ok := take(t, s, lease(t, "a", 9, time.Minute))
		require.True(t, ok)
	}
	require.NoError(t, s.Close(short(t, soon)))
	assert.Zero(t, c.Exists(t.Context(), leasesKey("a"), membersKey).Val())
	require.NoError(t, s.Close(short(t, soon)), "twice")
	_, err := s.Apply(short(t, soon), nil, []seawall.Check{lease(t, "a", 9, time.Minute)})
	require.ErrorContains(t, err, "closed")
	assert.Zero(t, c.Exists(t.Context(), leasesKey("a")).Val())
	require.NoError(t, c.Ping(t.Context()).Err(), "the client is its owner's")
}

// TestALeaseIsReleasedByItsID, whatever else of it the caller remembers.
func TestALeaseIsReleasedByItsID(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	heavy := lease(t, "a", 5, time.Minute)
	heavy.Rule, heavy.Cost = heavy.Rule.(*concurrency.Slots).Weighted(), 5
	l, ok := take(t, s, heavy)
	require.True(t, ok)
	l.Cost = 0
	release(t, s, l)
	_, ok = take(t, s, heavy)
	assert.True(t, ok)
}
