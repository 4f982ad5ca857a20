package store

import (
	"context"
	"time"

	"github.com/seawall-go/seawall"
)

// sharer returns the rule of a check that is decided locally when the shared store fails.
func sharer(c *seawall.Check) (s seawall.Sharer, ok bool) {
	s, ok = c.Rule.(seawall.Sharer)
	return s, ok && c.Limit.OnFailure() == seawall.FailLocal
}

// holds tells whether a check takes a slot.
func holds(c *seawall.Check) bool {
	_, ok := c.Lease()
	return ok
}

// own returns the check on this instance's share of a limit. A rate's starts from what the shared store said last.
func (f *Failover) own(c *seawall.Check, s seawall.Sharer) seawall.Check {
	place, n := f.placeOf(c.Key)
	own := *c
	own.Rule = f.shares.rule(s, place, n)
	if _, ok := c.Rule.(seawall.Holder); !ok {
		f.notes.use(c, func(remaining int64) { f.local.Assume(own, seawall.Portion(remaining, place, n)) })
	}
	return own
}

// decide answers without the shared store, by its failure policy for each check. Behind what refuses in any case
// nothing commits. Unasked tells that the shared store does not know of the checks.
func (f *Failover) decide(dst []seawall.Result, checks []seawall.Check, refused, unasked bool) []seawall.Result {
	base := len(dst)
	var asked []seawall.Check
	for i := range checks {
		dst = append(dst, seawall.Result{Admitted: true, Fallback: true})
		if s, ok := sharer(&checks[i]); ok && !refused && checks[i].Op <= seawall.Peek {
			asked = append(asked, f.own(&checks[i], s))
		}
	}
	if refused {
		return dst
	}
	var local []seawall.Result
	if len(asked) > 0 {
		var err error
		if local, err = f.local.Apply(context.Background(), make([]seawall.Result, 0, len(asked)), asked); err != nil { // it is closed
			return dst
		}
	}
	for i := range checks {
		c, res := &checks[i], &dst[base+i]
		held := holds(c) && !c.Advisory && c.Limit.OnFailure() == seawall.FailOpen
		if _, ok := sharer(c); ok && c.Op <= seawall.Peek {
			*res, local = local[0], local[1:]
			res.Fallback, res.Last = true, false // nobody waits for a store that is not there
			held = holds(c) && res.Committed
		}
		if held && unasked {
			f.claim(c)
		}
	}
	return dst
}

// leave takes somebody who gives up waiting for a slot out of the line in memory, too, in which it stands if the shared
// store was away meanwhile.
func (f *Failover) leave(c *seawall.Check) {
	if _, holds := c.Rule.(seawall.Holder); holds {
		_, _ = f.local.Apply(context.Background(), nil, []seawall.Check{*c}) // closed: there is no line
	}
}

// claim has the shared store count a lease that was granted without it, once it is back.
func (f *Failover) claim(c *seawall.Check) {
	l, _ := c.Lease()
	if s, ok := f.shared.(seawall.Claimer); ok {
		s.Claim(l)
	}
}

// prolong returns how much longer a request waits for the shared store whose own decision would be a refusal: what is
// served waits no longer for the sake of exactness, what is refused had better be refused rightly.
func (f *Failover) prolong(checks []seawall.Check) time.Duration {
	for i := range checks {
		c := &checks[i]
		s, ok := sharer(c)
		if !ok || c.Op != seawall.Spend || c.Advisory || c.CountOnly {
			continue
		}
		own := f.own(&seawall.Check{Limit: c.Limit, Rule: c.Rule, Key: c.Key, Cost: c.Cost, Op: seawall.Peek}, s)
		if res, err := f.local.Apply(context.Background(), nil, []seawall.Check{own}); err == nil && !res[0].Admitted {
			return max(0, f.patient.wait()-f.quick.wait())
		}
	}
	return 0
}

// mirror notes what the shared store said of rates, and counts the slots that it granted.
//
// While slots that were granted locally are not known to the shared store, it may grant one too many: then this
// instance's own count refuses it, and what the request took is given back, its tokens aside.
func (f *Failover) mirror(checks []seawall.Check, results []seawall.Result) {
	var granted []seawall.Check
	for i := range checks {
		c := &checks[i]
		s, ok := sharer(c)
		switch {
		case !ok || results[i].Fallback:
		case c.Op > seawall.Peek:
			f.notes.drop(c)
		case holds(c) && results[i].Committed:
			own := *c
			own.CountOnly = c.Advisory || c.CountOnly || !s.Bounds()
			own.Advisory = false
			granted = append(granted, own)
		case c.Op == seawall.Spend && !holds(c):
			f.notes.take(c, &results[i])
		}
	}
	if len(granted) > 0 {
		f.count(granted, checks, results)
	}
}

// count counts granted slots, and refuses the request if one is too many.
func (f *Failover) count(granted, checks []seawall.Check, results []seawall.Result) {
	counted, err := f.local.Apply(context.Background(), make([]seawall.Result, 0, len(granted)), granted)
	if err != nil { // it is closed
		return
	}
	refused := false
	for i := range checks {
		c := &checks[i]
		if _, ok := sharer(c); ok && holds(c) && results[i].Committed {
			if own := counted[0]; !own.Admitted {
				results[i], refused = own, true
			}
			counted = counted[1:]
		}
	}
	if refused {
		f.giveBack(checks, results)
	}
}

// giveBack releases the leases that the shared store granted to a request that is refused after all.
func (f *Failover) giveBack(checks []seawall.Check, results []seawall.Result) {
	for i := range checks {
		results[i].Committed = false
		if l, ok := checks[i].Lease(); ok {
			_ = f.shared.Release(context.Background(), l)
		}
	}
}
