package ratelimit

import (
	_ "embed"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed log.lua
var logLua string

// slidingLog is the sliding log rule: every request of the last window, with its cost.
type slidingLog struct {
	limit  int64
	window int64 // ns
}

var _ Rule = (*slidingLog)(nil)

// entries are the state in memory, the oldest first.
type entries struct {
	list []entry
	used int64 // the sum of their costs
}

type entry struct {
	at   int64 // ns since the epoch
	cost int64
	id   uint64
}

// settle forgets what has left the window. What lies in the future stems from before the clock stepped back,
// and counts as of now.
func (e *entries) settle(now, window int64) {
	for i := len(e.list) - 1; i >= 0 && e.list[i].at > now; i-- {
		e.list[i].at = now
	}
	for len(e.list) > 0 && e.list[0].at <= now-window {
		e.used -= e.list[0].cost
		e.list = e.list[1:]
	}
}

// until is when the oldest entries that cost n together have left, in microseconds from now.
func (e *entries) until(n, now, window int64) int64 {
	for _, old := range e.list {
		if n -= old.cost; n <= 0 {
			return upToMicros(old.at + window - now)
		}
	}
	return 0
}

// Kind implements seawall.Rule.
func (l *slidingLog) Kind() string { return "log" }

// Check implements seawall.Rule; it observes what is used, and in how many microseconds more will remain, the
// cost will fit, and all will have left.
func (l *slidingLog) Check(s *seawall.State, env seawall.Env, c *seawall.Check) (seawall.Observation, bool) {
	now := env.Now
	e, _ := s.More.(*entries)
	if e == nil {
		return seawall.Observation{}, cost(c) <= l.limit
	}
	e.settle(now, l.window)
	if len(e.list) == 0 {
		return seawall.Observation{}, cost(c) <= l.limit
	}
	seen := seawall.Observation{
		e.used,
		e.until(max(0, e.used-l.limit)+1, now, l.window),
		0,
		upToMicros(e.list[len(e.list)-1].at + l.window - now),
	}
	ok := e.used+cost(c) <= l.limit
	if !ok && cost(c) <= l.limit {
		seen[2] = e.until(e.used+cost(c)-l.limit, now, l.window)
	}
	return seen, ok
}

// Commit implements seawall.Rule.
func (l *slidingLog) Commit(s *seawall.State, env seawall.Env, c *seawall.Check) {
	e, _ := s.More.(*entries)
	if e == nil {
		e = &entries{}
		s.More = e
	}
	e.list = append(e.list, entry{env.Now, cost(c), c.ID})
	e.used += cost(c)
}

// Refund implements seawall.Refunder: the entry goes.
func (l *slidingLog) Refund(s *seawall.State, _ seawall.Env, c *seawall.Check) {
	e, _ := s.More.(*entries)
	if e == nil {
		return
	}
	for i, old := range e.list {
		if old.id == c.ID {
			e.list = append(e.list[:i], e.list[i+1:]...)
			e.used -= old.cost
			return
		}
	}
}

// Idle implements seawall.Rule.
func (l *slidingLog) Idle(s *seawall.State, now int64) bool {
	e, _ := s.More.(*entries)
	if e == nil {
		return true
	}
	return len(e.list) == 0 || e.list[len(e.list)-1].at <= now-l.window
}

// Result implements seawall.Rule.
func (l *slidingLog) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) seawall.Result {
	used, next, wait, reset := seen[0], seen[1], seen[2], seen[3]
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: l.limit}
	switch {
	case ok:
	case cost(c) > l.limit:
		res.RetryAfter = seawall.Never
	default:
		res.RetryAfter = micros(wait)
	}
	if committed {
		if used == 0 {
			next = l.window / 1000
		}
		used, reset = used+cost(c), l.window/1000
		if used > l.limit { // counted only: it is not known which entries must leave
			next = 0
		}
	}
	res.Remaining = max(0, l.limit-used)
	res.NextAfter, res.ResetAfter = micros(next), micros(reset)
	return res
}

// Limit implements Rule.
func (l *slidingLog) Limit() int64 { return l.limit }

// Window implements Rule.
func (l *slidingLog) Window() time.Duration { return time.Duration(l.window) }

// Script implements seawall.Rule.
func (l *slidingLog) Script() string { return logLua }

// Args implements seawall.Rule.
func (l *slidingLog) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	return append(dst, cost(c), l.limit, l.window/1000, env.Member(c.ID))
}
