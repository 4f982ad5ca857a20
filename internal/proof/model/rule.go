package model

import (
	"math/big"
	"time"
)

// Rule is one limit, explained. Times are microseconds since the Unix epoch, the resolution of Redis' clock.
type Rule interface {
	// Kind names the algorithm.
	Kind() string
	// Limit is the most that fits.
	Limit() int64
	// Left is how much fits at a time if nothing more happens until then; less than nothing after a limit was
	// lowered. From a settled past on (see Asked) it never falls.
	Left(p Past, now int64) *big.Rat
	// New tells whether the caller is then like one never seen.
	New(p Past, now int64) bool
	// Asked returns the past once somebody asked now, and it fitted or not: what a clock that stepped back made
	// of it may from now on be so for good.
	Asked(p Past, now int64, fits bool) Past
	// Spend returns the past with a cost spent now.
	Spend(p Past, now, cost int64, id uint64) Past
	// Refund returns the past without a cost that was spent at a time. It gives back what has not come back by
	// itself since.
	Refund(p Past, now, cost int64, id uint64, at *big.Rat) Past
}

// Past is what happened to one caller, as far as rules of one kind want to know. It is a value: nothing
// changes it. Nil is a caller never seen.
type Past any

// most is the highest limit, and what no count goes beyond: what only counts may cost more than any limit.
const most = 1_000_000_000

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func less(a, b *big.Rat) bool { return a.Cmp(b) < 0 }

// floor is the greatest whole number that is not more.
func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

// ceil is the least whole number that is not less.
func ceil(r *big.Rat) *big.Int {
	f := floor(new(big.Rat).Neg(r))
	return f.Neg(f)
}

// micros is a duration in microseconds.
func micros(d time.Duration) *big.Rat { return thousandths(int64(d)) }

// thousandths are nanoseconds in microseconds, a fraction among them.
func thousandths(ns int64) *big.Rat { return big.NewRat(ns, 1000) }
