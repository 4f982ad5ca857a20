package ratelimit

import (
	_ "embed"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed window.lua
var windowLua string

// window is the fixed window rule: a counter that starts again at every boundary of a calendar.
type window struct {
	limit    int64
	calendar Calendar
	known    atomic.Pointer[boundaries] // around the last time asked for
}

var (
	_ Rule            = (*window)(nil)
	_ seawall.Stepper = (*window)(nil)
)

// at returns the boundaries around a time in nanoseconds.
func (w *window) at(now int64) *boundaries {
	sec := seconds(now)
	b := w.known.Load()
	if b == nil || !b.holds(sec) {
		around := w.calendar.around(sec)
		b = &around
		w.known.Store(b)
	}
	return b
}

// The state in memory is one word: the window's begin in seconds, which have room for 270 years since the Unix epoch, and in
// the low bits what was used. A window of which nothing is used is not kept.
const usedBits = 30 // of maxLimit

// used is what was spent in the window that began at begin. What stems from a later one was spent before the
// clock stepped back, and counts.
func (w *window) used(word, begin int64) int64 {
	if word>>usedBits < begin {
		return 0
	}
	return word & (1<<usedBits - 1)
}

func (w *window) word(begin, used int64) int64 {
	if used <= 0 {
		return 0
	}
	return begin<<usedBits | min(used, maxLimit)
}

// Kind implements seawall.Rule.
func (w *window) Kind() string { return "window" }

// Step implements seawall.Stepper. A refusal makes what a later window holds this one's, or the caller would still owe it
// when that one comes.
func (w *window) Step(word, now int64, c *seawall.Check) (unspent, spent int64, ok bool) {
	begin := w.at(now)[1]
	used := w.used(word, begin)
	ok = used+cost(c) <= w.limit
	if !ok && word>>usedBits > begin {
		word = w.word(begin, used)
	}
	return word, w.word(begin, used+cost(c)), ok
}

// seen is what was used, and how many microseconds are left.
func (w *window) seen(word, now int64) seawall.Observation {
	b := w.at(now)
	return seawall.Observation{w.used(word, b[1]), b[2]*1e6 - floorDiv(now, 1000)}
}

// Tell implements seawall.Stepper.
func (w *window) Tell(res *seawall.Result, word, now int64, ok bool, c *seawall.Check) {
	*res = w.Result(w.seen(word, now), ok, ok, seawall.Env{}, c)
}

// Check implements seawall.Rule.
func (w *window) Check(s *seawall.State, env seawall.Env, c *seawall.Check) (seen seawall.Observation, ok bool) {
	seen = w.seen(s.Word, env.Now)
	s.Word, _, ok = w.Step(s.Word, env.Now, c)
	return seen, ok
}

// Commit implements seawall.Rule.
func (w *window) Commit(s *seawall.State, env seawall.Env, c *seawall.Check) {
	_, s.Word, _ = w.Step(s.Word, env.Now, c)
}

// Refund implements seawall.Refunder. It gives nothing back that was spent in an earlier window.
func (w *window) Refund(s *seawall.State, env seawall.Env, c *seawall.Check) {
	begin := w.at(env.Now)[1]
	if seconds(c.At) >= begin && s.Word>>usedBits == begin {
		s.Word = w.word(begin, w.used(s.Word, begin)-cost(c))
	}
}

// Idle implements seawall.Rule.
func (w *window) Idle(s *seawall.State, now int64) bool {
	return w.used(s.Word, w.at(now)[1]) == 0
}

// Result implements seawall.Rule.
func (w *window) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) seawall.Result {
	used, left := seen[0], micros(seen[1])
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: w.limit}
	switch {
	case ok:
	case cost(c) > w.limit:
		res.RetryAfter = seawall.Never
	default:
		res.RetryAfter = left
	}
	if committed {
		used += cost(c)
	}
	res.Remaining = max(0, w.limit-used)
	if used > 0 {
		res.NextAfter, res.ResetAfter = left, left
	}
	return res
}

// Limit implements Rule.
func (w *window) Limit() int64 { return w.limit }

// Window implements Rule: the length of the present one, which differs where months or clocks do.
func (w *window) Window() time.Duration {
	b := w.known.Load()
	if b == nil {
		b = w.at(time.Now().UnixNano())
	}
	return time.Duration(b[2]-b[1]) * time.Second
}

// Script implements seawall.Rule.
func (w *window) Script() string { return windowLua }

// Args implements seawall.Rule.
func (w *window) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	b := w.at(env.Now)
	last := w.limit
	if c.Op == seawall.Refund {
		last = seconds(c.At)
	}
	return append(dst, cost(c), last, b[0], b[1], b[2], b[3])
}
