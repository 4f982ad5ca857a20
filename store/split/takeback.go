package split

import (
	"context"
	"sync"

	"github.com/seawall-go/seawall"
)

// takeBack undoes what was committed by a request that was denied elsewhere, and says so in its results. What remains of slots
// is told as it was a moment before.
func takeBack(ctx context.Context, parts []*part, results []seawall.Result, checks []seawall.Check) {
	enforced, all := verdict(parts, results, checks)
	var refunds sync.WaitGroup
	for _, p := range parts {
		var leases []seawall.Lease
		var spent []seawall.Check
		var at []int // of what was spent
		for k, i := range p.at {
			c, res := &p.checks[k], &results[i]
			if !res.Committed || c.Op != seawall.Spend || enforced && (all || !c.Advisory) {
				continue
			}
			if l, ok := c.Lease(); ok {
				leases = append(leases, l)
				res.Committed, res.Last = false, false
			} else if p.err == nil && refundable(c) && !(c.CountOnly && res.Remaining == 0) { // which may have spent less than it cost
				spent, at = append(spent, *c), append(at, i)
				spent[len(spent)-1].Op = seawall.Refund
			}
		}
		if len(leases) > 0 {
			_ = p.store.Release(ctx, leases...) // it tries again, and the leases expire
		}
		if len(spent) > 0 {
			refunds.Go(func() { p.refund(ctx, spent, at, results) })
		}
	}
	refunds.Wait()
}

// verdict tells whether every enforced check admits, and whether every check does. One that has no answer admits, unless it
// fails closed.
func verdict(parts []*part, results []seawall.Result, checks []seawall.Check) (enforced, all bool) {
	enforced, all = true, true
	for _, p := range parts {
		for _, i := range p.at {
			c := &checks[i]
			admits := c.CountOnly || results[i].Admitted
			if p.err != nil && refusesUnanswered(c) { // whatever a wrapper of the store made of it
				admits = false
			}
			if admits || c.Op != seawall.Spend {
				continue
			}
			all = false
			enforced = enforced && c.Advisory
		}
	}
	return enforced, all
}

// refusesUnanswered tells whether a check that has no answer of its store refuses.
func refusesUnanswered(c *seawall.Check) bool {
	if fixed, ok := c.Rule.(seawall.Constant); ok {
		return !fixed.Answer().Admitted && !c.CountOnly
	}
	return c.FailsClosed()
}

// refundable tells whether what the check spends can be refunded.
func refundable(c *seawall.Check) bool {
	_, ok := c.Rule.(seawall.Refunder)
	_, holds := c.Rule.(seawall.Holder)
	return ok && !holds
}

// refund takes back what was spent by the checks at these places, and says so in their results. What could not be taken back stays
// spent: too little is given rather than too much.
func (p *part) refund(ctx context.Context, spent []seawall.Check, at []int, results []seawall.Result) {
	defer func() { _ = recover() }() // in the store
	if _, err := p.store.Apply(ctx, nil, spent); err != nil {
		return
	}
	for k, i := range at {
		res := &results[i]
		res.Committed, res.Remaining = false, min(res.Limit, res.Remaining+max(1, spent[k].Cost))
		res.NextAfter, res.ResetAfter = 0, 0 // not known
	}
}
