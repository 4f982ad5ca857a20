package bench

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// growthRounds is in how many rounds curves are measured: they show a tenfold, not a tenth.
func (b *bench) growthRounds() int { return max(2, b.pace.rounds/2) }

// growth is about what a decision costs by how much there is of something.
func (b *bench) growth(t *testing.T) {
	callers := []int{1, 8, 64, 256}
	checks := []int{1, 3, 10}
	for _, c := range []struct {
		by, where, unit string
		at              []int
		subject         func(t *testing.T, n int) func(d time.Duration) figures
	}{
		{"keys", "memstore", "ns", b.pace.growing, func(t *testing.T, n int) func(time.Duration) figures {
			return b.memoryAt(t, n, 1, goroutines)
		}},
		{"callers", "memstore", "ns", callers, func(t *testing.T, n int) func(time.Duration) figures {
			return b.memoryAt(t, b.pace.keys, 1, n)
		}},
		{"checks", "memstore", "ns", checks, func(t *testing.T, n int) func(time.Duration) figures {
			return b.memoryAt(t, b.pace.keys, n, goroutines)
		}},
		{"keys", "Redis", "µs", b.pace.growing, b.redisKeys()},
		{"callers", "Redis", "µs", callers, func(t *testing.T, n int) func(time.Duration) figures {
			return redisAt(t, b.pace.callers, 1, n, 1)
		}},
		{"checks", "Redis", "µs", checks, func(t *testing.T, n int) func(time.Duration) figures {
			return redisAt(t, b.pace.callers, n, 1, 1)
		}},
		{"instances", "Redis", "µs", []int{1, 3, 10}, func(t *testing.T, n int) func(time.Duration) figures {
			return redisAt(t, b.pace.callers, 1, 60, n)
		}},
	} {
		t.Run(c.by+" "+c.where, func(t *testing.T) {
			var subjects []subject
			for _, n := range c.at {
				subjects = append(subjects, subject{strconv.Itoa(n), c.subject(t, n)})
			}
			s := interleave(b.rnd, b.growthRounds(), b.pace.round, subjects...)
			curve := Curve{By: c.by, Where: c.where, Unit: c.unit}
			for _, n := range c.at {
				curve.Points = append(curve.Points, Point{n, s.of(strconv.Itoa(n), cost)})
			}
			b.rec.Growth = append(b.rec.Growth, curve)
		})
	}
}

// buckets returns a plan of so many policies.
func buckets(t testing.TB, policies int, q quota) func(seawall.Key) []seawall.Check {
	t.Helper()
	var all []ratelimit.Policy
	for i := range policies {
		all = append(all, ratelimit.Policy{Name: fmt.Sprintf("api-%d", i), Quota: q.bucket()})
	}
	l, err := ratelimit.New(ratelimit.Config{Policies: all})
	require.NoError(t, err)
	return func(k seawall.Key) []seawall.Check {
		checks := l.Plan(nil, &seawall.Request{Key: k})
		require.Len(t, checks, policies)
		return checks
	}
}

// memoryAt measures a decision in process, by wall time over all goroutines.
func (b *bench) memoryAt(t *testing.T, keys, checks, callers int) func(time.Duration) figures {
	t.Helper()
	s := memstore.New(memstore.Config{MaxKeys: 2 * keys * checks})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	all, order := plans(keys, buckets(t, checks, inexhaustible)), inTurn(keys)
	asks := func() ask { return (&asking{store: s, plans: all}).decide }
	first := asks()
	for _, i := range shuffled(keys) {
		require.True(t, first(i))
	}
	return func(d time.Duration) figures {
		ns, refused := together(d, callers, strike, order, asks)
		assert.Zero(t, refused, "nobody is over a limit")
		return figures{cost: ns}
	}
}

// redisAt measures a decision on a Redis of its own, by wall time over all callers.
func redisAt(t *testing.T, keys, checks, callers, instances int) func(time.Duration) figures {
	t.Helper()
	server := redistest.Start(t)
	var stores []*remote
	for range instances {
		stores = append(stores, newRemote(t, server, ample, "", nil))
	}
	all, order := plans(keys, buckets(t, checks, ample)), shuffled(keys)
	return func(d time.Duration) figures {
		next := make(chan *remote, callers) // a caller takes the instance that is next
		for i := range callers {
			next <- stores[i%instances]
		}
		ns, refused := together(d, callers, 1, order, func() ask {
			return (&asking{store: (<-next).store, plans: all, budget: budget}).decide
		})
		assert.Zero(t, refused, "nobody is over a limit")
		return figures{cost: ns / 1000}
	}
}

// redisKeys measures a decision on a Redis that has the state of so many callers, all of whom have spent.
func (b *bench) redisKeys() func(t *testing.T, n int) func(time.Duration) figures {
	return func(t *testing.T, n int) func(time.Duration) figures {
		t.Helper()
		server := redistest.Start(t)
		slow := quota{1_000_000, 24 * time.Hour} // so that no state expires meanwhile
		r := newRemote(t, server, slow, "", nil)
		all, order := plans(n, r.bucket), shuffled(n)
		everybody(t, n, func() ask { return (&asking{store: r.store, plans: all}).decide })
		size, err := server.Client(t).DBSize(t.Context()).Result()
		require.NoError(t, err)
		require.GreaterOrEqual(t, size, int64(n), "a key of every caller")
		return func(d time.Duration) figures {
			ns, refused := together(d, 64, 1, order, func() ask { return (&asking{store: r.store, plans: all, budget: budget}).decide })
			assert.Zero(t, refused, "nobody is over a limit")
			return figures{cost: ns / 1000}
		}
	}
}
