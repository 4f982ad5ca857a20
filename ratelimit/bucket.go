package ratelimit

import (
	_ "embed"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed bucket.lua
var bucketLua string

// bucket is the token bucket rule. Its arithmetic, in whole nanoseconds, is explained in the package
// documentation.
type bucket struct {
	burst    int64
	interval int64 // one token
	full     int64 // burst tokens
}

var _ Rule = (*bucket)(nil)

// Limit implements Rule.
func (b *bucket) Limit() int64 { return b.burst }

// Window implements Rule: how long an empty bucket takes to fill.
func (b *bucket) Window() time.Duration { return time.Duration(b.full) }

// need is the time that cost tokens take; more than fits if the cost can never fit.
func (b *bucket) need(cost int64) int64 {
	if cost > b.burst {
		return b.full + 1
	}
	return max(1, cost) * b.interval
}

// debt is how far the bucket is from full, in time.
func (b *bucket) debt(s *seawall.State, now int64) int64 {
	if s.Word <= now {
		return 0
	}
	return min(s.Word-now, b.full)
}

// Kind implements seawall.Rule.
func (b *bucket) Kind() string { return "bucket" }

// Check implements seawall.Rule; it observes the debt, in limbs. A refusal keeps the debt as it was cut, or the caller
// would owe it as long as the uncut one lasts.
func (b *bucket) Check(s *seawall.State, env seawall.Env, c *seawall.Check) (seawall.Observation, bool) {
	d := b.debt(s, env.Now)
	ok := d <= b.full-b.need(c.Cost)
	if !ok && d == b.full {
		s.Word = env.Now + d
	}
	return seawall.Observation{0, d}, ok
}

// Commit implements seawall.Rule.
func (b *bucket) Commit(s *seawall.State, env seawall.Env, c *seawall.Check) {
	s.Word = env.Now + min(b.debt(s, env.Now)+b.need(c.Cost), b.full) // what is only counted may exceed it
}

// Refund implements seawall.Refunder. What has refilled since is not given back: it would come on top.
func (b *bucket) Refund(s *seawall.State, env seawall.Env, c *seawall.Check) {
	back := max(0, min(b.need(c.Cost), b.full)-max(0, env.Now-c.At))
	if s.Word > env.Now+back {
		s.Word -= back
	} else if s.Word > env.Now {
		s.Word = 0
	}
}

// Idle implements seawall.Rule.
func (b *bucket) Idle(s *seawall.State, now int64) bool { return s.Word <= now }

// Result implements seawall.Rule.
func (b *bucket) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) seawall.Result {
	debt, need := seen[0]*limb+seen[1], b.need(c.Cost)
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: b.burst}
	switch {
	case ok:
	case need > b.full:
		res.RetryAfter = seawall.Never
	default:
		res.RetryAfter = micros(upToMicros(debt + need - b.full))
	}
	if committed {
		debt = min(debt+need, b.full)
	}
	res.Remaining = (b.full - debt) / b.interval
	if res.Remaining < b.burst {
		res.NextAfter = micros(upToMicros(debt + (res.Remaining+1)*b.interval - b.full))
	}
	res.ResetAfter = micros(upToMicros(debt))
	return res
}

// limb splits the integers that a script cannot hold exactly: Lua's numbers are doubles.
const limb = 1_000_000_000_000_000

// Script implements seawall.Rule.
func (b *bucket) Script() string { return bucketLua }

// Args implements seawall.Rule.
func (b *bucket) Args(dst []any, _ seawall.Env, c *seawall.Check) []any {
	need := b.need(c.Cost)
	if c.Op == seawall.Refund {
		need = min(need, b.full)
		return append(dst, need/limb, need%limb, c.At/limb, c.At%limb)
	}
	return append(dst, need/limb, need%limb, b.full/limb, b.full%limb, (b.full+999_999)/1_000_000+2)
}
