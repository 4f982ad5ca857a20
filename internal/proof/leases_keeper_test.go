package proof

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/proof/stepped"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// keeper is a store of leases under test: one instance of it or several, which share what they keep.
type keeper interface {
	name() string
	instances() []subject
	// rule is how this store is told a rule.
	rule(seawall.Rule) seawall.Rule
	// renew renews leases that an instance holds: those that are due. It tells how many it had lost, or -1.
	renew(t rapid.TB, instance int, leases []seawall.Lease) (lost int64)
	// lose loses all data, as a server does that begins anew.
	lose(t rapid.TB)
	// keepsLedger tells whether instances still know after that what they hold.
	keepsLedger() bool
}

// inMemory is a store in memory, which is one instance.
type inMemory struct {
	now   *atomic.Int64
	store *memstore.Store
	subject
}

func keepInMemory() *inMemory {
	m := &inMemory{now: new(atomic.Int64)}
	m.subject, m.store = memoryAt(m.now)
	return m
}

func (m *inMemory) name() string                     { return "memory" }
func (m *inMemory) instances() []subject             { return []subject{m.subject} }
func (m *inMemory) rule(r seawall.Rule) seawall.Rule { return r }
func (m *inMemory) keepsLedger() bool                { return false }
func (m *inMemory) lose(rapid.TB)                    { m.subject, m.store = memoryAt(m.now) }

func (m *inMemory) renew(rapid.TB, int, []seawall.Lease) int64 {
	m.store.Renew()
	return -1
}

// unhurried are slots of which a store's ledger thinks that they last for an hour, so that it renews none while a
// trace lasts, by the real time, on its own. What it tells Redis is the rule's own.
type unhurried struct{ *concurrency.Slots }

// TTL implements seawall.Holder.
func (unhurried) TTL() time.Duration { return time.Hour }

// onOneRedis are some instances on one Redis with a stepped clock.
type onOneRedis struct {
	clock *stepped.Clock
	all   []subject
}

// keepOnRedis returns so many instances on a Redis of their own. They are shared by many traces.
func keepOnRedis(t *testing.T, instances int) *onOneRedis {
	k := &onOneRedis{clock: stepped.New(t, redistest.Start(t))}
	for range instances {
		store, err := redisstore.New(redisstore.Config{Client: k.clock.Client(), Namespace: namespace})
		require.NoError(t, err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
			defer cancel()
			require.NoError(t, store.Close(ctx))
		})
		require.NoError(t, store.Probe(t.Context()), "it learns the real time, and then no stepped time is too late")
		k.all = append(k.all, subject{"redis", store, k.clock.Set, func() int64 { return k.clock.Now() * 1000 }})
	}
	return k
}

// some returns the first so many of the instances.
func (k *onOneRedis) some(instances int) *onOneRedis { return &onOneRedis{k.clock, k.all[:instances]} }

func (k *onOneRedis) name() string         { return "redis" }
func (k *onOneRedis) instances() []subject { return k.all }
func (k *onOneRedis) keepsLedger() bool    { return true }

func (k *onOneRedis) rule(r seawall.Rule) seawall.Rule {
	if s, ok := r.(*concurrency.Slots); ok {
		return unhurried{s}
	}
	return r
}

func (k *onOneRedis) lose(t rapid.TB) { require.NoError(t, k.clock.Lose(context.Background())) }

// renew claims the leases, which has the store renew them now, with the script that it renews what is due with.
func (k *onOneRedis) renew(t rapid.TB, instance int, leases []seawall.Lease) (lost int64) {
	if len(leases) == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	before := k.clock.Renewals()
	k.all[instance].store.(seawall.Claimer).Claim(leases...)
	lost, err := k.clock.Await(ctx, before, int64(len(leases)))
	require.NoError(t, err)
	return lost
}
