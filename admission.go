package seawall

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Admission is the engine's answer about one request. Call Done exactly when its handler has returned,
// whatever the decision; see also Return. It belongs to one goroutine. The zero Admission is for AdmitTo, and must not be
// copied afterwards.
type Admission struct {
	*work    // nil when it is done
	stack    *Stack
	request  *Request
	refused  refusal
	waiting  patience // for the store
	met      int32    // visits of the request before this one
	done     atomic.Bool
	returned bool
}

// Checks returns what was asked, and Results the answers in the same order, if the store was asked. They
// must not be changed, nor kept beyond Done; then there are none any more.
func (a *Admission) Checks() []Check {
	if a.work == nil {
		return nil
	}
	return a.checks
}

// Results returns the answers to Checks.
func (a *Admission) Results() []Result {
	if a.work == nil {
		return nil
	}
	return a.results
}

// Admit decides about one request. It never fails: what goes wrong follows the failure policy of the limits
// concerned, and is observed. The cancellation of ctx does not shorten the decision, or a client that hangs
// up early would pass undecided.
func (s *Stack) Admit(ctx context.Context, r *Request) *Admission {
	a := new(Admission)
	s.AdmitTo(ctx, a, r)
	return a
}

// AdmitTo is Admit with the room for the answer, for those who have room of their own: a is the zero Admission.
func (s *Stack) AdmitTo(ctx context.Context, a *Admission, r *Request) {
	a.stack, a.request, a.met, a.work = s, r, r.visits.n, s.works.take()
	a.started = s.now()
	a.decide(ctx)
	r.visits.show()
	a.begin()
	a.observe(ctx)
}

// decide runs gate, local verdict, plan, apply and decision. A panic in a layer or a store follows the
// failure policies, like a store that cannot be asked.
func (a *Admission) decide(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			defer a.guard("fallback")
			err := &panicError{p}
			a.spoilt = true
			a.results = a.results[:min(a.locals, len(a.results))]
			a.fallback(err)
			a.walk()
			a.stack.observer.Failed("decision", err)
		}
	}()
	local := a.enter()
	a.plan(local)
	a.planned = a.stack.now()
	a.decided = a.planned
	switch {
	case local == Denied || len(a.checks) == a.locals:
	case a.broken != nil:
		a.fallback(a.broken)
	default:
		a.ask(ctx)
	}
	a.walk()
}

// ask has the store evaluate the checks, within the wait that they allow.
func (a *Admission) ask(ctx context.Context) {
	checks := a.checks[a.locals:]
	wait := a.stack.wait
	for i := range checks {
		if checks[i].FailsClosed() {
			wait = a.stack.waitClosed
		}
	}
	a.waiting.parent, a.waiting.wait = ctx, wait
	defer a.waiting.stop()
	asked := a.stack.observer.Asking(ctx, checks)
	results, err := apply(&a.waiting, a.stack.store, a.results, checks)
	a.decided = a.stack.now()
	if asked != nil {
		asked(a.decided-a.planned, err)
	}
	if err == nil && len(results) != len(a.checks) {
		err = fmt.Errorf("seawall: the store answered %d of %d checks", len(results)-a.locals, len(checks))
	}
	if len(results) == len(a.checks) {
		a.results = results
	}
	if err != nil {
		a.spoilt = true
		a.fallback(err)
	}
}

// apply is Store.Apply, with a panic as an error.
func apply(ctx context.Context, s Store, dst []Result, checks []Check) (results []Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			results, err = dst, &panicError{p}
		}
	}()
	return s.Apply(ctx, dst, checks)
}

// fallback answers by their failure policies the checks that the store did not, and reports them. A limit that fails closed
// refuses whatever a wrapper of the store made of it.
func (a *Admission) fallback(err error) {
	reason := Reason(err)
	for i := a.locals; i < len(a.checks); i++ {
		c := &a.checks[i]
		if i >= len(a.results) {
			a.results = append(a.results, Result{Admitted: true})
		} else if Answered(err, i-a.locals) {
			continue
		}
		res := &a.results[i]
		res.Fallback = true
		if fixed, ok := c.Rule.(Constant); ok {
			*res = fixed.Answer()
		} else if c.Limit.onFailure == FailClosed {
			*res = Result{Fallback: true, RetryAfter: retryUnavailable}
		}
		outcome := Allowed
		switch {
		case res.Admitted:
		case c.Advisory:
			outcome = WouldDeny
		default:
			outcome = Denied
		}
		a.stack.observer.Fallback(c.Limit, outcome, reason)
	}
}

// observe reports every part, and counts in what the request now holds.
func (a *Admission) observe(ctx context.Context) {
	defer a.guard("observer")
	o, took := a.stack.observer, a.decided-a.started
	for i := range a.parts {
		p := &a.parts[i]
		e := Event{Limit: p.limit, Layer: p.layer.name, Policy: p.limit.policy, Mode: p.mode, Outcome: p.outcome, Took: took}
		if p.layer.local != nil {
			e.Took = a.planned - a.started
		}
		if p.decisive >= 0 {
			e.Check, e.Result = &a.checks[p.decisive], a.results[p.decisive]
			e.Limit, e.Mode = e.Check.Limit, e.Check.Mode()
			e.Policy = e.Limit.policy
		}
		p.holds = p.ticket != 0 || a.leased(p)
		if p.holds {
			o.Inflight(e.Layer, 1)
		}
		o.Decided(ctx, a.request, e)
	}
	o.Checked(a.request, a.checks, a.results)
}

// leased tells whether the part took a lease.
func (a *Admission) leased(p *part) bool {
	answered := a.answered(p)
	for i := range answered {
		if answered[i].Committed {
			if _, ok := a.checks[p.from+i].Rule.(Holder); ok {
				return true
			}
		}
	}
	return false
}
