package faults

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// long tells whether all faults run, with time and quiet to measure.
func long() bool { return os.Getenv("SEAWALL_FAULTS") == "long" }

// fault is an entry of the catalogue.
type fault struct {
	number             int
	name               string
	injection, promise string
	short              bool                       // part of every test run
	run                func(t *testing.T, r *row) // or one of:
	tests              []string                   // that hold Seawall to the promise elsewhere, as folder.Test
	later              string                     // what is missing to play it with
}

// row is what became of a fault: a row of the document.
type row struct {
	ran, held bool
	absent    string // why this machine cannot play it; then it is neither held nor not

	mu       sync.Mutex
	measured []string
	outages  []*outcome
	// For the scoreboard.
	beyond, left int // logins beyond the limit, leases left behind
	goroutines   int // more than before
	fleetRatio   float64
	denied       time.Duration
}

// note adds a measured figure.
func (r *row) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.measured = append(r.measured, fmt.Sprintf(format, args...))
}

// notHere ends a fault that this machine cannot play. It counts neither as kept nor as failed.
func (r *row) notHere(t *testing.T, why error) {
	t.Helper()
	r.absent = why.Error()
	t.Skipf("not run here: %v", why)
}

// within notes a measured time. A long run holds it to its limit; a short
// one, on a machine that may do other things too, only to what is long in any case.
func (r *row) within(t *testing.T, what string, got, limit time.Duration) {
	t.Helper()
	r.note("%s %s", what, text(got))
	if got > limit && (long() || got >= soon) {
		t.Errorf("%s %v; promised are %v", what, got, limit)
	}
}

// text is a duration with two digits.
func text(d time.Duration) string {
	switch a := d.Abs(); {
	case a >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case a >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case a >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// TestFaults runs the catalogue: all of it one after the other, or the short part together.
func TestFaults(t *testing.T) {
	rows := map[int]*row{}
	for _, f := range catalogue() {
		r := &row{}
		rows[f.number] = r
		if f.run == nil {
			continue
		}
		before := runtime.NumGoroutine()
		t.Run(fmt.Sprintf("%02d %s", f.number, f.name), func(t *testing.T) {
			if !long() {
				if !f.short {
					t.Skip("it takes long; set SEAWALL_FAULTS=long to run it")
				}
				t.Parallel()
			}
			t.Cleanup(func() {
				r.held = !t.Failed()
				t.Log(strings.Join(r.measured, "\n"))
			})
			r.ran = true
			f.run(t, r)
		})
		if long() {
			until(func() bool { return runtime.NumGoroutine() <= before })
			r.goroutines = runtime.NumGoroutine() - before
			r.held = assert.LessOrEqual(t, r.goroutines, 0, "goroutines left behind") && r.held
		}
	}
	if !long() {
		return
	}
	for _, f := range catalogue() {
		if f.run != nil && !rows[f.number].ran {
			t.Logf("no scoreboard and no document: fault %d was not run", f.number)
			account = summary(catalogue(), rows, nil)
			return
		}
	}
	board := scoreboard(rows)
	for _, f := range board {
		assert.True(t, f.kept, "%s: %s", f.name, f.measured)
	}
	account = summary(catalogue(), rows, board)
	if path := os.Getenv("SEAWALL_FAULTS_DOC"); path != "" {
		writeDocument(t, path, rows)
	}
}
