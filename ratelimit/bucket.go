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

var (
	_ Rule            = (*bucket)(nil)
	_ seawall.Stepper = (*bucket)(nil)
)

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
func (b *bucket) debt(word, now int64) int64 {
	if word <= now {
		return 0
	}
	return min(word-now, b.full)
}

// Kind implements seawall.Rule.
func (b *bucket) Kind() string { return "bucket" }

// Step implements seawall.Stepper. A refusal keeps the debt as it was cut, or the caller would owe it as long as the uncut
// one lasts. What is only counted may exceed the burst, and owes no more than that.
func (b *bucket) Step(word, now int64, c *seawall.Check) (unspent, spent int64, ok bool) {
	d, need := b.debt(word, now), b.need(c.Cost)
	ok = d <= b.full-need
	if !ok && d == b.full {
		word = now + d
	}
	return word, now + min(d+need, b.full), ok
}

// Tell implements seawall.Stepper.
func (b *bucket) Tell(res *seawall.Result, word, now int64, ok bool, c *seawall.Check) {
	b.tell(res, b.debt(word, now), ok, ok, c)
}

// Check implements seawall.Rule; it observes the debt, in limbs.
func (b *bucket) Check(s *seawall.State, env seawall.Env, c *seawall.Check) (seen seawall.Observation, ok bool) {
	seen[1] = b.debt(s.Word, env.Now)
	s.Word, _, ok = b.Step(s.Word, env.Now, c)
	return seen, ok
}

// Commit implements seawall.Rule.
func (b *bucket) Commit(s *seawall.State, env seawall.Env, c *seawall.Check) {
	_, s.Word, _ = b.Step(s.Word, env.Now, c)
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
func (b *bucket) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) (res seawall.Result) {
	b.tell(&res, seen[0]*limb+seen[1], ok, committed, c)
	return res
}

func (b *bucket) tell(res *seawall.Result, debt int64, ok, committed bool, c *seawall.Check) {
	need := b.need(c.Cost)
	res.Admitted, res.Committed, res.Limit = ok, committed, b.burst
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
	left := (b.full - debt) / b.interval
	res.Remaining = left
	if left < b.burst {
		res.NextAfter = micros(upToMicros(debt + (left+1)*b.interval - b.full))
	}
	res.ResetAfter = micros(upToMicros(debt))
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
	return append(dst, need, b.full, (b.full+999_999)/1_000_000+2)
}
