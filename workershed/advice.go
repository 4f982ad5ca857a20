package workershed

import (
	"cmp"
	"slices"
	"time"
)

// span and spans are how long a stretch of observation is, and how many are kept.
const (
	span  = 15 * time.Second
	spans = 40
)

// stretch is what was seen in a span of time.
type stretch struct {
	lasted time.Duration
	time   float64 // request-seconds in flight
	ends   float64
}

// advice suggests a number of workers: the most requests a second that were ever seen to end, times how long a request takes
// when it is calm. By Little's law that many in flight carry the throughput without waiting. It looks back ten minutes.
type advice struct {
	seen []stretch
	now  stretch
	last int64
	n    float64

	broken bool // the last step taught nothing
}

// step says what is in flight and that begun requests have begun in the last dt, and returns the suggestion: 0 until enough was
// seen. Where log-only mode lets through what it would refuse, nothing can be learned of the time that requests take.
func (a *advice) step(seen census, begun float64, dt time.Duration) float64 {
	if dt <= 0 {
		return a.n
	}
	inFlight := seen.kept
	if seen.spared+seen.phantoms > 0 {
		a.now, a.broken = stretch{}, true
		return a.n
	}
	if a.broken {
		a.last, a.broken = inFlight, false
		return a.n
	}
	a.now.lasted += dt
	a.now.time += mean(a.last, inFlight) * dt.Seconds()
	a.now.ends += begun - float64(inFlight-a.last)
	a.last = inFlight
	if a.now.lasted >= span {
		if len(a.seen) == spans {
			a.seen = slices.Delete(a.seen, 0, 1)
		}
		a.seen = append(a.seen, a.now)
		a.now = stretch{}
		a.n = a.suggest()
	}
	return a.n
}

// fewEnds is how many requests must have ended for their latency to mean something.
const fewEnds = 100

func (a *advice) suggest() float64 {
	calm := slices.Clone(a.seen)
	slices.SortFunc(calm, func(x, y stretch) int {
		return cmp.Compare(x.time/x.lasted.Seconds(), y.time/y.lasted.Seconds())
	})
	peak, time, ends := 0.0, 0.0, 0.0
	for i, s := range calm {
		peak = max(peak, s.ends/s.lasted.Seconds())
		if i <= len(calm)/2 || ends < fewEnds {
			time += s.time
			ends += s.ends
		}
	}
	if ends < fewEnds {
		return 0
	}
	return peak * time / ends
}

func mean(a, b int64) float64 { return float64(a+b) / 2 }
