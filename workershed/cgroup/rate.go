package cgroup

import (
	"math"
	"time"
)

// timeConstant is that of the average: what was a second ago weighs 1/e of what is now.
const timeConstant = time.Second

// counter is one reading of a group's counter, and what it is measured against.
type counter struct {
	dir  string  // of the group
	used uint64  // what is counted
	of   uint64  // another counter, if that is what it is measured against
	per  float64 // otherwise by how much it may advance in a second
}

// share is how much of what was possible was used between two readings. It may be above 1.
type share func(before, after counter, dt time.Duration) float64

// rate turns readings of groups' counters into one average: that of the greatest share among the groups.
type rate struct {
	share   share
	at      time.Duration // when before was read
	before  []counter
	average float64
}

// early reports whether a reading now would be no later than the last, so that there is no rate.
func (r *rate) early(now time.Duration) bool { return r.before != nil && now <= r.at }

// update adds a reading and returns the average. A reading that cannot be compared with the last one, because there is
// none, because the groups are others, or because a counter has stepped back, leaves the average as it is.
func (r *rate) update(now time.Duration, after []counter) float64 {
	if follows(r.before, after) {
		dt, greatest := now-r.at, 0.0
		for i := range after {
			greatest = max(greatest, r.share(r.before[i], after[i], dt))
		}
		// 1 - exp(-dt/timeConstant): two steps weigh as much as one of their sum.
		r.average -= math.Expm1(-dt.Seconds()/timeConstant.Seconds()) * (greatest - r.average)
	}
	r.at, r.before = now, after
	return r.average
}

// reset forgets everything: there is nothing to measure.
func (r *rate) reset() { r.at, r.before, r.average = 0, nil, 0 }

// follows reports whether after is a later reading of the same counters.
func follows(before, after []counter) bool {
	if len(before) != len(after) {
		return false
	}
	for i, b := range before {
		if a := after[i]; a.dir != b.dir || a.used < b.used || a.of < b.of {
			return false
		}
	}
	return true
}
