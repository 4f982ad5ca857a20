package ratelimit

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed bucket.lua
var bucketLua string

// maxBurst is the largest bucket.
const maxBurst = 1_000_000_000

// Bucket is the token bucket rule. Its arithmetic, in whole nanoseconds, is explained in the package
// documentation.
type Bucket struct {
	burst    int64
	interval int64 // one token
	full     int64 // burst tokens
}

var _ seawall.Refunder = (*Bucket)(nil)

// NewBucket returns a bucket of burst tokens, 1 to 1,000,000,000, that refills at the given rate. An empty
// one must be full again within 100 years.
func NewBucket(rate Rate, burst int64) (*Bucket, error) {
	if err := rate.validate(); err != nil {
		return nil, err
	}
	if burst < 1 || burst > maxBurst {
		return nil, fmt.Errorf("burst is %d; want 1 to %d", burst, int64(maxBurst))
	}
	interval := rate.interval()
	if burst > int64(longest)/interval {
		return nil, fmt.Errorf("burst of %d at %v takes more than 100 years to refill; want a smaller burst or a higher rate", burst, rate)
	}
	return &Bucket{burst: burst, interval: interval, full: burst * interval}, nil
}

// scaled returns the bucket of a limit that is factor times as high, within the ranges of rates and bursts.
func scaled(rate Rate, burst int64, factor float64) *Bucket {
	interval := rate.scaled(factor).interval()
	burst = int64(min(max(1, float64(burst)*factor), maxBurst))
	burst = min(burst, int64(longest)/interval)
	return &Bucket{burst: burst, interval: interval, full: burst * interval}
}

// Burst returns the most tokens that the bucket holds.
func (b *Bucket) Burst() int64 { return b.burst }

// Window returns how long an empty bucket takes to fill.
func (b *Bucket) Window() time.Duration { return time.Duration(b.full) }

// need is the time that cost tokens take; more than fits if the cost can never fit.
func (b *Bucket) need(cost int64) int64 {
	if cost > b.burst {
		return b.full + 1
	}
	return max(1, cost) * b.interval
}

// debt is how far the bucket is from full, in time.
func (b *Bucket) debt(s *seawall.State, now int64) int64 {
	if s.Word <= now {
		return 0
	}
	return min(s.Word-now, b.full)
}

// Kind implements seawall.Rule.
func (b *Bucket) Kind() string { return "bucket" }

// Check implements seawall.Rule; it observes the debt, in limbs. A refusal keeps the debt as it was cut, or the caller
// would owe it as long as the uncut one lasts.
func (b *Bucket) Check(s *seawall.State, env seawall.Env, c *seawall.Check) (seawall.Observation, bool) {
	d := b.debt(s, env.Now)
	ok := d <= b.full-b.need(c.Cost)
	if !ok && d == b.full {
		s.Word = env.Now + d
	}
	return seawall.Observation{0, d}, ok
}

// Commit implements seawall.Rule.
func (b *Bucket) Commit(s *seawall.State, env seawall.Env, c *seawall.Check) {
	s.Word = env.Now + b.debt(s, env.Now) + b.need(c.Cost)
}

// Refund implements seawall.Refunder. What has refilled since is not given back: it would come on top.
func (b *Bucket) Refund(s *seawall.State, env seawall.Env, c *seawall.Check) {
	if back := b.owed(c); s.Word > env.Now+back {
		s.Word -= back
	} else {
		s.Word = min(s.Word, env.Now)
	}
}

// owed is what a refund gives back, in time.
func (b *Bucket) owed(c *seawall.Check) int64 {
	return max(0, min(b.need(c.Cost), b.full)-max(0, int64(c.Age)))
}

// Idle implements seawall.Rule.
func (b *Bucket) Idle(s *seawall.State, now int64) bool { return s.Word <= now }

// Result implements seawall.Rule.
func (b *Bucket) Result(seen seawall.Observation, ok, committed bool, _ seawall.Env, c *seawall.Check) seawall.Result {
	debt, need := seen[0]*limb+seen[1], b.need(c.Cost)
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: b.burst}
	switch {
	case ok:
	case need > b.full:
		res.RetryAfter = seawall.Never
	default:
		res.RetryAfter = upToMicro(debt + need - b.full)
	}
	if committed {
		debt = min(debt+need, b.full)
	}
	res.Remaining = (b.full - debt) / b.interval
	if res.Remaining < b.burst {
		res.NextAfter = upToMicro(debt + (res.Remaining+1)*b.interval - b.full)
	}
	res.ResetAfter = upToMicro(debt)
	return res
}

// upToMicro rounds up to whole microseconds, the resolution of Redis' clock: a wait of a fraction would not
// be over when that clock says so.
func upToMicro(ns int64) time.Duration {
	return time.Duration((ns + 999) / 1000 * 1000)
}

// limb splits the integers that a script cannot hold exactly: Lua's numbers are doubles.
const limb = 1_000_000_000_000_000

// Script implements seawall.Rule.
func (b *Bucket) Script() string { return bucketLua }

// Args implements seawall.Rule.
func (b *Bucket) Args(dst []any, _ seawall.Env, c *seawall.Check) []any {
	if c.Op == seawall.Refund {
		back := b.owed(c)
		return append(dst, back/limb, back%limb)
	}
	need := b.need(c.Cost)
	return append(dst, need/limb, need%limb, b.full/limb, b.full%limb, (b.full+999_999)/1_000_000+2)
}
