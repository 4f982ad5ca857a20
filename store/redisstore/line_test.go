package redisstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
)

var query = seawall.NewKey("query")

// guards are limiters of two instances, on the same slots.
func guards(t *testing.T, server *redistest.Server, slots int64) [2]*concurrency.Limiter {
	t.Helper()
	var all [2]*concurrency.Limiter
	for i := range all {
		l, err := concurrency.New(concurrency.Config{MaxInFlight: slots, Store: openReal(t, server), MaxWaiting: 100})
		require.NoError(t, err)
		all[i] = l
	}
	return all
}

// TestWhoWaitsIsServedInOrderAtAnyInstance has eight wait, in turn at one instance and the other.
func TestWhoWaitsIsServedInOrderAtAnyInstance(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(t)
	both := guards(t, server, 1)
	first, err := both[0].Acquire(t.Context(), query)
	require.NoError(t, err)
	var mu sync.Mutex
	var served []int
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			lease, err := both[i%2].Acquire(short(t, soon), query)
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			served = append(served, i)
			mu.Unlock()
			time.Sleep(30 * time.Millisecond) // the guarded work: the next first of a line has asked meanwhile
			lease.Release()
		})
		time.Sleep(100 * time.Millisecond) // who comes later has waited less, also for a busy machine
	}
	first.Release()
	all.Wait()
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, served)
	assert.Zero(t, c.Exists(t.Context(), leasesKey(query.String())).Val(), "nobody holds or waits")
}

// TestABusyInstanceStarvesNobody has one instance where ten take the slot again and again, and one where one does.
// Nobody wakes the latter when a slot gets free elsewhere, and still it has its turn.
func TestABusyInstanceStarvesNobody(t *testing.T) {
	t.Parallel()
	both := guards(t, redistest.Start(t), 1)
	var counts [2]atomic.Int64
	var inside, most atomic.Int64
	var all sync.WaitGroup
	ctx := short(t, 3*time.Second)
	work := func(i int) {
		for ctx.Err() == nil {
			lease, err := both[i].Acquire(ctx, query)
			if err != nil {
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				return
			}
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(2 * time.Millisecond) // the guarded work
			inside.Add(-1)
			counts[i].Add(1)
			lease.Release()
		}
	}
	for range 10 {
		all.Go(func() { work(0) })
	}
	all.Go(func() { work(1) })
	all.Wait()
	t.Logf("%d turns at the busy instance, %d at the other", counts[0].Load(), counts[1].Load())
	assert.EqualValues(t, 1, most.Load())
	assert.GreaterOrEqual(t, 20*counts[1].Load(), counts[0].Load(), "one of eleven")
	assert.GreaterOrEqual(t, counts[1].Load(), int64(3))
}
