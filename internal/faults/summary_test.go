package faults

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// summary says what became of every fault of the catalogue, by the name of each that was not kept, and of the figures of
// the scoreboard, where there is one. It ends with a line of numbers, which add up to the catalogue's.
func summary(all []fault, rows map[int]*row, board []figure) string {
	var b strings.Builder
	var kept, elsewhere, later, failed, absent, unasked int
	say := func(f *fault, what, why string) { fmt.Fprintf(&b, "%s: %d %s%s\n", what, f.number, f.name, why) }
	for i := range all {
		f := &all[i]
		switch r := rows[f.number]; {
		case f.tests != nil:
			elsewhere++
		case f.later != "":
			later++
			say(f, "later", ": needs "+f.later)
		case r == nil || !r.ran:
			unasked++
		case r.absent != "":
			absent++
			say(f, "not run here", ": "+r.absent)
		case r.held:
			kept++
		default:
			failed++
			say(f, "failed", "")
		}
	}
	for _, f := range board {
		if !f.kept {
			fmt.Fprintf(&b, "not kept: %s: %s, promised are %s\n", f.name, f.measured, f.promised)
		}
	}
	fmt.Fprintf(&b, "faults: %d of %d: %d kept, %d tested elsewhere, %d later, %d not run here, %d failed\n",
		len(all)-unasked, len(all), kept, elsewhere, later, absent, failed)
	return b.String()
}

// TestSummaryAddsUp has a fault of each kind.
func TestSummaryAddsUp(t *testing.T) {
	t.Parallel()
	play := func(*testing.T, *row) {}
	all := []fault{
		{number: 1, name: "Held", run: play},
		{number: 2, name: "Broken", run: play},
		{number: 3, name: "Root", run: play},
		{number: 4, name: "Named", tests: []string{"a.TestB"}},
		{number: 5, name: "Missing", later: "a moon"},
		{number: 6, name: "Left out", run: play},
		{number: 7, name: "Held, too", run: play},
	}
	rows := map[int]*row{
		1: {ran: true, held: true}, 2: {ran: true}, 3: {ran: true, held: true, absent: "nobody is root"}, 4: {}, 5: {}, 6: {}, 7: {ran: true, held: true},
	}
	board := []figure{{name: "fine", kept: true}, {name: "heap", promised: "1 MB", measured: "2 MB"}}
	assert.Equal(t, `failed: 2 Broken
not run here: 3 Root: nobody is root
later: 5 Missing: needs a moon
not kept: heap: 2 MB, promised are 1 MB
faults: 6 of 7: 2 kept, 1 tested elsewhere, 1 later, 1 not run here, 1 failed
`, summary(all, rows, board))
	assert.Equal(t, "faults: 0 of 1: 0 kept, 0 tested elsewhere, 0 later, 0 not run here, 0 failed\n", summary(all[:1], nil, nil))
}
