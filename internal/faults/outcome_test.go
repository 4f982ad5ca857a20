package faults

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// What the usual promise, P, says of times.
const (
	addedBefore    = 8 * time.Millisecond   // until the breaker is open
	addedAfter     = 300 * time.Microsecond // from then on
	addedByNothing = quietPauses            // what a 99th percentile may differ by if nothing is added
	probeEvery     = 750 * time.Millisecond // at most: 0.5 s ± 50 %
	back           = time.Second + probeEvery
	grow           = 8 << 20 // bytes of live heap
	more           = 64      // goroutines
)

const (
	// quietPauses are those of a machine that lets this process run whenever it wants to: by so much more than it
	// asked for does a goroutine sleep, in 99 of 100 cases.
	quietPauses = time.Millisecond
	tries       = 3
)

// The usual promise, P, as the document says it.
const usual = "P"

// pace is a load, and when the fault is there.
type pace struct {
	rate                    int
	healthy, faulty, healed time.Duration
}

func (p pace) total() time.Duration { return p.healthy + p.faulty + p.healed }

func (p pace) calls() int { return int(int64(p.rate) * int64(p.total()) / int64(time.Second)) }

func thePace() pace {
	if long() {
		return pace{500, 3 * time.Second, 4 * time.Second, 3 * time.Second}
	}
	return pace{200, 400 * time.Millisecond, 700 * time.Millisecond, 500 * time.Millisecond}
}

// outcome is what an outage did to a load.
type outcome struct {
	name                   string
	asked, served          int           // logins aside
	healthy, before, after time.Duration // 99th percentiles: ever before; more than that until the breaker opened; and then
	opened                 bool
	changes                int // of breakers
	recovery               time.Duration
	goroutines             int   // more than ever before the fault
	grown                  int64 // bytes of live heap
	pauses                 time.Duration
}

// missed are the usual promise's times and sizes that were not kept.
func (o *outcome) missed(s setup, of outage) (missed []string) {
	check := func(ok bool, what string, got, limit any) {
		if !ok {
			missed = append(missed, fmt.Sprintf("%s %s: %v, promised are %v", o.name, what, got, limit))
		}
	}
	added := cmp.Or(of.added, addedBefore)
	check(o.before <= added, "p99 added until the breaker opened", o.before, added)
	check(o.after <= addedAfter, "p99 added once it was open", o.after, addedAfter)
	check(o.recovery <= back, "recovery", o.recovery, back)
	check(o.goroutines <= more || s.proxied, "further goroutines", o.goroutines, more)
	check(o.grown <= grow, "live heap", o.grown, grow)
	check(o.opened || of.brief, "the breakers opened", o.opened, true)
	return missed
}

// String is what the document says of it.
func (o *outcome) String() string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if o.name != "" {
		say("%s:", o.name)
	}
	say("%d of %d served,", o.served, o.asked)
	say("p99 %+.2f ms", ms(o.before))
	if o.opened {
		say("then %+.2f ms", ms(o.after))
	}
	say("(healthy %.2f ms), back in %s", ms(o.healthy), text(o.recovery))
	return strings.Join(said, " ")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
