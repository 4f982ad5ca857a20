package seawall

import (
	"context"
	"fmt"
	"time"
)

// Admission is the engine's answer about one request. Call Done exactly when its handler has returned,
// whatever the decision; see also Return. It belongs to one goroutine.
type Admission struct {
	stack    *Stack
	request  *Request
	decision Decision
	parts    []part
	checks   []Check // those of local layers first; the store is asked for the rest
	results  []Result
	locals   int
	broken   error // a layer's Plan panicked
	started  time.Time
	entered  time.Duration // how long the local layers took
	met      int           // limits and local layers that the HTTP request had met before
	returned bool
	done     bool

	partsBuf   [4]part
	checksBuf  [6]Check
	resultsBuf [6]Result
	leasesBuf  [2]Lease
}

// Decision returns what becomes of the request.
func (a *Admission) Decision() Decision { return a.decision }

// Checks returns what was asked, and Results the answers in the same order, if the store was asked. They
// must not be changed.
func (a *Admission) Checks() []Check { return a.checks }

// Results returns the answers to Checks.
func (a *Admission) Results() []Result { return a.results }

// Admit decides about one request. It never fails: what goes wrong follows the failure policy of the limits
// concerned, and is observed. The cancellation of ctx does not shorten the decision, or a client that hangs
// up early would pass undecided.
func (s *Stack) Admit(ctx context.Context, r *Request) *Admission {
	a := &Admission{stack: s, request: r, started: time.Now(), met: r.met()}
	a.parts, a.checks, a.results = a.partsBuf[:0], a.checksBuf[:0], a.resultsBuf[:0]
	a.decide(ctx)
	a.begin()
	a.observe(ctx)
	return a
}

// decide runs gate, local verdict, plan, apply and decision. A panic in a layer or a store follows the
// failure policies, like a store that cannot be asked.
func (a *Admission) decide(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			defer a.guard("fallback")
			err := &panicError{p}
			a.results = a.results[:min(a.locals, len(a.results))]
			a.fallback(err)
			a.walk()
			a.stack.observer.Failed("decision", err)
		}
	}()
	local := a.enter()
	if a.locals > 0 {
		a.entered = time.Since(a.started)
	}
	a.plan(local)
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
	waiting := patient(ctx, wait)
	defer waiting.stop()
	asked := a.stack.observer.Asking(ctx, checks)
	results, err := apply(waiting, a.stack.store, a.results, checks)
	if asked != nil {
		asked(err)
	}
	if err == nil && len(results) != len(a.checks) {
		err = fmt.Errorf("seawall: the store answered %d of %d checks", len(results)-a.locals, len(checks))
	}
	if len(results) == len(a.checks) {
		a.results = results
	}
	if err != nil {
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

// fallback answers by their failure policies the checks that the store did not, and reports all of them. A
// limit that fails closed refuses whatever a wrapper of the store made of it.
func (a *Admission) fallback(err error) {
	reason := Reason(err)
	for i := a.locals; i < len(a.checks); i++ {
		c := &a.checks[i]
		if i >= len(a.results) {
			a.results = append(a.results, Result{Admitted: true})
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
	took := time.Since(a.started)
	for i := range a.parts {
		p := &a.parts[i]
		e := Event{Layer: p.layer.Name(), Policy: p.policy, Mode: p.mode, Outcome: p.outcome, Took: took}
		if p.layer.local != nil {
			e.Took = a.entered
		}
		if p.decisive >= 0 {
			e.Check, e.Result = &a.checks[p.decisive], a.results[p.decisive]
			e.Policy, e.Mode = e.Check.Limit.policy, e.Check.Mode()
		}
		p.holds = p.ticket != 0 || a.leased(p)
		if p.holds {
			a.stack.observer.Inflight(e.Layer, 1)
		}
		a.stack.observer.Decided(ctx, a.request, e)
	}
	a.stack.observer.Checked(a.request, a.checks, a.results)
}

// leased tells whether the part took a lease.
func (a *Admission) leased(p *part) bool {
	for i, res := range a.answered(p) {
		if _, ok := a.checks[p.from+i].Rule.(Holder); ok && res.Committed {
			return true
		}
	}
	return false
}
