package split

import (
	"context"

	"github.com/seawall-go/seawall"
)

// takeBack undoes what was committed by a request that was denied elsewhere, and says so in its results. What remains of slots
// is told as it was a moment before.
func takeBack(ctx context.Context, parts []*part, results []seawall.Result, checks []seawall.Check) {
	enforced, all := verdict(parts, results, checks)
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
			} else if refunds(c) && !(c.CountOnly && res.Remaining == 0) { // which may have spent less than it cost
				spent, at = append(spent, *c), append(at, i)
				spent[len(spent)-1].Op = seawall.Refund
			}
		}
		if len(leases) > 0 {
			_ = p.store.Release(ctx, leases...) // it tries again, and the leases expire
		}
		if len(spent) > 0 && p.refund(ctx, spent) {
			for k, i := range at {
				res := &results[i]
				res.Committed, res.Remaining = false, min(res.Limit, res.Remaining+max(1, spent[k].Cost))
				res.NextAfter, res.ResetAfter = 0, 0 // not known
			}
		}
	}
}

// verdict tells whether every enforced check admits, and whether every check does. One that has no answer admits, unless it
// fails closed.
func verdict(parts []*part, results []seawall.Result, checks []seawall.Check) (enforced, all bool) {
	enforced, all = true, true
	for _, p := range parts {
		for _, i := range p.at {
			c := &checks[i]
			admits := c.CountOnly || results[i].Admitted
			if p.results == nil {
				admits = !c.FailsClosed()
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

// refunds tells whether what the check spends can be refunded.
func refunds(c *seawall.Check) bool {
	_, ok := c.Rule.(seawall.Refunder)
	_, holds := c.Rule.(seawall.Holder)
	return ok && !holds
}

// refund takes back what was spent, and tells whether it did. What could not be taken back stays spent: too little is given
// rather than too much.
func (p *part) refund(ctx context.Context, spent []seawall.Check) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	_, err := p.store.Apply(ctx, nil, spent)
	return err == nil
}
