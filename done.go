package seawall

import (
	"context"
	"fmt"
)

// Done gives back what the request holds. It is idempotent. It waits for the store, at most Config.Wait,
// only if the request held one of its caller's last slots.
func (a *Admission) Done(ctx context.Context) {
	if a.stack == nil || !a.done.CompareAndSwap(false, true) {
		return
	}
	if !a.returned {
		a.Return()
	}
	a.leave()
	a.finish()
	a.release(ctx)
	a.letGo()
	w := a.work
	a.work = nil
	a.stack.works.giveBack(w)
}

func (a *Admission) finish() {
	defer a.guard("observer")
	a.stack.observer.Finished(a.request, a.checks, a.results)
}

// Return tells that the handler has returned, but goes on with what the request holds, such as a connection that it has
// taken over. Done gives that back; it may then be called on another goroutine.
func (a *Admission) Return() {
	a.returned = true
	a.request.visits.forget(a.met)
}

func (a *Admission) leave() {
	for i := range a.parts {
		if p := &a.parts[i]; p.ticket != 0 {
			a.leavePart(p)
		}
	}
}

// leavePart leaves a local layer. One that panics keeps no other.
func (a *Admission) leavePart(p *part) {
	defer a.guard("leave")
	ticket := p.ticket
	p.ticket = 0
	p.layer.local.Leave(ticket)
}

func (a *Admission) release(ctx context.Context) {
	defer a.guard("release")
	leases := a.leasesBuf[:0]
	wait := false
	for i := a.locals; i < len(a.results); i++ {
		c, res := &a.checks[i], &a.results[i]
		if c.ID == 0 || !res.Committed && !res.Fallback {
			continue
		}
		if l, ok := c.Lease(); ok {
			l.Last = res.Last
			leases = append(leases, l)
			wait = wait || res.Last
		}
	}
	if len(leases) == 0 {
		return
	}
	if wait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), a.stack.wait)
		defer cancel()
	}
	if err := a.stack.store.Release(ctx, leases...); err != nil {
		a.spoilt = true
		a.stack.observer.Failed("release", err)
	}
}

// letGo reports what the request does not hold any more, now that others can have it.
func (a *Admission) letGo() {
	for i := range a.parts {
		if p := &a.parts[i]; p.holds {
			a.tellLetGo(p)
		}
	}
}

func (a *Admission) tellLetGo(p *part) {
	defer a.guard("observer")
	a.stack.observer.Inflight(p.layer.name, -1)
}

// guard keeps a panic of ours from reaching the handler's goroutine.
func (a *Admission) guard(what string) {
	if p := recover(); p != nil {
		if a.work != nil {
			a.spoilt = true
		}
		defer func() { _ = recover() }() // an observer that panics again
		a.stack.observer.Failed(what, &panicError{p})
	}
}

// panicError is a panic inside a layer, a store or an observer.
type panicError struct{ value any }

func (e *panicError) Error() string  { return fmt.Sprintf("seawall: panic: %v", e.value) }
func (e *panicError) Reason() string { return "panic" }
