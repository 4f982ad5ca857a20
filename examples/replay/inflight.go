package main

import "github.com/seawall-go/seawall"

// inFlight counts what each caller has in flight at the same time: a request is, from its start until it has taken what it took.
// One that takes no time never is. It is told of requests in the order of their times.
type inFlight struct {
	now   int64
	ends  queue[end, *end]
	held  []int32 // by caller, now
	peaks []int32 // by caller, at most
	all   int64   // now
	peak  int64   // of all, at most
	known int64   // requests whose duration is known
}

// end is when a request is over, and what it gives back then.
type end struct {
	at     int64
	caller int32
	leases []seawall.Lease
}

func (e *end) before(other *end) bool { return e.at < other.at }

// add takes in a request.
func (f *inFlight) add(r *request) {
	if r.took < 0 {
		return
	}
	f.known++
	f.now = max(f.now, r.start)
	for len(f.ends) > 0 && f.ends[0].at <= f.now {
		f.held[f.ends.pop().caller]--
		f.all--
	}
	if r.took == 0 {
		return
	}
	f.held, f.peaks = reach(f.held, r.caller), reach(f.peaks, r.caller)
	f.held[r.caller]++
	f.all++
	f.peaks[r.caller] = max(f.peaks[r.caller], f.held[r.caller])
	f.peak = max(f.peak, f.all)
	f.ends.push(end{at: f.now + r.took, caller: r.caller})
}

// reach returns the slice, at least so long that it has an element i.
func reach[E any](s []E, i int32) []E {
	if int(i) < len(s) {
		return s
	}
	return append(s, make([]E, int(i)+1-len(s))...)
}
