package openloop

import (
	"math"
	"slices"
	"time"
)

// Latencies are those of some calls, from the shortest to the longest.
type Latencies []time.Duration

// All returns the latencies of all calls.
func (r *Record) All() Latencies { return r.Between(0, math.MaxInt64) }

// Between returns the latencies of the calls that were due at from or later, and before to, since the start of
// the load.
func (r *Record) Between(from, to time.Duration) Latencies {
	return r.Where(func(s Sample) bool { return from <= s.Due && s.Due < to })
}

// Where returns the latencies of the calls that the function picks.
func (r *Record) Where(pick func(Sample) bool) Latencies {
	var l Latencies
	for _, s := range r.Samples {
		if pick(s) {
			l = append(l, s.Latency)
		}
	}
	slices.Sort(l)
	return l
}

// P returns the quantile q, from 0 to 1: the shortest latency that at least the share q of the calls did not
// exceed. Without calls it is zero.
func (l Latencies) P(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(l))))
	return l[min(max(rank, 1), len(l))-1]
}

// Max returns the longest latency.
func (l Latencies) Max() time.Duration { return l.P(1) }
