package concurrency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

// storeWait bounds how long Acquire waits for one answer of the store.
const storeWait = 2 * time.Second

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
// one if Config.MaxWaiting says so: as long as ctx lasts, so give it a deadline. At one instance those who wait for a key
// are served in the order in which they came; among instances the first of each is, by the store's clock, so nobody is
// overtaken again and again.
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
	a := l.ask(ctx, r.Key, checks)
	return a.lease, a.err
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

// answer is what the store's answer means for one who wants slots.
type answer struct {
	lease    Lease
	err      error
	hopeless bool          // waiting is of no use
	again    time.Duration // when a refused one should ask again
}

// ask asks the store once.
func (l *Limiter) ask(ctx context.Context, key seawall.Key, checks []seawall.Check) answer {
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
	var a answer
	for i := range checks {
		lease, _ := checks[i].Lease()
		if err != nil && (len(results) != len(checks) || checks[i].FailsClosed()) {
			a.err, a.hopeless = err, true
		} else {
			lease.Last = results[i].Last
			a.add(checks[i].Limit.Policy(), results[i])
		}
		h.leases = append(h.leases, lease)
	}
	if a.err == nil && ctx.Err() != nil { // nobody waits for what was granted
		a.err, a.hopeless = ctx.Err(), true
	}
	if a.err == nil {
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
