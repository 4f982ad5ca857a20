package redisstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

func TestReleaseIsRetriedUntilRedisIsBackOrTheLeaseExpired(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), connect(t, server)
	back, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	expires, ok := take(t, s, lease(t, "b", 1, time.Second))
	require.True(t, ok)
	server.Kill()
	require.ErrorIs(t, s.Release(short(t, time.Millisecond), back), context.DeadlineExceeded)
	require.NoError(t, s.Release(short(t, soon), expires), "returns when it has expired")
	require.Eventually(t, func() bool { return s.Queued() == 1 }, soon, time.Millisecond, "between two attempts")
	server.Restart(t)
	require.Eventually(t, func() bool { return s.Queued() == 0 }, soon, time.Millisecond)
	assert.Zero(t, c.Exists(t.Context(), leasesKey("a"), leasesKey("b")).Val())
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
	o, err := redisstore.Options(server.URL() + "?read_timeout=10s")
	require.NoError(t, err)
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
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
