package proof

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/model"
)

// world is what a trace happens in: one clock, the model, and the stores that should answer as it does.
type world struct {
	now      int64
	model    model.Store
	subjects []subject
	accounts []*account
	lastID   uint64
	history  []string
}

const dateTime = "2006-01-02 15:04:05.000000"

// set moves all clocks.
func (w *world) set(now int64) {
	w.now = now
	for _, s := range w.subjects {
		s.set(now)
	}
}

func (w *world) note(format string, args ...any) {
	at := time.UnixMicro(w.now).UTC().Format(dateTime)
	w.history = append(w.history, at+": "+fmt.Sprintf(format, args...))
}

// ask has all stores and the model decide a request, and compares their answers. It numbers the checks.
func (w *world) ask(t rapid.TB, checks []check) []seawall.Result {
	t.Helper()
	w.number(checks)
	var want []seawall.Result
	for _, s := range w.subjects {
		got := s.apply(t, asReal(checks))
		if want == nil {
			want = w.model.Apply(w.now, asExplained(checks), got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s\n%s: check %d is told\n  %s\nwant\n  %s", strings.Join(w.history, "\n"), s.name, i+1, told(got[i]), told(want[i]))
			}
		}
	}
	w.learn(checks, want)
	return want
}

// tell has the first store alone decide a request.
func (w *world) tell(t rapid.TB, checks []check) []seawall.Result {
	t.Helper()
	w.number(checks)
	got := w.subjects[0].apply(t, asReal(checks))
	w.learn(checks, got)
	return got
}

func (w *world) number(checks []check) {
	var texts []string
	for i := range checks {
		if checks[i].id == 0 {
			w.lastID++
			checks[i].id = w.lastID
		}
		texts = append(texts, checks[i].String())
	}
	w.note("%s", strings.Join(texts, " & "))
}

// learn remembers what checks were told.
func (w *world) learn(checks []check, results []seawall.Result) {
	for i, c := range checks {
		w.note("  %s", told(results[i]))
		if c.op > seawall.Peek {
			continue
		}
		c.account.last = results[i]
		if results[i].Committed {
			c.account.spent = append(c.account.spent, spent{c, w.now})
		}
	}
}

// told is a result in short.
func told(r seawall.Result) string {
	return fmt.Sprintf("admitted %v, committed %v, %d of %d, retry %v, next %v, reset %v", r.Admitted, r.Committed,
		r.Remaining, r.Limit, r.RetryAfter, r.NextAfter, r.ResetAfter)
}
