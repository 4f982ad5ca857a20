package concurrency

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed slots.lua
var slotsLua string

//go:embed weighted.lua
var weightedLua string

// DefaultTTL is how long a lease outlives its last renewal unless told otherwise.
const DefaultTTL = 12 * time.Second

// retry is the estimate that a refused caller is told: when a slot gets free depends on handlers.
const retry = time.Second

// Slots is the rule of a number of slots: a check admits while what is taken and what it takes are no more.
type Slots struct {
	slots    int64
	ttl      time.Duration
	weighted bool
	whole    int64 // of which slots are a share; 0: they are all
}

var (
	_ seawall.Holder = (*Slots)(nil)
	_ seawall.Sharer = (*Slots)(nil)
)

// NewSlots returns the rule of so many slots, at least 1, and a TTL of 1 s to 1 h in whole milliseconds;
// zero is DefaultTTL. A check takes one slot, whatever its cost.
func NewSlots(slots int64, ttl time.Duration) (*Slots, error) {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	switch {
	case slots < 1:
		return nil, fmt.Errorf("slots is %d; want at least 1", slots)
	case ttl < time.Second || ttl > time.Hour || ttl%time.Millisecond != 0:
		return nil, fmt.Errorf("TTL is %v; want 1s to 1h in whole milliseconds, or zero for %v", ttl, DefaultTTL)
	}
	return &Slots{slots: slots, ttl: ttl}, nil
}

// Weighted returns the rule with the same slots and TTL of which a check takes as many as its cost. It reads every lease
// that its key holds, where the other counts them, those of weight as one each.
func (s *Slots) Weighted() *Slots {
	w := *s
	w.weighted = true
	return &w
}

// TTL implements seawall.Holder.
func (s *Slots) TTL() time.Duration { return s.ttl }

// Kind implements seawall.Rule.
func (s *Slots) Kind() string { return "lease" }

// takes is how many slots a check of that cost takes.
func (s *Slots) takes(cost int64) int64 {
	if !s.weighted {
		return 1
	}
	return max(1, cost)
}

// fits tells whether so many more slots fit beside n taken ones. What fits the whole, but not the share, takes all of
// the share.
func (s *Slots) fits(n, more int64) bool {
	return n < s.slots && (more <= s.slots-n || n == 0 && more <= s.whole)
}

// bears tells whether so many slots fit if none is taken.
func (s *Slots) bears(n int64) bool { return n <= max(s.slots, s.whole) }

// Check implements seawall.Rule; it observes how many slots are taken.
func (s *Slots) Check(st *seawall.State, env seawall.Env, c *seawall.Check) (seawall.Observation, bool) {
	n := s.Held(st, env)
	ok := s.fits(n, s.takes(c.Cost))
	if !ok {
		s.Mend(st, env)
	}
	return seawall.Observation{n}, ok
}

// Commit implements seawall.Rule.
func (s *Slots) Commit(st *seawall.State, env seawall.Env, c *seawall.Check) {
	t, _ := st.More.(*taken)
	if t == nil {
		t = &taken{leases: map[uint64]lease{}, soonest: math.MaxInt64}
		st.More = t
	}
	l := lease{slots: s.takes(c.Cost), ttl: s.ttl}
	l.last(env.Now)
	t.put(c.ID, l)
}

// Renew implements seawall.Holder.
func (s *Slots) Renew(st *seawall.State, env seawall.Env) (next int64) {
	t, _ := st.More.(*taken)
	if t == nil {
		return math.MaxInt64
	}
	return t.renew(env.Now)
}

// Release implements seawall.Holder.
func (s *Slots) Release(st *seawall.State, id uint64) {
	if t, _ := st.More.(*taken); t != nil {
		t.drop(id)
	}
}

// Lapse implements seawall.Holder.
func (s *Slots) Lapse(st *seawall.State) {
	if t, _ := st.More.(*taken); t != nil {
		t.cut(math.MinInt64)
	}
}

// Idle implements seawall.Rule. What has expired may be renewed yet, so leases are kept until they are released: who holds
// state in memory is who holds the leases.
func (s *Slots) Idle(st *seawall.State, _ int64) bool {
	t, _ := st.More.(*taken)
	return t == nil || len(t.leases) == 0
}

// Result implements seawall.Rule.
func (s *Slots) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) seawall.Result {
	res := Describe(seen[0], s.slots, s.takes(c.Cost), ok, committed, c)
	if !ok && !s.bears(s.takes(c.Cost)) {
		res.RetryAfter = seawall.Never
	}
	return res
}

// Describe says what a caller is told of slots of which n were taken before the decision, and which is about so many
// more. A quarter of the slots count as the last ones: a release of one of them is worth waiting for.
func Describe(n, slots, more int64, ok, committed bool, c *seawall.Check) seawall.Result {
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: slots, Remaining: max(0, slots-n)}
	if committed {
		res.Remaining = max(0, res.Remaining-more)
	}
	if !ok {
		res.RetryAfter = retry
	}
	res.Last = committed && !c.CountOnly && res.Remaining <= slots/4
	return res
}

// Share implements seawall.Sharer.
func (s *Slots) Share(i, n int64) seawall.Rule {
	share := *s
	share.slots, share.whole = seawall.Portion(s.slots, i, n), max(s.slots, s.whole)
	return &share
}

// Bounds implements seawall.Sharer.
func (s *Slots) Bounds() bool { return true }

// Script implements seawall.Rule.
func (s *Slots) Script() string {
	if s.weighted {
		return weightedLua + slotsLua
	}
	return slotsLua
}

// Args implements seawall.Rule.
func (s *Slots) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	if !s.weighted {
		return append(dst, env.Member(c.ID), s.ttl.Milliseconds(), s.slots)
	}
	more, member := s.takes(c.Cost), env.Member(c.ID)
	if more > 1 {
		member += "*" + strconv.FormatInt(more, 10)
	}
	return append(dst, member, s.ttl.Milliseconds(), s.slots, more)
}
