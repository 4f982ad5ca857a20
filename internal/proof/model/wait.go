package model

import (
	"fmt"
	"time"
)

// horizon is beyond any wait: that for a bucket of 100 years, counted twice.
const horizon = int64(250 * 366 * 24 * time.Hour / time.Microsecond)

// first returns the first whole microsecond d > 0 from now on for which is(d), which stays so once it is. It
// looks near a guess before it searches: the guess changes how long that takes, not what it finds.
func first(guess time.Duration, is func(d int64) bool) time.Duration {
	if g := guess.Microseconds(); g > 0 && g < horizon && is(g) && (g == 1 || !is(g-1)) {
		return time.Duration(g) * time.Microsecond
	}
	before, then := int64(0), int64(1)
	for !is(then) {
		if before, then = then, 2*then; before > horizon {
			panic(fmt.Sprintf("model: not even in %v µs", before))
		}
	}
	for then-before > 1 {
		if middle := (before + then) / 2; is(middle) {
			then = middle
		} else {
			before = middle
		}
	}
	return time.Duration(then) * time.Microsecond
}
