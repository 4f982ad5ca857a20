package concurrency

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seawall-go/seawall"
)

// patience is how many times in a row the store may not answer in time before one who waits gives up.
const patience = 3

// wait asks until there is a slot, in the order of the line.
func (l *Limiter) wait(ctx context.Context, line seawall.Key, checks []seawall.Check) (Lease, error) {
	began := time.Now()
	place, ok := l.lines.Join(line, l.waiting)
	if !ok { // as many wait already; those may only just have come
		a := l.ask(ctx, line, checks)
		return a.lease, a.err
	}
	defer l.lines.Leave(place)
	select {
	case <-place.Turn():
	case <-ctx.Done():
		return Lease{}, fmt.Errorf("concurrency: waiting in line: %w", ctx.Err())
	}
	waiter := max(1, rand.Uint64()) //nolint:gosec // no secret
	var first time.Time             // since when it is the first at the store; zero: it is not
	late := 0
	for {
		for i := range checks {
			checks[i].Rule = checks[i].Rule.(*queue).Queue(waiter, time.Since(began))
		}
		a := l.ask(ctx, line, checks)
		if a.err == nil {
			return a.lease, nil
		}
		if late++; !a.late {
			late = 0
		} else if late < patience && ctx.Err() == nil {
			continue
		}
		pause := max(laterSoon, time.Since(began)/laterShare)
		if a.again > firstSoon {
			first = time.Time{}
		} else {
			if first.IsZero() {
				first = time.Now()
			}
			pause = max(firstSoon, time.Since(first)/firstShare)
		}
		if !a.hopeless && !wait(ctx, place, min(pause, latest)) {
			a.err, a.hopeless = fmt.Errorf("concurrency: waiting for a slot: %w", ctx.Err()), true
		}
		if a.hopeless {
			l.leave(checks)
			return Lease{}, a.err
		}
	}
}

// wait waits for about so long, or until it is worth asking at once, and tells whether ctx still was not done then.
func wait(ctx context.Context, place *seawall.Place, d time.Duration) bool {
	timer := time.NewTimer(d - d/4 + rand.N(d/2)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-place.Nudged():
	case <-ctx.Done():
		return false
	}
	return true
}

// leave leaves the line at the store. If that fails, it forgets the place after a moment.
func (l *Limiter) leave(checks []seawall.Check) {
	ctx, cancel := context.WithTimeout(context.Background(), seawall.DefaultWaitClosed)
	defer cancel()
	for i := range checks {
		checks[i].Op, checks[i].ID = seawall.Refund, 0
	}
	_, _ = l.store.Apply(ctx, nil, checks)
}
