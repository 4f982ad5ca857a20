package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// fixedSlot is an ordinary request's check on a fleet of a fixed capacity, from an instance with four workers.
func fixedSlot(t *testing.T, capacity int64) seawall.Check {
	t.Helper()
	shed, err := fleetshed.New(fleetshed.Config{Workers: 4, Capacity: capacity, Reserve: 0.25})
	require.NoError(t, err)
	return shed.Plan(nil, &seawall.Request{})[0]
}

func taken(t *testing.T, s seawall.Store, check func() seawall.Check) (n int) {
	t.Helper()
	for range 20 {
		if _, ok := take(t, s, check()); ok {
			n++
		}
	}
	return n
}

// TestFixedCapacityIsNotLookedUp has a fleet that announces less, and one that announces more.
func TestFixedCapacityIsNotLookedUp(t *testing.T) {
	t.Parallel()
	for capacity, want := range map[int64]int{10: 7, 4: 3} { // less 2.5 and 1, rounded up
		server := redistest.Start(t)
		s := tuned(t, connect(t, server), time.Hour, time.Hour, 4, 0)
		closeAtEnd(t, s)
		if capacity == 4 {
			closeAtEnd(t, tuned(t, connect(t, server), time.Hour, time.Hour, 50, 0))
		}
		gets := server.CommandCalls(t, "get")
		check := fixedSlot(t, capacity)
		assert.Equal(t, want, taken(t, s, func() seawall.Check { return check }))
		assert.Equal(t, gets, server.CommandCalls(t, "get"))
		discovered := slot(t, 4, 0.25)
		_, _ = take(t, s, discovered)
		assert.Positive(t, server.CommandCalls(t, "get")-gets, "where it is discovered, it is")
	}
}

// TestFixedCapacityWithoutRedis leaves an instance the share of its own workers.
func TestFixedCapacityWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	shared := tuned(t, connect(t, server), time.Hour, time.Hour, 4, 0)
	f, err := store.NewFailover(store.FailoverConfig{Shared: shared, Local: memstore.New(memstore.Config{})})
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close(short(t, soon)) })
	server.Kill()
	check, n := fixedSlot(t, 1000), 0
	for range 20 {
		checks := []seawall.Check{check}
		results, err := f.Apply(short(t, soon), nil, checks)
		require.Error(t, err, "without Redis")
		require.Len(t, results, 1)
		if results[0].Committed {
			n++
		}
	}
	assert.Equal(t, 3, n)
}
