package main

import "time"

// start is when the traffic begins: at the edge of a minute, and so of a fixed window of one.
var start = time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC)

// phase is requests that come evenly, from a time after start on.
type phase struct {
	from  time.Duration
	n     int
	every time.Duration
}

func (p phase) end() time.Duration { return p.from + time.Duration(p.n)*p.every }

// The traffic of the figures. Between these it is silent.
var (
	trickle  = phase{from: 0, n: 30, every: 2 * time.Second}                            // half the limit
	burst    = phase{from: 85 * time.Second, n: 100, every: 100 * time.Millisecond}     // within a minute
	straddle = phase{from: edge - 6*time.Second, n: 120, every: 100 * time.Millisecond} // around a minute's edge
	flood    = phase{from: 210 * time.Second, n: 300, every: 500 * time.Millisecond}    // twice the limit, for 2 min 30 s
)

const (
	edge   = 180 * time.Second // the minute's edge that the second burst straddles
	length = 360 * time.Second // of the traffic
	window = 60 * time.Second  // of all limits
)

// arrivals returns when the requests come, after start. Each is half a step late, so none comes at an edge.
func arrivals() []time.Duration {
	var all []time.Duration
	for _, p := range []phase{trickle, burst, straddle, flood} {
		for i := range p.n {
			all = append(all, p.from+p.every/2+time.Duration(i)*p.every)
		}
	}
	return all
}
