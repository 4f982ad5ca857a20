package ratelimit

import (
	_ "embed"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed counter.lua
var counterLua string

// steps is in how many of them the weight of the previous window falls. Counts times steps are exact in a
// double.
const steps = 1_000_000

// counter is the sliding counter rule: what was used in this window, and in the one before by the share of it
// that the sliding window still covers.
type counter struct {
	limit int64
	step  int64 // µs; a window has a million of them, so it is as many seconds long
}

var _ Rule = (*counter)(nil)

// counts are the state in memory.
type counts struct {
	begin         int64 // of the current window, in seconds
	before, since int64 // used in the previous window and in the current one
}

// window is the length of a window in seconds.
func (r *counter) window() int64 { return r.step }

// at returns the counts as of now, and how many microseconds of the window are over. Counts of a later window
// stem from before the clock stepped back, and are this one's.
func (r *counter) at(s *seawall.State, now int64) (counts, int64) {
	us := floorDiv(now, 1000)
	begin := floorDiv(floorDiv(us, 1e6), r.window()) * r.window()
	c := counts{begin: begin}
	if kept, _ := s.More.(*counts); kept != nil {
		switch {
		case kept.begin >= begin:
			c.before, c.since = kept.before, kept.since
		case kept.begin+r.window() >= begin: // also one that a changed window shifted
			c.before = kept.since
		}
	}
	return c, us - begin*1e6
}

func (r *counter) keep(s *seawall.State, c counts) {
	kept, _ := s.More.(*counts)
	if kept == nil {
		kept = &counts{}
		s.More = kept
	}
	*kept = c
}

// weight is how many steps of the previous window the sliding one covers.
func (r *counter) weight(elapsed int64) int64 { return steps - elapsed/r.step }

// Kind implements seawall.Rule.
func (r *counter) Kind() string { return "counter" }

// Check implements seawall.Rule; it observes what was used in the previous window and in this one, and how
// many microseconds of this one are over.
func (r *counter) Check(s *seawall.State, env seawall.Env, c *seawall.Check) (seawall.Observation, bool) {
	n, elapsed := r.at(s, env.Now)
	ok := n.before*r.weight(elapsed)+(n.since+cost(c))*steps <= r.limit*steps
	if kept, _ := s.More.(*counts); !ok && kept != nil && kept.begin > n.begin {
		r.keep(s, n)
	}
	return seawall.Observation{n.before, n.since, elapsed}, ok
}

// Commit implements seawall.Rule.
func (r *counter) Commit(s *seawall.State, env seawall.Env, c *seawall.Check) {
	n, _ := r.at(s, env.Now)
	n.since = min(n.since+cost(c), maxLimit)
	r.keep(s, n)
}

// Refund implements seawall.Refunder. What was spent in the previous window is taken from that.
func (r *counter) Refund(s *seawall.State, env seawall.Env, c *seawall.Check) {
	n, _ := r.at(s, env.Now)
	switch at := seconds(c.At); {
	case at >= n.begin:
		n.since = max(0, n.since-cost(c))
	case at >= n.begin-r.window():
		n.before = max(0, n.before-cost(c))
	}
	r.keep(s, n)
}

// Idle implements seawall.Rule.
func (r *counter) Idle(s *seawall.State, now int64) bool {
	n, _ := r.at(s, now)
	return n.before == 0 && n.since == 0
}

// Result implements seawall.Rule.
func (r *counter) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) seawall.Result {
	before, since, elapsed := seen[0], seen[1], seen[2]
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: r.limit}
	switch {
	case ok:
	case cost(c) > r.limit:
		res.RetryAfter = seawall.Never
	default:
		res.RetryAfter = r.until(cost(c), before, since, elapsed)
	}
	if committed {
		since = min(since+cost(c), maxLimit)
	}
	res.Remaining = max(0, (r.limit*steps-before*r.weight(elapsed)-since*steps)/steps)
	if res.Remaining < r.limit {
		res.NextAfter = r.until(res.Remaining+1, before, since, elapsed)
	}
	switch length := r.step * steps; {
	case since > 0:
		res.ResetAfter = micros(2*length - elapsed)
	case before > 0:
		res.ResetAfter = micros(length - elapsed)
	}
	return res
}

// until is when n more will fit, if nothing else is spent and they do not fit yet.
func (r *counter) until(n, before, since, elapsed int64) time.Duration {
	length := r.step * steps
	if room := r.limit - n - since; room >= 0 && before > 0 {
		return micros(r.fades(before, room)*r.step - elapsed)
	}
	return micros(length + r.fades(since, r.limit-n)*r.step - elapsed)
}

// fades returns the first step of a window in which what was used in the one before weighs at most room.
func (r *counter) fades(used, room int64) int64 { return max(0, steps-room*steps/used) }

// Limit implements Rule.
func (r *counter) Limit() int64 { return r.limit }

// Window implements Rule.
func (r *counter) Window() time.Duration { return micros(r.step * steps) }

// Script implements seawall.Rule.
func (r *counter) Script() string { return counterLua }

// Args implements seawall.Rule.
func (r *counter) Args(dst []any, _ seawall.Env, c *seawall.Check) []any {
	last := r.limit
	if c.Op == seawall.Refund {
		last = seconds(c.At)
	}
	return append(dst, cost(c), last, r.window())
}
