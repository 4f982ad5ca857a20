package fleetshed

import (
	"cmp"
	_ "embed"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
)

//go:embed slot.lua
var slotLua string

// million is what a reserve is counted in: whole numbers do not surprise.
const million = 1_000_000

// slot is a lease whose cap is the ordinary share of the fleet's capacity.
type slot struct {
	*concurrency.Slots
	reserve int64 // parts per million
	own     int64 // this instance's workers, the capacity until the fleet is known
	fixed   int64 // the capacity of a fleet on a shared store, whatever it announces; 0 is what it announces
}

var (
	_ seawall.Holder = (*slot)(nil)
	_ seawall.Sharer = (*slot)(nil)
)

// ordinary is how many slots ordinary requests may hold. A store in memory, which names no instances, is not told of the
// fleet, so there this instance goes by its own workers.
func (s *slot) ordinary(env seawall.Env) int64 {
	total := cmp.Or(env.Capacity, s.own)
	if s.fixed > 0 && env.Instance != "" {
		total = s.fixed
	}
	return total - (total*s.reserve+million-1)/million
}

// Kind implements seawall.Rule.
func (s *slot) Kind() string { return "slot" }

// Check implements seawall.Rule.
func (s *slot) Check(st *seawall.State, env seawall.Env, _ *seawall.Check) (seawall.Observation, bool) {
	n := s.Held(st, env)
	ok := n < s.ordinary(env)
	if !ok {
		s.Mend(st, env)
	}
	return seawall.Observation{n}, ok
}

// Result implements seawall.Rule.
func (s *slot) Result(seen seawall.Observation, ok, committed bool, env seawall.Env, c *seawall.Check) seawall.Result {
	return concurrency.Describe(seen[0], s.ordinary(env), 1, ok, committed, c)
}

// Share implements seawall.Sharer: this instance's own workers, whose store knows of no fleet.
func (s *slot) Share(_, _ int64) seawall.Rule { return s }

// Bounds implements seawall.Sharer: the fleet may be larger than this instance has heard.
func (s *slot) Bounds() bool { return false }

// Script implements seawall.Rule: a check of its own, and the rest as for any lease.
func (s *slot) Script() string { return slotLua + s.Slots.Script() }

// Args implements seawall.Rule.
func (s *slot) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	reserve := s.reserve
	if s.fixed > 0 {
		reserve = million
	}
	return append(dst, env.Member(c.ID), s.TTL().Milliseconds(), s.ordinary(env), reserve)
}
