package proof

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/stepped"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// subject is a store under test and its clock.
type subject struct {
	name  string
	store seawall.Store
	set   func(micros int64)
	now   func() int64 // in nanoseconds
}

func (s subject) apply(t rapid.TB, checks []seawall.Check) []seawall.Result {
	t.Helper()
	asked := slices.Clone(checks)
	results, err := s.store.Apply(context.Background(), nil, checks)
	require.NoError(t, err)
	for i, c := range checks {
		want := asked[i]
		if want.Timed {
			want.At = s.now()
		}
		if want.ID == 0 {
			want.ID = c.ID
		}
		if c != want {
			t.Fatalf("%s: the check is\n%+v\nwant\n%+v", s.name, c, want)
		}
	}
	return results
}

// memory returns an empty store in memory, whose sweep is the caller's.
func memory() (subject, *memstore.Store) { return memoryAt(new(atomic.Int64)) }

// memoryAt is memory on a clock in nanoseconds since the epoch.
func memoryAt(now *atomic.Int64) (subject, *memstore.Store) {
	s := memstore.New(memstore.Config{Now: func() time.Time { return time.Unix(0, now.Load()) }})
	return subject{"memory", s, func(micros int64) { now.Store(micros * 1000) }, now.Load}, s
}

// onRedis returns a store on a Redis of its own. It is shared by many traces, which use new callers each.
func onRedis(t *testing.T) (subject, *stepped.Clock) {
	clock := stepped.New(t, redistest.Start(t))
	s, err := redisstore.New(redisstore.Config{Client: clock.Client(), Namespace: namespace})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		require.NoError(t, s.Close(ctx))
	})
	return subject{"redis", s, clock.Set, func() int64 { return clock.Now() * 1000 }}, clock
}

const namespace = "proof"

// keyOn is where redisstore says it keeps the state of a check.
func keyOn(c seawall.Check) string {
	return namespace + ":{" + c.Key.String() + "}:" + c.Limit.Name()
}
