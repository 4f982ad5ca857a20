package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// storeWait bounds how long a Budget waits for its store where its caller's context must not end the call: a
// call that is abandoned may still spend.
const storeWait = 2 * time.Second

// ErrUnknown is wrapped by errors after which it is not known whether the cost was spent: who takes it for spent
// never overdraws. Do not just try again, or a store that was only slow spends for every attempt; Peek until it
// answers.
var ErrUnknown = errors.New("it may be spent all the same")

// Budget spends the quotas of a Limiter without HTTP: for calls that this program makes, and for workers. It
// knows no modes and no failure policies: it decides, or returns an error, so a store.Failover is of no use to it. It is
// safe for concurrent use.
//
// What is paid at the last moment of a window may reach the other side in its next one; leave a call's time before
// the boundary unused if they count by their own clock. A budget lives in its store: if that loses its data,
// all of it can be spent again, so a Redis for money needs appendonly, appendfsync always and noeviction.
type Budget struct {
	store   seawall.Store
	limiter *Limiter
	lines   seawall.Lines
}

// NewBudget returns a Budget of the limiter's quotas on a store, which may be shared with other processes.
func NewBudget(store seawall.Store, limiter *Limiter) (*Budget, error) {
	switch {
	case store == nil:
		return nil, errors.New("ratelimit: NewBudget was given no store")
	case limiter == nil:
		return nil, errors.New("ratelimit: NewBudget was given no limiter")
	}
	return &Budget{store: store, limiter: limiter}, nil
}

// Answer is what a Budget says of a request. It describes the state that the request left.
type Answer struct {
	// Admitted tells whether every policy admits.
	Admitted bool
	// Policy is the first that refuses.
	Policy string
	// RetryAfter is the longest wait of all that refuse, or seawall.Never.
	RetryAfter time.Duration
	// Remaining is the least that remains in any policy; math.MaxInt64 if none is about the request.
	Remaining int64
	// Policies are the results of all policies that are about the request, in their order. Those with Fallback have no
	// numbers: a store.DenyCache did not ask for them, since another refuses.
	Policies []PolicyAnswer

	budget *Budget
	checks []seawall.Check // what was spent
	given  atomic.Bool     // back
}

// PolicyAnswer is what one policy says.
type PolicyAnswer struct {
	Policy string
	seawall.Result
}

// Of returns what the named policy says; ok is false if it is not about the request.
func (a *Answer) Of(policy string) (p PolicyAnswer, ok bool) {
	for _, p := range a.Policies {
		if p.Policy == policy {
			return p, true
		}
	}
	return p, false
}

// Allow spends r.Cost, or what the policies say, if every policy that is about r admits it, and nothing
// otherwise. It does not queue behind those who Wait.
func (b *Budget) Allow(ctx context.Context, r *seawall.Request) (*Answer, error) {
	return b.ask(ctx, r, seawall.Spend)
}

// Peek says what Allow would say, and spends nothing.
func (b *Budget) Peek(ctx context.Context, r *seawall.Request) (*Answer, error) {
	return b.ask(ctx, r, seawall.Peek)
}

// Reset forgets what was spent of all quotas that r would spend from.
func (b *Budget) Reset(ctx context.Context, r *seawall.Request) error {
	_, err := b.ask(ctx, r, seawall.Reset)
	return err
}

// Refund gives back what an admitted Answer spent, as if it had never been: for a call that did not take place.
// It gives back what would still be missing: of a bucket not what has refilled since, of a window nothing once
// the next one has begun, however late the refund arrives. It does so once, and also if ctx is done. After an error it is not known whether it
// did, and it is not tried again.
func (b *Budget) Refund(ctx context.Context, a *Answer) error {
	if a.budget != b {
		return errors.New("ratelimit: the Answer is another Budget's; want one of this Budget's own")
	}
	if !a.Admitted || len(a.checks) == 0 || !a.given.CompareAndSwap(false, true) {
		return nil
	}
	checks := append([]seawall.Check(nil), a.checks...)
	for i := range checks {
		checks[i].Op = seawall.Refund
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	if _, err := b.store.Apply(ctx, nil, checks); err != nil {
		return fmt.Errorf("ratelimit: refund: %w; %w", err, ErrUnknown)
	}
	return nil
}

// ask has the store evaluate the checks of the policies that are about r.
func (b *Budget) ask(ctx context.Context, r *seawall.Request, op seawall.Op) (*Answer, error) {
	a := &Answer{Admitted: true, Remaining: math.MaxInt64, budget: b}
	checks := b.limiter.Plan(nil, r)
	if len(checks) == 0 {
		if r.Key.IsZero() {
			return nil, errors.New("ratelimit: Request.Key is zero; want whose budget it is, such as seawall.NewKey(\"account\")")
		}
		return a, nil
	}
	if op != seawall.Reset {
		for i := range checks {
			if blocked, ok := checks[i].Rule.(seawall.Constant); ok { // also when the store cannot be asked
				a.add(checks[i].Limit.Policy(), blocked.Answer())
				return a, nil
			}
		}
	}
	for i := range checks {
		checks[i].Op, checks[i].Timed = op, op == seawall.Spend
	}
	results, err := b.store.Apply(ctx, nil, checks)
	if err == nil && len(results) != len(checks) {
		err = fmt.Errorf("the store answered %d of %d checks", len(results), len(checks))
	}
	switch {
	case err == nil:
	case op == seawall.Peek || seawall.Undone(err):
		return nil, fmt.Errorf("ratelimit: %w", err)
	default:
		return nil, fmt.Errorf("ratelimit: %w; %w", err, ErrUnknown)
	}
	for i, res := range results {
		a.add(checks[i].Limit.Policy(), res)
	}
	if op == seawall.Spend && a.Admitted {
		a.checks = checks
	}
	return a, nil
}

// add counts in the result of one policy.
func (a *Answer) add(policy string, res seawall.Result) {
	a.Policies = append(a.Policies, PolicyAnswer{policy, res})
	if !res.Fallback {
		a.Remaining = min(a.Remaining, res.Remaining)
	}
	if res.Admitted {
		return
	}
	if a.Admitted {
		a.Admitted, a.Policy = false, policy
	}
	if res.RetryAfter == seawall.Never || a.RetryAfter == seawall.Never {
		a.RetryAfter = seawall.Never
	} else {
		a.RetryAfter = max(a.RetryAfter, res.RetryAfter)
	}
}
