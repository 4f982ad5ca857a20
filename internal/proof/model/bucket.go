package model

import (
	"math/big"
	"time"
)

// Bucket is the token bucket: it holds at most Burst tokens and gains Count of them per Per, one by one, as
// they say, but continuously in truth. The time that one takes is rounded up to a whole nanosecond once, and
// what then follows is exact.
type Bucket struct {
	Count int64
	Per   time.Duration
	Burst int64
}

// missing is a bucket's past: so many tokens, a fraction among them, were missing at a time, and came back one
// per interval from then on.
type missing struct {
	tokens   *big.Rat
	at       int64
	interval *big.Rat // µs
}

func (b Bucket) interval() *big.Rat {
	ns := ceil(big.NewRat(int64(b.Per), b.Count))
	return new(big.Rat).SetFrac(ns, big.NewInt(1000))
}

// missing is what is missing now, as if the bucket had no bottom. Before the clock stepped back it was full
// again at some time, and that is when it will be: so more is missing now. If the limit has changed, what is
// kept is the time it takes to come back, and other tokens come in that time.
func (b Bucket) missing(p Past, now int64) *big.Rat {
	m, ok := p.(missing)
	if !ok {
		return new(big.Rat)
	}
	wait := new(big.Rat).Mul(m.tokens, m.interval)
	wait.Sub(wait, whole(now-m.at))
	if wait.Sign() < 0 {
		wait.SetInt64(0)
	}
	return wait.Quo(wait, b.interval())
}

// cut is what is missing now of what there can be.
func (b Bucket) cut(p Past, now int64) *big.Rat {
	tokens := b.missing(p, now)
	if burst := whole(b.Burst); less(burst, tokens) {
		return burst
	}
	return tokens
}

// Kind implements Rule.
func (Bucket) Kind() string { return "bucket" }

// Limit implements Rule.
func (b Bucket) Limit() int64 { return b.Burst }

// Left implements Rule.
func (b Bucket) Left(p Past, now int64) *big.Rat {
	return new(big.Rat).Sub(whole(b.Burst), b.cut(p, now))
}

// New implements Rule.
func (b Bucket) New(p Past, now int64) bool { return b.missing(p, now).Sign() == 0 }

// Asked implements Rule. Who is refused by an empty bucket was told when it will have tokens, so what was cut
// stays cut.
func (b Bucket) Asked(p Past, now int64, fits bool) Past {
	if fits || less(b.missing(p, now), whole(b.Burst)) {
		return p
	}
	return missing{whole(b.Burst), now, b.interval()}
}

// Spend implements Rule. More than all cannot be missing, also if it was only counted.
func (b Bucket) Spend(p Past, now, cost int64, _ uint64) Past {
	tokens := new(big.Rat).Add(b.cut(p, now), whole(cost))
	if burst := whole(b.Burst); less(burst, tokens) {
		tokens = burst
	}
	return missing{tokens, now, b.interval()}
}

// Refund implements Rule. A full bucket gains nothing, so without the spend nothing might have come in all the
// time since: all that could have come since counts as come back already.
func (b Bucket) Refund(p Past, now, cost int64, _ uint64, at *big.Rat) Past {
	back := whole(min(cost, b.Burst))
	if since := new(big.Rat).Sub(whole(now), at); since.Sign() > 0 {
		back.Sub(back, since.Quo(since, b.interval()))
	}
	if back.Sign() <= 0 {
		return p
	}
	tokens := b.missing(p, now)
	if tokens.Sub(tokens, back); tokens.Sign() <= 0 {
		return nil
	}
	return missing{tokens, now, b.interval()}
}
