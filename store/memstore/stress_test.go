package memstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

func checksOf(t *testing.T, slots int64) []seawall.Check {
	t.Helper()
	bucket, err := ratelimit.TokenBucket(ratelimit.PerSecond(10), 20).Rule()
	require.NoError(t, err)
	lease, err := concurrency.NewSlots(slots, 10*time.Second)
	require.NoError(t, err)
	rate, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	inFlight, err := seawall.NewLimit("concurrency", "api", seawall.FailLocal)
	require.NoError(t, err)
	return []seawall.Check{{Limit: rate, Rule: bucket, Cost: 1}, {Limit: inFlight, Rule: lease, Cost: 1}}
}

func TestIdleCallersVanish(t *testing.T) {
	sub := open(t)
	s := sub.Store.(*memstore.Store)
	checks := checksOf(t, 5)
	const callers = 100_000
	held := make([]seawall.Lease, 0, callers)
	results := make([]seawall.Result, 0, 2)
	for i := range callers {
		k := seawall.NewKey(fmt.Sprint("caller-", i))
		checks[0].Key, checks[1].Key, checks[1].ID = k, k, 0
		_, err := s.Apply(t.Context(), results, checks)
		require.NoError(t, err)
		held = append(held, seawall.Lease{Limit: checks[1].Limit, Rule: checks[1].Rule.(seawall.Holder), Key: checks[1].Key, Cost: checks[1].Cost, ID: checks[1].ID})
	}
	s.Sweep()
	assert.Equal(t, 2*callers, s.States())
	sub.Advance(time.Minute)
	s.Renew()
	s.Sweep()
	assert.Equal(t, callers, s.States(), "the leases are held")
	require.NoError(t, s.Release(t.Context(), held...))
	s.Sweep()
	assert.Zero(t, s.States())
}

// TestStress takes and releases slots of a few callers from many goroutines, while leases are renewed and
// idle state is swept all the time and the clock goes on.
func TestStress(t *testing.T) {
	sub := open(t)
	s := sub.Store.(*memstore.Store)
	const callers, slots = 3, 4
	var inFlight [callers]atomic.Int64
	var most [callers]atomic.Int64
	stop := make(chan struct{})
	var background, all sync.WaitGroup
	background.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				sub.Advance(100 * time.Millisecond) // leases live for 100 of these, and are due every 34
				s.Renew()
				s.Sweep()
			}
		}
	})
	for g := range 16 {
		all.Go(func() {
			checks := checksOf(t, slots)[1:]
			for n := range 500 {
				who := (g + n) % callers
				checks[0].Key, checks[0].ID = seawall.NewKey(fmt.Sprint(who)), 0
				res, err := s.Apply(context.Background(), nil, checks)
				if err != nil {
					t.Error(err)
					return
				}
				if !res[0].Committed {
					continue
				}
				now := inFlight[who].Add(1)
				for m := most[who].Load(); m < now && !most[who].CompareAndSwap(m, now); m = most[who].Load() {
				}
				l := seawall.Lease{Limit: checks[0].Limit, Rule: checks[0].Rule.(seawall.Holder), Key: checks[0].Key, Cost: checks[0].Cost, ID: checks[0].ID}
				inFlight[who].Add(-1)
				assert.NoError(t, s.Release(context.Background(), l, l))
			}
		})
	}
	all.Wait()
	close(stop)
	background.Wait()
	for who := range callers {
		assert.Positive(t, most[who].Load())
		assert.LessOrEqual(t, most[who].Load(), int64(slots))
	}
	s.Renew()
	s.Sweep()
	assert.Zero(t, s.States(), "nothing was resurrected")
}

func TestClosedStoreRefuses(t *testing.T) {
	s := memstore.New(memstore.Config{})
	s.Join(3)
	assert.Equal(t, seawall.Fleet{Instances: 1, Capacity: 3, Announced: true}, s.Fleet())
	checks := checksOf(t, 1)
	_, err := s.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	before := []seawall.Result{{Limit: 7}}
	got, err := s.Apply(t.Context(), before, checks)
	require.ErrorIs(t, err, memstore.ErrClosed)
	assert.Equal(t, before, got)
}
