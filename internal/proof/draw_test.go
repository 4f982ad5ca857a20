package proof

import (
	"math/bits"
	"time"

	"pgregory.net/rapid"
)

// upTo draws 1 to most, each order of magnitude as likely as another, and the ends more often.
func upTo(t *rapid.T, label string, most int64) int64 {
	e := rapid.IntRange(0, bits.Len64(uint64(most))+1).Draw(t, label+" bits")
	if e > bits.Len64(uint64(most)) {
		return most
	}
	low := int64(1) << max(0, e-1)
	return rapid.Int64Range(low, max(low, min(most, 2*low-1))).Draw(t, label)
}

// odds draws true one time in n.
func odds(t *rapid.T, label string, n int) bool { return rapid.IntRange(1, n).Draw(t, label) == n }

// oneOf draws one of a list's.
func oneOf[T any](t *rapid.T, label string, list ...T) T {
	return list[rapid.IntRange(0, len(list)-1).Draw(t, label)]
}

// between draws a duration of whole units.
func between(t *rapid.T, label string, unit, most time.Duration) time.Duration {
	return unit * time.Duration(upTo(t, label, int64(most/unit)))
}
