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

// lease is one that somebody in this process holds.
type lease struct {
	slots  int64         // that it takes
	ttl    time.Duration // that it was taken for
	expiry int64         // in milliseconds of the store's clock
	due    int64         // when it is to be renewed, in nanoseconds
}

// last makes the lease last from now on, in nanoseconds.
func (l *lease) last(now int64) {
	l.expiry, l.due = now/int64(time.Millisecond)+l.ttl.Milliseconds(), now+int64(l.ttl/3)
}

// put takes a lease, for as many slots as before if it is there already.
func (t *taken) put(id uint64, l lease) {
	before := len(t.leases)
	t.leases[id] = l
	if len(t.leases) > before {
		t.slots += l.slots
	}
	t.soonest = min(t.soonest, l.expiry)
}

// drop forgets a lease, if it is there.
func (t *taken) drop(id uint64) {
	if l, ok := t.leases[id]; ok {
		t.slots -= l.slots
		delete(t.leases, id)
	}
}

// renew renews those that are due at now, and returns when others will be.
func (t *taken) renew(now int64) (next int64) {
	next, t.soonest = math.MaxInt64, math.MaxInt64
	for id, l := range t.leases {
		if l.due <= now {
			l.last(now)
			t.leases[id] = l
		}
		next, t.soonest = min(next, l.due), min(t.soonest, l.expiry)
	}
	return next
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

// cut has no lease expire after the given time: one that would stems from before the clock stepped back.
func (t *taken) cut(ms int64) {
	for id, l := range t.leases {
		l.expiry = min(l.expiry, ms)
		t.leases[id] = l
	}
	t.soonest = min(t.soonest, ms)
}

// Held implements seawall.Holder. Without weights every lease takes one.
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
