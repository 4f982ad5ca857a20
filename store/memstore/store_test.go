package memstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a store whose clock stands still.
func open(t *testing.T) storetest.Subject {
	var now atomic.Int64
	now.Store(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC).UnixNano())
	s := memstore.New(memstore.Config{Now: func() time.Time { return time.Unix(0, now.Load()) }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return storetest.Subject{
		Store:   s,
		Advance: func(d time.Duration) { now.Add(int64(d)) },
		Renew:   s.Renew,
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestI5IdleStateDisappears(t *testing.T) {
	sub := open(t)
	s := sub.Store.(*memstore.Store)
	bucket, err := ratelimit.TokenBucket(ratelimit.PerSecond(1), 5).Rule()
	require.NoError(t, err)
	slots, err := concurrency.NewSlots(2, 10*time.Second)
	require.NoError(t, err)
	rate, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	inFlight, err := seawall.NewLimit("concurrency", "api", seawall.FailLocal)
	require.NoError(t, err)
	k := seawall.NewKey("a")
	checks := []seawall.Check{
		{Limit: rate, Rule: bucket, Key: k, Cost: 5},
		{Limit: inFlight, Rule: slots, Key: k, Cost: 1},
	}
	_, err = s.Apply(context.Background(), nil, checks)
	require.NoError(t, err)
	sub.Advance(5*time.Second - time.Millisecond) // at which the lease is renewed
	s.Renew()
	s.Sweep()
	assert.Equal(t, 2, s.States(), "nothing is idle yet")
	sub.Advance(time.Millisecond)
	s.Renew()
	s.Sweep()
	assert.Equal(t, 1, s.States(), "the bucket is full again")
	require.NoError(t, s.Release(context.Background(), seawall.Lease{Limit: inFlight, Rule: slots, Key: k, ID: checks[1].ID}))
	s.Renew()
	s.Sweep()
	assert.Zero(t, s.States())
}

func TestDenialsLeaveNoState(t *testing.T) {
	s := open(t).Store.(*memstore.Store)
	bucket, err := ratelimit.TokenBucket(ratelimit.PerSecond(1), 5).Rule()
	require.NoError(t, err)
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	for _, who := range []string{"a", "b", "c"} {
		res, err := s.Apply(context.Background(), nil, []seawall.Check{{Limit: limit, Rule: bucket, Key: seawall.NewKey(who), Cost: 6}})
		require.NoError(t, err)
		require.False(t, res[0].Admitted)
	}
	assert.Zero(t, s.States())
}

func TestCloseIsIdempotentAndEndsTheSweep(t *testing.T) {
	s := memstore.New(memstore.Config{})
	require.NoError(t, s.Close(context.Background()))
	require.NoError(t, s.Close(context.Background()))
	_, err := s.Apply(context.Background(), nil, nil)
	assert.ErrorIs(t, err, memstore.ErrClosed)
}

// TestALongerWindowIsNotForgottenByTheOldOne sweeps a state that has refused under a longer window than it was
// spent under.
func TestALongerWindowIsNotForgottenByTheOldOne(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := memstore.New(memstore.Config{Now: func() time.Time { return now }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	for name, change := range map[string][2]ratelimit.Quota{
		"log":     {ratelimit.SlidingLog(5, time.Second), ratelimit.SlidingLog(5, time.Minute)},
		"counter": {ratelimit.SlidingCounter(5, time.Second), ratelimit.SlidingCounter(5, time.Minute)},
		"window":  {ratelimit.FixedWindow(5, ratelimit.Every(time.Second)), ratelimit.FixedWindow(5, ratelimit.Every(time.Minute))},
	} {
		apply := func(q ratelimit.Quota, cost int64) seawall.Result {
			rule, err := q.Rule()
			require.NoError(t, err)
			res, err := s.Apply(t.Context(), nil, []seawall.Check{{Limit: limit, Rule: rule, Key: seawall.NewKey(name), Cost: cost}})
			require.NoError(t, err)
			return res[0]
		}
		now = now.Truncate(time.Minute)
		require.True(t, apply(change[0], 5).Committed)
		refused := apply(change[1], 1)
		require.False(t, refused.Admitted, name)
		now = now.Add(refused.RetryAfter - time.Microsecond)
		s.Sweep()
		require.False(t, apply(change[1], 1).Admitted, "%s: the wait it was told is not over", name)
		now = now.Add(time.Microsecond)
		s.Sweep()
		require.True(t, apply(change[1], 1).Admitted, name)
	}
}

// TestALeaseOfTheShortestTTLIsRenewedInTime holds the only slot for more than two TTLs.
func TestALeaseOfTheShortestTTLIsRenewedInTime(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Config{})
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	time.Sleep(800 * time.Millisecond) // the sweep's turn does not follow the lease's
	rule, err := concurrency.NewSlots(1, time.Second)
	require.NoError(t, err)
	limit, err := seawall.NewLimit(concurrency.Name, "in-flight", seawall.FailLocal)
	require.NoError(t, err)
	take := func() bool {
		results, err := s.Apply(t.Context(), nil, []seawall.Check{{Limit: limit, Rule: rule, Key: seawall.NewKey("a"), Cost: 1}})
		require.NoError(t, err)
		return results[0].Committed
	}
	require.True(t, take())
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		require.False(t, take(), "it is held")
	}
}
