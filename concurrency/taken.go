package concurrency

import (
	"math"
	"time"

	"github.com/seawall-go/seawall"
)

// taken are the leases of one key in memory.
type taken struct {
	leases  map[uint64]lease
	slots   int64 // that all leases take, expired ones included
	soonest int64 // no lease expires before
	line    map[uint64]waiter
}

// lease is when a lease expires, in milliseconds of the store's clock, and how many slots it takes.
type lease struct{ expiry, slots int64 }

// put takes a lease, or renews it.
func (t *taken) put(id uint64, l lease) {
	t.drop(id)
	t.leases[id] = l
	t.slots += l.slots
	t.soonest = min(t.soonest, l.expiry)
}

// drop forgets a lease, if it is there.
func (t *taken) drop(id uint64) {
	t.slots -= t.leases[id].slots
	delete(t.leases, id)
}

// count returns how many leases have not expired at ms, and how many slots they take.
func (t *taken) count(ms int64) (leases, slots int64) {
	if t.soonest > ms {
		return int64(len(t.leases)), t.slots
	}
	for _, l := range t.leases {
		if l.expiry > ms {
			leases++
			slots += l.slots
		}
	}
	return leases, slots
}

// cut makes no lease expire after the given time: one that would stems from before the clock stepped back.
func (t *taken) cut(ms int64) {
	for id, l := range t.leases {
		t.leases[id] = lease{min(l.expiry, ms), l.slots}
	}
	t.soonest = min(t.soonest, ms)
}

// prune forgets what has expired.
func (t *taken) prune(ms int64) {
	t.soonest = math.MaxInt64
	for id, l := range t.leases {
		if l.expiry <= ms {
			t.drop(id)
		} else {
			t.soonest = min(t.soonest, l.expiry)
		}
	}
}

// Held returns how many slots of the state are taken at env.Now. Without weights every lease takes one.
func (s *Slots) Held(st *seawall.State, env seawall.Env) int64 {
	t, _ := st.More.(*taken)
	if t == nil {
		return 0
	}
	leases, slots := t.count(env.Now / int64(time.Millisecond))
	if !s.weighted {
		return leases
	}
	return slots
}

// Mend shortens the leases that outlive their TTL, before a refusal: they stem from before the clock stepped back.
func (s *Slots) Mend(st *seawall.State, env seawall.Env) {
	if t, _ := st.More.(*taken); t != nil {
		t.cut(env.Now/int64(time.Millisecond) + s.ttl.Milliseconds())
	}
}
