package proof

import (
	"context"
	"fmt"
	"slices"

	"github.com/seawall-go/seawall"
)

// nothingIsHeld looks at what is left when every request has ended.
func (run *darkRun) nothingIsHeld() error {
	if err := run.look(); err != nil {
		return err
	}
	if len(run.watch.troubles) > 0 {
		return fmt.Errorf("trouble: %v", run.watch.troubles)
	}
	for layer, n := range run.watch.inflight {
		if n != 0 {
			return fmt.Errorf("in the end %d of %s are told to be in flight", n, layer)
		}
	}
	if n := run.inside(); n != 0 || run.worker != nil && run.worker.Utilization() != 0 {
		return fmt.Errorf("in the end %d are inside the local layer", n)
	}
	return nil
}

// look reads all there is in the store itself.
func (run *darkRun) look() error {
	for caller := range darkCallers {
		var peeks []seawall.Check
		for _, s := range []darkStep{
			{}, {heavy: true}, {tier: seawall.Critical}, {long: true},
		} {
			s.caller, s.cost, s.plan = caller, 1, run.trace.plans[caller%2]
			for _, l := range run.layers {
				for _, c := range l.Plan(nil, s.request(run.keys)) {
					if c.Op = seawall.Peek; !slices.ContainsFunc(peeks, func(p seawall.Check) bool { return p.Limit == c.Limit }) {
						peeks = append(peeks, c)
					}
				}
			}
		}
		results, err := run.ground.store.Apply(context.Background(), nil, peeks)
		if err != nil {
			return err
		}
		for i, c := range peeks {
			name := fmt.Sprintf("%s of %d", c.Limit.Name(), caller)
			run.record.left[name] = results[i]
			if _, held := c.Rule.(seawall.Holder); held && results[i].Remaining != results[i].Limit {
				return fmt.Errorf("in the end something is held of %s: %s", name, told(results[i]))
			}
		}
	}
	return nil
}
