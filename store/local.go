package store

import (
	"context"

	"github.com/seawall-go/seawall"
)

// sharer returns the rule of a check that is decided locally when the shared store fails.
func sharer(c *seawall.Check) (s seawall.Sharer, ok bool) {
	s, ok = c.Rule.(seawall.Sharer)
	return s, ok && c.Limit.OnFailure() == seawall.FailLocal
}

// slot returns the rule of a check whose slots are counted locally.
func slot(c *seawall.Check) (s seawall.Sharer, ok bool) {
	if _, holds := c.Rule.(seawall.Holder); !holds || c.Op != seawall.Spend {
		return nil, false
	}
	return sharer(c)
}

// decide answers without the shared store, by its failure policy for each check. Behind a limit that fails closed
// nothing commits. Unasked tells that the shared store does not know of the checks.
func (f *Failover) decide(dst []seawall.Result, checks []seawall.Check, closed, unasked bool) []seawall.Result {
	base := len(dst)
	for range checks {
		dst = append(dst, seawall.Result{Admitted: true, Fallback: true})
	}
	if closed {
		return dst
	}
	var buf [6]seawall.Check
	asked := buf[:0]
	for i := range checks {
		if s, ok := sharer(&checks[i]); ok && checks[i].Op <= seawall.Peek {
			c := checks[i]
			place, n := f.placeOf(c.Key)
			c.Rule = f.shares.rule(s, place, n)
			asked = append(asked, c)
		}
	}
	if len(asked) == 0 {
		return dst
	}
	var res [6]seawall.Result
	local, err := f.local.Apply(context.Background(), res[:0], asked)
	if err != nil { // it is closed
		return dst
	}
	for i := range checks {
		c := &checks[i]
		if _, ok := sharer(c); !ok || c.Op > seawall.Peek {
			continue
		}
		own := local[0]
		local = local[1:]
		own.Fallback, own.Last = true, false // nobody waits for a store that is not there
		dst[base+i] = own
		if h, ok := c.Rule.(seawall.Holder); ok && own.Committed && unasked {
			f.claim(seawall.Lease{Limit: c.Limit, Rule: h, Key: c.Key, ID: c.ID})
		}
	}
	return dst
}

// claim has the shared store count a lease that was granted without it, once it is back.
func (f *Failover) claim(l seawall.Lease) {
	if c, ok := f.shared.(seawall.Claimer); ok {
		c.Claim(l)
	}
}

// mirror counts in the local store what the shared one granted, and what remains of this instance's shares.
//
// While slots that were granted locally are not known to the shared store, it may grant one too many: then this
// instance's own count refuses it, and what the request took is given back, its tokens aside.
func (f *Failover) mirror(checks []seawall.Check, results []seawall.Result) {
	var slots, rates [4]seawall.Check
	granted, spent := slots[:0], rates[:0]
	for i := range checks {
		c := checks[i]
		s, ok := sharer(&c)
		_, holds := c.Rule.(seawall.Holder)
		switch {
		case ok && c.Op == seawall.Reset:
			_, _ = f.local.Apply(context.Background(), nil, []seawall.Check{c}) // fails only if it is closed
		case !ok || c.Op != seawall.Spend || results[i].Fallback:
		case holds && results[i].Committed:
			c.CountOnly = c.Advisory || c.CountOnly || !s.Bounds()
			c.Advisory = false
			granted = append(granted, c)
		case !holds:
			place, n := f.placeOf(c.Key)
			c.Rule = f.shares.rule(s, place, n)
			c.Cost = seawall.Portion(results[i].Remaining, place, n)
			spent = append(spent, c)
		}
	}
	if len(spent) > 0 {
		f.local.Lower(spent)
	}
	if len(granted) > 0 {
		f.count(granted, checks, results)
	}
}

// count counts granted slots, and refuses the request if one is too many.
func (f *Failover) count(granted, checks []seawall.Check, results []seawall.Result) {
	var res [4]seawall.Result
	counted, err := f.local.Apply(context.Background(), res[:0], granted)
	if err != nil { // it is closed
		return
	}
	refused := false
	for i := range checks {
		if _, ok := slot(&checks[i]); ok && results[i].Committed {
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
		if h, ok := checks[i].Rule.(seawall.Holder); ok {
			c := &checks[i]
			_ = f.shared.Release(context.Background(), seawall.Lease{Limit: c.Limit, Rule: h, Key: c.Key, ID: c.ID})
		}
	}
}
