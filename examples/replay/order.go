package main

import "time"

// request is one of a log, as the rules see it.
type request struct {
	start  int64 // when it began, in nanoseconds since the epoch
	took   int64 // in nanoseconds; negative is unknown
	seq    int64 // its place among all that were read
	caller int32
	route  int32
}

// maxWaiting bounds how many requests wait to be put in order, at 40 bytes each.
const maxWaiting = 1 << 20

// reorder puts requests in the order of their times, as far as none comes later than the window after one that is younger; of
// the same time the first read is the first. It never forgets one: what comes too late goes on at once, and is counted.
type reorder struct {
	window  int64 // nanoseconds
	waiting queue[request, *request]
	newest  int64
	passed  int64 // the time of the last that went on
	late    int64
}

func newReorder(window time.Duration) *reorder { return &reorder{window: int64(window)} }

// push takes a request in.
func (o *reorder) push(r request) {
	if o.passed > 0 && r.start < o.passed {
		o.late++
	}
	o.newest = max(o.newest, r.start)
	o.waiting.push(r)
}

// pop returns the next request, if none can come before it any more; at the end, whatever is left.
func (o *reorder) pop(end bool) (r request, ok bool) {
	if len(o.waiting) == 0 || !end && len(o.waiting) <= maxWaiting && o.waiting[0].start > o.newest-o.window {
		return r, false
	}
	r = o.waiting.pop()
	o.passed = max(o.passed, r.start)
	return r, true
}

func (r *request) before(other *request) bool {
	if r.start != other.start {
		return r.start < other.start
	}
	return r.seq < other.seq
}
