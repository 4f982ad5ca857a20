package bench

import (
	"os"
	"time"
)

// pace is how long and how much is measured.
type pace struct {
	rounds  int
	round   time.Duration
	keys    int   // of an ordinary line in process
	many    int   // of the one that shows that more keys cost no more
	callers int   // of the ordinary lines on Redis
	crowd   int   // callers at a time
	active  int   // callers that have state on Redis in the lines of memory and scale
	growing []int // keys of the curves
	frozen  time.Duration
	freezes int
	gone    time.Duration // how long the fleet is without Redis
	served  time.Duration // a run of wrk: whole seconds
	serving int           // runs of wrk in each setting
}

// The short pace is for what a run of a few seconds under the race detector can show: that all is set up as it should be,
// and that the machinery works.
func thePace() pace {
	if !long() {
		return pace{
			rounds: 2, round: 5 * time.Millisecond, keys: 200, many: 2000, callers: 16, crowd: 16, active: 500,
			growing: []int{10, 100, 500}, frozen: 600 * time.Millisecond, freezes: 1, gone: time.Second,
			served: time.Second, serving: 1,
		}
	}
	return pace{
		rounds: 11, round: 150 * time.Millisecond, keys: 10_000, many: 1_000_000, callers: 256, crowd: 256, active: 200_000,
		growing: []int{100, 10_000, 1_000_000}, frozen: 1500 * time.Millisecond, freezes: 5, gone: time.Minute,
		served: 3 * time.Second, serving: 7,
	}
}

// long tells whether there are minutes to measure.
func long() bool { return os.Getenv("SEAWALL_BENCH") == "long" }
