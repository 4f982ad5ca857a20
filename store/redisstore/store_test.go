package redisstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is where the stepped clocks begin.
var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// opener returns stepped stores on one Redis, each in a namespace of its own.
func opener(server *redistest.Server, names *redisstore.Compact) storetest.Open {
	return openerOf(server.Client, names)
}

// openerOf is opener with clients of one's own.
func openerOf(connect func(t testing.TB) *redis.Client, names *redisstore.Compact) storetest.Open {
	var namespaces atomic.Int64
	return func(t *testing.T) storetest.Subject {
		var now atomic.Int64
		now.Store(start.UnixNano())
		s, err := redisstore.NewStepped(redisstore.Config{
			Client:    connect(t),
			Namespace: fmt.Sprintf("test-%d", namespaces.Add(1)),
			Compact:   names,
		}, func() time.Time { return time.Unix(0, now.Load()) })
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
		return storetest.Subject{
			Store:   s,
			Advance: func(d time.Duration) { now.Add(int64(d)) },
			Renew:   s.Renew,
		}
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, opener(redistest.Start(t), nil)) }

func TestConformanceWithCompactNames(t *testing.T) {
	storetest.Run(t, opener(redistest.Start(t), compact()))
}

func TestSameTracesAsMemory(t *testing.T) {
	storetest.SameTraces(t, openMemory, opener(redistest.Start(t), nil), 30, 300)
}

func TestSameTracesAsMemoryWithCompactNames(t *testing.T) {
	storetest.SameTraces(t, openMemory, opener(redistest.Start(t), compact()), 5, 300)
}

// openMemory returns a store in memory, to compare with.
func openMemory(t *testing.T) storetest.Subject {
	var now atomic.Int64
	now.Store(start.UnixNano())
	s := memstore.New(memstore.Config{Now: func() time.Time { return time.Unix(0, now.Load()) }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return storetest.Subject{Store: s, Advance: func(d time.Duration) { now.Add(int64(d)) }, Renew: s.Renew}
}
