package redisstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

const (
	// A call may be under way for longer than its caller waits, as long again within these bounds, before a script
	// takes it for late: on busy machines a call is held up now and then, and its request was served. Not so if a
	// limit fails closed: then it was refused.
	leastLateness, mostLateness = 50 * time.Millisecond, 100 * time.Millisecond
	// longWait is the deadline of a call whose caller does not say how long it waits, longestWait of one who says
	// that it waits for ever; no socket does.
	longWait, longestWait = time.Second, time.Minute
	// refresh is how old a good sample may get before any other replaces it: clocks drift.
	refresh = 10 * time.Second
)

// steady returns this instance's clock: no setting of the system's clock changes it.
func steady() func() time.Time {
	base := time.Now()
	return func() time.Time { return base.Add(time.Since(base)) }
}

// clock knows how far Redis' clock is ahead of this instance's, from scripts and heartbeats that told the time. The
// zero clock knows nothing. It is safe for concurrent use.
type clock struct {
	sample atomic.Pointer[sample]
}

// sample is an offset in nanoseconds that is off by margin at most, since Redis told its time at some moment between
// question and answer.
type sample struct {
	offset, margin int64
	taken          time.Time
}

// learn takes in that Redis' clock was at, in nanoseconds, at some moment between sent and received. The sample with
// the least margin wins, unless it is old, or the two contradict each other: then a clock was set.
func (c *clock) learn(sent, received time.Time, at int64) {
	half := received.Sub(sent) / 2
	now := &sample{offset: at - sent.Add(half).UnixNano(), margin: int64(half) + 1000, taken: received}
	for {
		known := c.sample.Load()
		if known != nil && now.margin > known.margin && received.Sub(known.taken) < refresh && agree(known, now) {
			return
		}
		if c.sample.CompareAndSwap(known, now) {
			return
		}
	}
}

// agree tells whether both can be true.
func agree(a, b *sample) bool {
	d := a.offset - b.offset
	return max(d, -d) <= a.margin+b.margin
}

// known tells whether anything has been learnt.
func (c *clock) known() bool { return c.sample.Load() != nil }

// at is what Redis' clock says at a moment of this instance's, in nanoseconds, as far as is known.
func (c *clock) at(now time.Time) int64 {
	if known := c.sample.Load(); known != nil {
		return now.UnixNano() + known.offset
	}
	return now.UnixNano()
}

// deadline is until when a call that is sent at a moment may run, in microseconds of Redis' clock; what is not known of
// that is added. While nothing is known it is 0: every call is late then, and tells the time.
func (c *clock) deadline(sent time.Time, within time.Duration) int64 {
	known := c.sample.Load()
	if known == nil {
		return 0
	}
	return (sent.UnixNano() + known.offset + known.margin + int64(within)) / 1000
}

// grace is how long after it was sent a call may run.
func grace(ctx context.Context, checks []seawall.Check) time.Duration {
	wait, ok := seawall.WaitOf(ctx)
	if !ok {
		deadline, bounded := ctx.Deadline()
		if !bounded {
			return longWait
		}
		wait = max(0, time.Until(deadline))
	}
	wait = min(wait, longestWait)
	for i := range checks {
		if checks[i].FailsClosed() {
			return wait
		}
	}
	return wait + min(max(wait, leastLateness), mostLateness)
}
