package ratelimit

import (
	"time"

	"github.com/seawall-go/seawall"
)

// elsewhere is what a caller is told to wait by an instance that has no share of its limit: others may have.
const elsewhere = time.Second

// share is the rule of one instance's share of a limit, on the state of the limit's own kind. A cost that fits
// the whole limit but not the share takes all of the share, or no instance would ever admit it.
type share struct {
	Rule
	whole int64 // the limit that is shared
}

var _ seawall.Sharer = (*share)(nil)

// fit returns the check, with the cost that it has for the share.
func (s *share) fit(c *seawall.Check) *seawall.Check {
	if c.Cost <= s.Limit() || c.Cost > s.whole {
		return c
	}
	fitted := *c
	fitted.Cost = s.Limit()
	return &fitted
}

// Check implements seawall.Rule.
func (s *share) Check(st *seawall.State, env seawall.Env, c *seawall.Check) (seawall.Observation, bool) {
	return s.Rule.Check(st, env, s.fit(c))
}

// Commit implements seawall.Rule.
func (s *share) Commit(st *seawall.State, env seawall.Env, c *seawall.Check) {
	s.Rule.Commit(st, env, s.fit(c))
}

// Refund implements seawall.Refunder.
func (s *share) Refund(st *seawall.State, env seawall.Env, c *seawall.Check) {
	s.Rule.Refund(st, env, s.fit(c))
}

// Result implements seawall.Rule.
func (s *share) Result(seen seawall.Observation, ok, committed bool, env seawall.Env, c *seawall.Check) seawall.Result {
	return s.Rule.Result(seen, ok, committed, env, s.fit(c))
}

// Args implements seawall.Rule.
func (s *share) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	return s.Rule.Args(dst, env, s.fit(c))
}

// Share implements seawall.Sharer: 1/n of the rate, and of the burst at least one token.
func (b *bucket) Share(i, n int64) seawall.Rule {
	interval := min(b.interval, int64(longest)/n) * n
	burst := max(1, min(seawall.Portion(b.burst, i, n), int64(longest)/interval))
	return &share{&bucket{burst: burst, interval: interval, full: burst * interval}, b.burst}
}

// Share implements seawall.Sharer.
func (l *slidingLog) Share(i, n int64) seawall.Rule {
	part := seawall.Portion(l.limit, i, n)
	if part == 0 {
		return block{elsewhere}
	}
	return &share{&slidingLog{limit: part, window: l.window}, l.limit}
}

// Share implements seawall.Sharer.
func (r *counter) Share(i, n int64) seawall.Rule {
	part := seawall.Portion(r.limit, i, n)
	if part == 0 {
		return block{elsewhere}
	}
	return &share{&counter{limit: part, step: r.step}, r.limit}
}

// Share implements seawall.Sharer.
func (w *window) Share(i, n int64) seawall.Rule {
	part := seawall.Portion(w.limit, i, n)
	if part == 0 {
		return block{elsewhere}
	}
	return &share{&window{limit: part, calendar: w.calendar}, w.limit}
}

// Bounds implements seawall.Sharer.
func (*bucket) Bounds() bool { return false }

// Bounds implements seawall.Sharer.
func (*slidingLog) Bounds() bool { return false }

// Bounds implements seawall.Sharer.
func (*counter) Bounds() bool { return false }

// Bounds implements seawall.Sharer.
func (*window) Bounds() bool { return false }
