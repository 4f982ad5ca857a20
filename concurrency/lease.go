package concurrency

import (
	_ "embed"
	"fmt"
	"math"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed lease.lua
var leaseLua string

// DefaultTTL is how long a lease outlives its last renewal unless told otherwise.
const DefaultTTL = 12 * time.Second

// retry is the estimate that a refused caller is told: when a slot gets free depends on handlers.
const retry = time.Second

// Lease is the rule of a number of slots: a check admits while fewer than the cap are taken.
type Lease struct {
	slots int64
	ttl   time.Duration
}

var (
	_ seawall.Holder = (*Lease)(nil)
	_ seawall.Sharer = (*Lease)(nil)
)

// NewLease returns the rule of so many slots, at least 1, and a TTL of 1 s to 1 h in whole milliseconds;
// zero is DefaultTTL.
func NewLease(slots int64, ttl time.Duration) (*Lease, error) {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	switch {
	case slots < 1:
		return nil, fmt.Errorf("slots is %d; want at least 1", slots)
	case ttl < time.Second || ttl > time.Hour || ttl%time.Millisecond != 0:
		return nil, fmt.Errorf("TTL is %v; want 1s to 1h in whole milliseconds, or zero for %v", ttl, DefaultTTL)
	}
	return &Lease{slots: slots, ttl: ttl}, nil
}

// TTL implements seawall.Holder.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Kind implements seawall.Rule.
func (l *Lease) Kind() string { return "lease" }

// taken are the leases of one key in memory: when each expires, in milliseconds of the store's clock.
type taken struct {
	expiry  map[uint64]int64
	soonest int64 // no lease expires before
}

// count returns how many leases have not expired at ms.
func (t *taken) count(ms int64) (n int64) {
	if t.soonest > ms {
		return int64(len(t.expiry))
	}
	for _, at := range t.expiry {
		if at > ms {
			n++
		}
	}
	return n
}

// cut makes no lease expire after the given time: one that would stems from before the clock stepped back.
func (t *taken) cut(ms int64) {
	for id, at := range t.expiry {
		t.expiry[id] = min(at, ms)
	}
	t.soonest = min(t.soonest, ms)
}

// prune forgets what has expired.
func (t *taken) prune(ms int64) {
	t.soonest = math.MaxInt64
	for id, at := range t.expiry {
		if at <= ms {
			delete(t.expiry, id)
		} else {
			t.soonest = min(t.soonest, at)
		}
	}
}

// Held observes how many slots of the state are taken at env.Now, and tells whether that is less than slots.
func (l *Lease) Held(s *seawall.State, env seawall.Env, slots int64) (n int64, ok bool) {
	t, _ := s.More.(*taken)
	if t == nil {
		return 0, 0 < slots
	}
	ms := env.Now / int64(time.Millisecond)
	if n = t.count(ms); n >= slots {
		t.cut(ms + l.ttl.Milliseconds())
	}
	return n, n < slots
}

// Check implements seawall.Rule; it observes how many slots are taken.
func (l *Lease) Check(s *seawall.State, env seawall.Env, _ *seawall.Check) (seawall.Observation, bool) {
	n, ok := l.Held(s, env, l.slots)
	return seawall.Observation{n}, ok
}

// Commit implements seawall.Rule.
func (l *Lease) Commit(s *seawall.State, env seawall.Env, c *seawall.Check) { l.Renew(s, env, c.ID) }

// Renew implements seawall.Holder.
func (l *Lease) Renew(s *seawall.State, env seawall.Env, id uint64) {
	t, _ := s.More.(*taken)
	if t == nil {
		t = &taken{expiry: map[uint64]int64{}, soonest: math.MaxInt64}
		s.More = t
	}
	at := env.Now/int64(time.Millisecond) + l.ttl.Milliseconds()
	t.expiry[id] = at
	t.soonest = min(t.soonest, at)
}

// Release implements seawall.Holder.
func (l *Lease) Release(s *seawall.State, id uint64) {
	if t, _ := s.More.(*taken); t != nil {
		delete(t.expiry, id)
	}
}

// Idle implements seawall.Rule.
func (l *Lease) Idle(s *seawall.State, now int64) bool {
	t, _ := s.More.(*taken)
	if t == nil {
		return true
	}
	if ms := now / int64(time.Millisecond); t.soonest <= ms {
		t.prune(ms)
	}
	return len(t.expiry) == 0
}

// Result implements seawall.Rule.
func (l *Lease) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) seawall.Result {
	return Describe(seen[0], l.slots, ok, committed, c)
}

// Describe says what a caller is told of slots of which n were taken before the decision. A quarter of the
// slots count as the last ones: a release of one of them is worth waiting for.
func Describe(n, slots int64, ok, committed bool, c *seawall.Check) seawall.Result {
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: slots}
	if committed {
		n++
	}
	if !ok {
		res.RetryAfter = retry
	}
	res.Remaining = max(0, slots-n)
	res.Last = committed && !c.CountOnly && res.Remaining <= slots/4
	return res
}

// Share implements seawall.Sharer.
func (l *Lease) Share(i, n int64) seawall.Rule {
	return &Lease{slots: seawall.Portion(l.slots, i, n), ttl: l.ttl}
}

// Bounds implements seawall.Sharer.
func (l *Lease) Bounds() bool { return true }

// Script implements seawall.Rule.
func (l *Lease) Script() string { return leaseLua }

// Args implements seawall.Rule.
func (l *Lease) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	return append(dst, env.Member(c.ID), l.ttl.Milliseconds(), l.slots)
}
