package proof

import (
	"time"
)

// bound is the least and the most that a run may have admitted.
type bound func(run) (least, most float64)

// bucketBound: at most the burst and what came in all the time. At least 99 % of the burst, all of which our
// first probe found or left to others, and of what came from then on until we were refused for the last time.
func bucketBound(r run) (least, most float64) {
	first, last := r.probes[0], r.probes[len(r.probes)-1]
	return 0.99 * (loadBurst + loadRate*(last.from-first.to).Seconds()), loadBurst + loadRate*(r.end-r.begin).Seconds()
}

// logBound: any time is covered by as many windows as fit into it, and one more. Wherever we were refused, the
// window that ended there was full; those that do not overlap add up.
func logBound(r run) (least, most float64) {
	full, free := 0, time.Duration(0)
	for _, p := range r.probes {
		if !p.admitted && p.from-logWindow >= free {
			full++
			free = p.to
		}
	}
	return float64(loadLimit * full), float64(loadLimit * ((r.end-r.begin)/logWindow + 1))
}

// windowBound: each window that the run touches may be full, and each one in which we were refused was.
func windowBound(r run) (least, most float64) {
	full := map[time.Duration]bool{}
	for _, p := range r.probes {
		if second := p.from.Truncate(time.Second); !p.admitted && p.to.Truncate(time.Second) == second {
			full[second] = true
		}
	}
	touched := (r.end.Truncate(time.Second)-r.begin.Truncate(time.Second))/time.Second + 1
	return float64(loadLimit * len(full)), float64(loadLimit * touched)
}

// counterBound: by its own estimate, a window that was full lets the next one fill as time goes by. So at most
// there was one full window, and as much as of later ones has gone by; and at least, in each window, what had
// gone by when we were last refused in it, all of it in the first one. One request may be short of fitting.
func counterBound(r run) (least, most float64) {
	first := r.begin.Truncate(time.Second)
	by := map[time.Duration]float64{}
	for _, p := range r.probes {
		second := p.from.Truncate(time.Second)
		switch {
		case p.admitted || p.to.Truncate(time.Second) != second:
		case second == first:
			by[second] = loadLimit
		default:
			by[second] = max(0, loadLimit*((p.from-second).Seconds()-1e-6)-1)
		}
	}
	for _, b := range by {
		least += b
	}
	return least, loadLimit * (1 + max(0, (r.end-first-time.Second).Seconds()))
}
