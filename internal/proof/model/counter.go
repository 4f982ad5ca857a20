package model

import (
	"math/big"
	"time"
)

// Counter is the sliding counter. Time is cut into windows, one of which began at the Unix epoch. What counts
// is what was spent in the present one, and of what was spent in the one before the share of it that the last
// Window still covers; as if it had been spent evenly. The share falls in a million steps.
type Counter struct {
	Max    int64
	Window time.Duration
}

const steps = 1_000_000

// sums is a counter's past: what was spent in the window that began at a time, and in the one before it.
type sums struct {
	began         int64
	before, since int64
}

// now returns the sums as of now. What a later window holds, from before the clock stepped back, the present
// one holds, and with it comes what was spent before. Where the length of windows has changed, what was spent
// in a window was spent when it began.
func (c Counter) now(p Past, now int64) sums {
	length := c.Window.Microseconds()
	over := new(big.Int).Mod(big.NewInt(now), big.NewInt(length)).Int64()
	present := sums{began: now - over}
	switch kept, ok := p.(sums); {
	case !ok:
	case kept.began >= present.began:
		present.before, present.since = kept.before, kept.since
	case kept.began >= present.began-length:
		present.before = kept.since
	}
	return present
}

// share is how much of the window before the last Window still covers.
func (c Counter) share(over int64) *big.Rat {
	step := new(big.Rat).Quo(micros(c.Window), whole(steps))
	gone := floor(new(big.Rat).Quo(whole(over), step))
	return new(big.Rat).Sub(whole(1), new(big.Rat).SetFrac(gone, big.NewInt(steps)))
}

// Kind implements Rule.
func (Counter) Kind() string { return "counter" }

// Limit implements Rule.
func (c Counter) Limit() int64 { return c.Max }

// Left implements Rule.
func (c Counter) Left(p Past, now int64) *big.Rat {
	s := c.now(p, now)
	left := whole(c.Max - s.since)
	return left.Sub(left, new(big.Rat).Mul(whole(s.before), c.share(now-s.began)))
}

// New implements Rule.
func (c Counter) New(p Past, now int64) bool {
	s := c.now(p, now)
	return s.before == 0 && s.since == 0
}

// Asked implements Rule: who is refused for what a later window holds does not also owe it when that comes.
func (c Counter) Asked(p Past, now int64, fits bool) Past {
	s := c.now(p, now)
	if kept, ok := p.(sums); !fits && ok && kept.began > s.began {
		return s
	}
	return p
}

// Spend implements Rule.
func (c Counter) Spend(p Past, now, cost int64, _ uint64) Past {
	s := c.now(p, now)
	s.since = min(s.since+cost, most)
	return s
}

// Refund implements Rule. It takes the cost from the window that it was spent in; what is older than the one
// before weighs nothing.
func (c Counter) Refund(p Past, now, cost int64, _ uint64, at *big.Rat) Past {
	if p == nil {
		return nil
	}
	s := c.now(p, now)
	switch {
	case !less(at, whole(s.began)):
		s.since = max(0, s.since-cost)
	case !less(at, whole(s.began-c.Window.Microseconds())):
		s.before = max(0, s.before-cost)
	}
	return s
}
