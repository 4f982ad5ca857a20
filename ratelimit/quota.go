package ratelimit

import (
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

// maxLimit is the largest limit and the largest burst.
const maxLimit = 1_000_000_000

// Rule is the arithmetic of a Quota.
type Rule interface {
	seawall.Refunder
	seawall.Sharer
	// Limit is the most that fits at once: a burst, or what fits into a window.
	Limit() int64
	// Window is the time in which a caller may spend the whole limit once: what a bucket takes to fill, a
	// sliding window's length, the length of the present calendar window.
	Window() time.Duration
}

// Quota is how much a caller may spend in which time, by one of four algorithms. Quotas are made by
// [TokenBucket], [SlidingLog], [SlidingCounter] and [FixedWindow]; what is wrong with one is said by what takes
// it. The zero Quota is not valid. Quotas are values and can be compared.
type Quota struct {
	algorithm algorithm
	rate      Rate
	limit     int64 // or burst
	window    time.Duration
	calendar  Calendar
}

type algorithm uint8

const (
	noQuota algorithm = iota
	tokenBucket
	slidingLogs
	slidingCounter
	fixedWindow
)

// TokenBucket allows bursts of up to burst, 1 to 1,000,000,000, and rate in the long run: the choice for an
// API's contract. An empty bucket must be full again within 100 years.
func TokenBucket(rate Rate, burst int64) Quota {
	return Quota{algorithm: tokenBucket, rate: rate, limit: burst}
}

// SlidingLog allows limit, 1 to 1,000,000,000, in any window, whole milliseconds from 1 ms to 366 days. It is
// exact, and remembers every request of the last window, in 24 bytes or more each: the choice where cost is
// weighty and callers, or their requests, are few. A refusal looks through as many of them as must leave, a thousand in
// about a millisecond on Redis, so a limit of more than some ten thousand is for costs that are as large.
func SlidingLog(limit int64, window time.Duration) Quota {
	return Quota{algorithm: slidingLogs, limit: limit, window: window}
}

// SlidingCounter allows limit, 1 to 1,000,000,000, in any window, whole seconds from 1 s to 366 days, as far as
// two counters can tell, which take the previous window's requests for evenly spread: the choice for many
// anonymous callers.
func SlidingCounter(limit int64, window time.Duration) Quota {
	return Quota{algorithm: slidingCounter, limit: limit, window: window}
}

// FixedWindow allows limit, 1 to 1,000,000,000, between two boundaries of a calendar: the choice for a day's
// or a billing month's budget. Up to twice as much fits around a boundary.
func FixedWindow(limit int64, calendar Calendar) Quota {
	return Quota{algorithm: fixedWindow, limit: limit, calendar: calendar}
}

// IsZero tells whether q is the zero Quota.
func (q Quota) IsZero() bool { return q == Quota{} }

// String returns, for example, "token bucket of 20, 10 per 1s".
func (q Quota) String() string {
	switch q.algorithm {
	case tokenBucket:
		return fmt.Sprintf("token bucket of %d, %v", q.limit, q.rate)
	case slidingLogs:
		return fmt.Sprintf("sliding log of %d per %v", q.limit, q.window)
	case slidingCounter:
		return fmt.Sprintf("sliding counter of %d per %v", q.limit, q.window)
	case fixedWindow:
		return fmt.Sprintf("fixed window of %d, %v", q.limit, q.calendar)
	}
	return "no quota"
}

// Rule returns the quota's arithmetic, or an error that names the field, the value and what is wanted.
func (q Quota) Rule() (Rule, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	return q.rule(), nil
}

func (q Quota) validate() error {
	switch {
	case q.algorithm == noQuota:
		return fmt.Errorf("quota is empty; want TokenBucket, SlidingLog, SlidingCounter or FixedWindow")
	case q.algorithm == tokenBucket:
		return q.validateBucket()
	case q.limit < 1 || q.limit > maxLimit:
		return fmt.Errorf("limit is %d; want 1 to %d", q.limit, int64(maxLimit))
	case q.algorithm == fixedWindow:
		return q.calendar.validate()
	case q.window > maxWindow:
		return fmt.Errorf("window is %v; want at most 366 days", q.window)
	case q.algorithm == slidingLogs && (q.window < time.Millisecond || q.window%time.Millisecond != 0):
		return fmt.Errorf("window is %v; want whole milliseconds from 1ms to 366 days", q.window)
	case q.algorithm == slidingCounter && (q.window < time.Second || q.window%time.Second != 0):
		return fmt.Errorf("window is %v; want whole seconds from 1s to 366 days", q.window)
	}
	return nil
}

func (q Quota) validateBucket() error {
	if err := q.rate.validate(); err != nil {
		return err
	}
	if q.limit < 1 || q.limit > maxLimit {
		return fmt.Errorf("burst is %d; want 1 to %d", q.limit, int64(maxLimit))
	}
	if q.limit > int64(longest)/q.rate.interval() {
		return fmt.Errorf("burst of %d at %v takes more than 100 years to refill; want a smaller burst or a higher rate", q.limit, q.rate)
	}
	return nil
}

// rule returns the arithmetic of a valid quota.
func (q Quota) rule() Rule {
	switch q.algorithm {
	case slidingLogs:
		return &slidingLog{limit: q.limit, window: int64(q.window)}
	case slidingCounter:
		return &counter{limit: q.limit, step: int64(q.window / time.Second)}
	case fixedWindow:
		return &window{limit: q.limit, calendar: q.calendar}
	}
	interval := q.rate.interval()
	return &bucket{burst: q.limit, interval: interval, full: q.limit * interval}
}

// scaled returns the quota of a limit that is factor times as high, within the ranges of rates and limits.
func (q Quota) scaled(factor float64) Quota {
	if factor == 1 {
		return q
	}
	q.limit = int64(min(max(1, float64(q.limit)*factor), maxLimit))
	if q.algorithm == tokenBucket {
		q.rate = q.rate.scaled(factor)
		q.limit = min(q.limit, int64(longest)/q.rate.interval())
	}
	return q
}

// cost is what a check costs: at least 1, and where it is more than any limit, just that.
func cost(c *seawall.Check) int64 { return min(max(1, c.Cost), maxLimit+1) }

// upToMicros is a wait in whole microseconds, rounded up: they are the resolution of Redis' clock, and a wait of a
// fraction would not be over when that says so.
func upToMicros(ns int64) int64 { return (ns + 999) / 1000 }

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// seconds is a time in nanoseconds in whole seconds, rounded down.
func seconds(ns int64) int64 { return floorDiv(ns, int64(time.Second)) }
