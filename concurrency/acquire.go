package concurrency

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seawall-go/seawall"
)

const (
	// storeWait bounds how long Acquire waits for one answer of the store.
	storeWait = 2 * time.Second
	// askAgain is how long the first in line waits before it asks again, at first; longer each time, up to maxAskAgain,
	// which must be well below stay.
	askAgain, maxAskAgain = 10 * time.Millisecond, 100 * time.Millisecond
)

var (
	// ErrFull is wrapped by the errors of Acquire if no slot is free, and nobody may wait for one.
	ErrFull = errors.New("no slot is free")
	// ErrTooHeavy is wrapped by the errors of Acquire for what takes more slots than there are.
	ErrTooHeavy = errors.New("it takes more slots than there are")
)

// Lease is what Acquire took: slots that are held until Release. The zero Lease holds nothing.
type Lease struct{ held *held }

// held are the leases of one Acquire.
type held struct {
	limiter *Limiter
	key     seawall.Key
	leases  []seawall.Lease
}

// Acquire takes a slot of the caller's, without HTTP: for a dependency that bears few calls at a time. Release gives it
// back; until then it is renewed. If no slot is free, it returns an error that wraps ErrFull, or waits until there is
// one if Config.MaxWaiting says so: as long as ctx lasts, so give it a deadline. Who waits is served in the order in
// which the waiting began, also among instances.
//
// It knows no modes. An error that is neither ErrFull nor ErrTooHeavy nor ctx's is the store's, and nothing is held; with
// a store.Failover the failure policies decide instead, save that FailClosed is an error.
func (l *Limiter) Acquire(ctx context.Context, key seawall.Key) (Lease, error) {
	return l.AcquireFor(ctx, &seawall.Request{Key: key})
}

// AcquireFor takes the slots that the policies want for a request, of all of them or none, as Acquire does.
func (l *Limiter) AcquireFor(ctx context.Context, r *seawall.Request) (Lease, error) {
	if l.store == nil {
		return Lease{}, errors.New("concurrency: Config.Store is nil; want the store that Acquire asks")
	}
	if r.Key.IsZero() {
		return Lease{}, errors.New(`concurrency: the key is zero; want whose slots they are, such as seawall.NewKey("sms")`)
	}
	checks := l.Plan(nil, r)
	if len(checks) == 0 {
		return Lease{}, nil
	}
	if err := ctx.Err(); err != nil {
		return Lease{}, fmt.Errorf("concurrency: %w", err)
	}
	if l.waiting > 0 {
		return l.wait(ctx, r.Key, checks)
	}
	held, _, err := l.ask(ctx, r.Key, checks)
	return held, err
}

// Release gives the slots back. It is idempotent, and safe for concurrent use. It takes a moment, 5 ms at most, if it
// gives back one of the last slots; if the store does not answer, it goes on in the background.
func (l Lease) Release() {
	if l.held == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), seawall.DefaultWait)
	defer cancel()
	_ = l.held.limiter.store.Release(ctx, l.held.leases...) // it goes on
	l.held.limiter.lines.Nudge(l.held.key)
}

// ask asks the store once. If it is refused, hopeless tells that waiting is of no use.
func (l *Limiter) ask(ctx context.Context, key seawall.Key, checks []seawall.Check) (_ Lease, hopeless bool, _ error) {
	asking, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	for i := range checks {
		checks[i].ID = 0
	}
	results, err := l.store.Apply(asking, nil, checks)
	if err == nil && len(results) != len(checks) {
		err = fmt.Errorf("the store answered %d of %d checks", len(results), len(checks))
	}
	h := &held{limiter: l, key: key}
	var refused error
	for i := range checks {
		lease, _ := checks[i].Lease()
		if err != nil && (len(results) != len(checks) || checks[i].FailsClosed()) {
			refused, hopeless = err, true
		} else if res := results[i]; !res.Admitted {
			never := res.RetryAfter == seawall.Never
			if refused == nil || never && !hopeless {
				refused = fmt.Errorf("policy %q: %w", checks[i].Limit.Policy(), why(never))
			}
			hopeless = hopeless || never
		} else {
			lease.Last = res.Last
		}
		h.leases = append(h.leases, lease)
	}
	if refused == nil {
		refused = ctx.Err() // nobody waits for what was granted
		hopeless = refused != nil
	}
	if refused != nil {
		if err != nil || hopeless {
			_ = l.store.Release(context.Background(), unhurried(h.leases)...) // it may have been taken all the same
		}
		return Lease{}, hopeless, fmt.Errorf("concurrency: %w", refused)
	}
	return Lease{h}, false, nil
}

func why(never bool) error {
	if never {
		return ErrTooHeavy
	}
	return ErrFull
}

// unhurried are the leases, whose release nobody waits for.
func unhurried(leases []seawall.Lease) []seawall.Lease {
	for i := range leases {
		leases[i].Last = false
	}
	return leases
}

// wait asks until there is a slot, in the order of the line.
func (l *Limiter) wait(ctx context.Context, key seawall.Key, checks []seawall.Check) (Lease, error) {
	began := time.Now()
	place, ok := l.lines.Join(key, l.waiting)
	if !ok { // as many wait already; those may only just have come
		lease, _, err := l.ask(ctx, key, checks)
		return lease, err
	}
	defer l.lines.Leave(place)
	select {
	case <-place.Turn():
	case <-ctx.Done():
		return Lease{}, fmt.Errorf("concurrency: waiting in line: %w", ctx.Err())
	}
	name, pause := max(1, rand.Uint64()), askAgain //nolint:gosec // no secret
	for {
		for i := range checks {
			checks[i].Rule = checks[i].Rule.(*queue).Queue(name, time.Since(began))
		}
		lease, hopeless, err := l.ask(ctx, key, checks)
		if err == nil {
			return lease, nil
		}
		if hopeless || !l.pause(ctx, place, pause) {
			l.leave(checks)
			return Lease{}, errors.Join(err, ctx.Err())
		}
		pause = min(2*pause, maxAskAgain)
	}
}

// pause waits until it is worth asking again, and tells whether ctx still was not done then.
func (l *Limiter) pause(ctx context.Context, place *seawall.Place, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // no secret
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
