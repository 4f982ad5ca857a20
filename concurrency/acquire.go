package concurrency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

// storeWait is how long Acquire waits for one answer of the store, also if its context ends meanwhile: a call that is
// abandoned may still put somebody in line.
const storeWait = seawall.DefaultWaitClosed

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
	line    seawall.Key
	leases  []seawall.Lease
}

// Acquire takes a slot of the caller's, without HTTP: for a dependency that bears few calls at a time. Release gives it
// back; until then it is renewed. If no slot is free, it returns an error that wraps ErrFull, or waits until there is
// one if Config.MaxWaiting says so: as long as ctx lasts, so give it a deadline. At one instance those who wait for a key
// are served in the order in which they came; among instances the first of each is, by the store's clock, so nobody is
// overtaken again and again. It may take 100 ms longer than ctx lasts if the store does not answer.
//
// It knows no modes. An error that wraps neither ErrFull nor ErrTooHeavy nor ctx's is the store's, and nothing is held; with
// a store.Failover the failure policies decide instead, save that FailClosed is an error. Release what was acquired before
// the store is closed.
func (l *Limiter) Acquire(ctx context.Context, key seawall.Key) (Lease, error) {
	return l.AcquireFor(ctx, &seawall.Request{Key: key})
}

// AcquireFor takes the slots that the policies want for a request, of all of them or none, as Acquire does. If no policy is
// about it, it holds nothing and is no error.
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
		return l.wait(ctx, lineOf(checks), checks)
	}
	a := l.ask(ctx, seawall.Key{}, checks)
	return a.lease, a.err
}

// lineOf is the line of those who want slots of the same policies and keys; others do not wait behind them.
func lineOf(checks []seawall.Check) seawall.Key {
	parts := make([]string, 0, 2*len(checks))
	for i := range checks {
		parts = append(parts, checks[i].Limit.Policy(), checks[i].Key.String())
	}
	return seawall.NewKey(parts...)
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
	l.held.limiter.lines.Nudge(l.held.line)
}

// answer is what the store's answer means for one who wants slots.
type answer struct {
	lease    Lease
	err      error
	hopeless bool          // waiting is of no use
	late     bool          // the store did not answer in time
	again    time.Duration // when a refused one should ask again
}

// ask asks the store once.
func (l *Limiter) ask(ctx context.Context, line seawall.Key, checks []seawall.Check) answer {
	for i := range checks {
		checks[i].ID = 0
	}
	asking, stop := seawall.Patient(ctx, storeWait)
	results, err := l.store.Apply(asking, nil, checks)
	stop()
	if err == nil && len(results) != len(checks) {
		err = fmt.Errorf("the store answered %d of %d checks", len(results), len(checks))
	}
	late := errors.Is(err, context.DeadlineExceeded)
	if late { // and that is not ctx's
		err = fmt.Errorf("the store did not answer in %v: %v", storeWait, err) //nolint:errorlint // see above
	}
	h := &held{limiter: l, line: line}
	var a answer
	for i := range checks {
		lease, _ := checks[i].Lease()
		if len(results) == len(checks) {
			lease.Last = results[i].Last
			a.add(checks[i].Limit.Policy(), results[i])
		}
		h.leases = append(h.leases, lease)
	}
	switch {
	case err != nil && a.err == nil && undecided(checks, results):
		a.err, a.hopeless, a.late = err, true, late
	case a.err == nil && ctx.Err() != nil: // nobody waits for what was granted
		a.err, a.hopeless = ctx.Err(), true
	case a.err == nil:
		a.lease = Lease{h}
		return a
	}
	if err != nil || a.hopeless {
		for i := range h.leases {
			h.leases[i].Last = false
		}
		_ = l.store.Release(context.Background(), h.leases...) // they may have been taken all the same
	}
	a.err = fmt.Errorf("concurrency: %w", a.err)
	return a
}

// undecided tells whether some check has no answer that its failure policy lets count, after the store has failed: a
// store.Failover that is closed admits without taking a slot, for the sake of requests that are under way.
func undecided(checks []seawall.Check, results []seawall.Result) bool {
	if len(results) != len(checks) {
		return true
	}
	for i := range checks {
		if checks[i].FailsClosed() ||
			results[i].Admitted && !results[i].Committed && checks[i].Limit.OnFailure() != seawall.FailOpen {
			return true
		}
	}
	return false
}

// add counts in the result of one policy. The first refusal is named, unless another is for good.
func (a *answer) add(policy string, res seawall.Result) {
	if res.Admitted || a.hopeless {
		return
	}
	a.again = max(a.again, res.RetryAfter)
	if res.RetryAfter == seawall.Never {
		a.err, a.hopeless = fmt.Errorf("policy %q: %w", policy, ErrTooHeavy), true
	} else if a.err == nil {
		a.err = fmt.Errorf("policy %q: %w", policy, ErrFull)
	}
}
