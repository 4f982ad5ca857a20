package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store"
)

// exhausted is a quota that is spent with one request, for as long as this runs.
var exhausted = quota{1, 24 * time.Hour}

// denyCache is about exhausted keys, in front of Redis.
func (b *bench) denyCache(t *testing.T) {
	server := redistest.Start(t)
	r, n := newRemote(t, server, exhausted, "", nil), b.pace.keys
	admin := server.Client(t)
	cache, err := store.NewDenyCache(store.DenyCacheConfig{Store: r.store, MaxAge: 10 * time.Second})
	require.NoError(t, err)
	all := plans(n, r.bucket)
	learn := &asking{store: cache, plans: all}
	// The cache believes a denial for some seconds. Each round begins with what is known by then.
	learns := func() {
		for i := range n {
			learn.decide(uint32(i))
			require.False(t, learn.decide(uint32(i)), "a caller who may make one request has made it")
		}
	}
	denies := func() ask {
		a := &asking{store: cache, plans: all}
		return func(i uint32) bool { return !a.decide(i) && a.why == nil }
	}
	deny := subject{ours, func(d time.Duration) figures {
		learns()
		calls, saved := scriptsOf(t, admin).calls, cache.Saved()
		one, asked := denies(), uint64(0)
		for range n {
			require.True(t, one(0))
			asked++
		}
		require.Equal(t, asked, cache.Saved()-saved, "every one was answered by the cache")
		commands := scriptsOf(t, admin).calls - calls
		ns, admitted := together(d, goroutines, strike, shuffled(n), denies)
		assert.Zero(t, admitted, "all are exhausted")
		return figures{cost: ns, "commands": commands}
	}}
	limit := limitsInMemory()[1]
	looks := limit.build(t, inexhaustible, names(n))
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, deny, subject{limit.name, func(d time.Duration) figures {
		ns, _ := together(d, goroutines, strike, shuffled(n), looks)
		return figures{cost: ns}
	}})
	b.line(Line{Name: "deny-ns", Ours: s.of(ours, cost), Limit: s.other(limit.name, cost)})
	b.line(Line{Name: "deny-commands", Ours: s.of(ours, "commands"), Note: "of as many denials as there are keys; a heartbeat may be among them"})
	require.NoError(t, cache.Release(context.Background()))
}
