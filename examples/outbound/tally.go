package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// tally is what a worker counts.
type tally struct {
	calls      atomic.Int64 // were answered
	refused    atomic.Int64 // of these, other than with 200
	unanswered atomic.Int64 // may have arrived: paid
	units      atomic.Int64 // were paid for all of these
	notReached atomic.Int64 // certainly did not arrive: refunded
	unknown    atomic.Int64 // the store did not say whether they were paid: not sent
}

// count counts one more that went wrong, and says why if it is the first of its kind.
func (w *worker) count(n *atomic.Int64, err error) {
	if n.Add(1) == 1 {
		w.say("%v", err)
	}
}

// String returns, for example, "7 calls, 205 units; 2 not reached, refunded".
func (t *tally) String() string {
	parts := []string{fmt.Sprintf("%d calls, %d units", t.calls.Load(), t.units.Load())}
	for _, more := range []struct {
		n    *atomic.Int64
		what string
	}{
		{&t.refused, "refused"},
		{&t.unanswered, "unanswered, paid"},
		{&t.notReached, "not reached, refunded"},
		{&t.unknown, "not sent, perhaps paid"},
	} {
		if n := more.n.Load(); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, more.what))
		}
	}
	return strings.Join(parts, "; ")
}

// report says every second how far the worker has got, if it has, until ctx is done.
func (w *worker) report(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := w.String()
		if left := w.left(ctx); now != said && ctx.Err() == nil { // then the last word is not ours
			w.say("%s%s", now, left)
			said = now
		}
	}
}

// left says what is left of the day's units, for all workers.
func (w *worker) left(ctx context.Context) string {
	a, err := w.client.budget.Peek(ctx, &seawall.Request{Key: w.client.account})
	if err != nil {
		return ""
	}
	day, _ := a.Of(dayPolicy)
	return fmt.Sprintf("; %d left today", day.Remaining)
}
