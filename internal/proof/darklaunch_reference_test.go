package proof

import (
	"slices"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/proof/model"
	"github.com/seawall-go/seawall/ratelimit"
)

// darkReference is what the design says of several layers in several modes, on the model's limits, one after the other:
//
//   - "Enforced checks commit if and only if every enforced check admits. Advisory checks commit if and only if every
//     check and local verdict of the request admits."
//   - "The first refusal in layer order is counted: denied if enforced, would_deny if advisory; after an advisory one we
//     go on to the first enforced one; everything behind it is skipped. One count per request and layer, policy = the
//     one that refused." If one layer holds both, the denial is the one.
//   - "With several refusals the first in order is named and the longest wait is sent."
type darkReference struct {
	plan   darkPlan
	keys   []seawall.Key
	model  model.Store
	lastID uint64
	held   map[int][]model.Check // by the step of their request
}

func newDarkReference(p darkPlan, keys []seawall.Key) *darkReference {
	return &darkReference{plan: p, keys: keys, held: map[int][]model.Check{}}
}

// darkCheck is one check, or a local verdict.
type darkCheck struct {
	layer, policy string
	mode          seawall.Mode
	check         model.Check // its rule is nil if it is a block, or a local verdict
	result        seawall.Result
}

func (c *darkCheck) name() string   { return c.layer + ":" + c.policy }
func (c *darkCheck) enforced() bool { return c.mode == seawall.Enforce }

// end gives back what the request of a step holds.
func (ref *darkReference) end(n int) {
	for _, c := range ref.held[n] {
		ref.model.Release(c)
	}
	delete(ref.held, n)
}

// checks returns a layer's checks on a request.
func (ref *darkReference) checks(layer string, s darkStep) (all []darkCheck) {
	p := ref.plan
	add := func(policy string, r model.Rule, whose string, cost int64) {
		c := darkCheck{layer: layer, policy: policy}
		c.check = model.Check{Rule: r, Name: layer + ":" + policy + " of " + whose, Cost: cost}
		all = append(all, c)
	}
	caller := ref.keys[s.caller].String()
	switch layer {
	case ratelimit.Name:
		for _, q := range p.policies {
			if s.plan == ratelimit.PlanAllow || q.heavy && !s.heavy {
				continue
			}
			r, whose := q.own.explained, caller
			switch s.plan {
			case bigPlan:
				r = q.big.explained
			case ratelimit.PlanBlock:
				r = nil
			}
			if q.byGroup {
				whose = ref.keys[s.group()].String()
			}
			add(q.name, r, whose, s.cost)
		}
	case concurrency.Name:
		switch {
		case s.plan == concurrency.PlanAllow:
		case s.long:
			add(longLived, model.Slots{Max: p.streams, TTL: darkTTL}, caller, 1)
		default:
			add(inFlight, model.Slots{Max: p.slots, TTL: darkTTL}, caller, 1)
			if s.heavy {
				add(heavyWeight, model.Slots{Max: p.weight, TTL: darkTTL, Weighted: true}, caller, s.cost)
			}
		}
	case fleetshed.Name:
		policy := ordinary
		if s.tier == seawall.Critical {
			policy = critical
		}
		if !s.long {
			add(policy, model.Slots{Max: p.fleet - p.reserve, TTL: darkTTL}, "the fleet", 1)
			all[len(all)-1].check.CountOnly = policy == critical
		}
	}
	return all
}

// compare decides a request, and says how what was decided of it is another.
func (ref *darkReference) compare(step int, now int64, s darkStep, layers []string, modes darkModes, got darkAnswer) error {
	var local []darkCheck
	var checks []darkCheck
	for _, layer := range layers {
		of := ref.checks(layer, s)
		if layer == localLayer {
			of = []darkCheck{{layer: layer, policy: localPolicy, result: seawall.Result{Admitted: !s.busy || !s.sheds()}}}
		}
		for _, c := range of {
			switch c.mode = darkMode(modes, layer, c.policy); {
			case c.mode == seawall.Off:
			case layer == localLayer:
				local = append(local, c)
			default:
				checks = append(checks, c)
			}
		}
	}
	asked := ref.apply(step, now, local, checks, got.results)
	denies := func(c darkCheck) bool { return c.enforced() && !c.result.Admitted }
	if len(local) > 0 && local[0].enforced() && s.full && s.sheds() && !slices.ContainsFunc(asked, denies) {
		local[0].result.Admitted = false // if not before, in the end
	}
	for i := range local {
		if !local[i].result.Admitted {
			local[i].result.RetryAfter = localWait
		}
	}
	return want(append(local, checks...), append(local, asked...)).differs(got)
}

// apply decides the checks, and returns those that were asked. Behind a local denial none is, and behind a refusal that
// is only logged those are not that could not commit.
func (ref *darkReference) apply(
	step int, now int64, local, checks []darkCheck, guesses map[string]seawall.Result,
) (asked []darkCheck) {
	enforced, all := true, true
	for _, c := range local {
		all = all && c.result.Admitted
		enforced = enforced && (c.result.Admitted || !c.enforced())
	}
	if !enforced {
		return nil
	}
	for _, c := range checks {
		if c.enforced() || all {
			asked = append(asked, c)
		}
	}
	for i := range asked {
		c := &asked[i]
		c.result = ref.tell(now, *c, seawall.Peek, guesses)
		all = all && c.result.Admitted
		enforced = enforced && (c.result.Admitted || !c.enforced())
	}
	for i := range asked {
		c := &asked[i]
		if enforced && c.enforced() || all {
			ref.lastID++
			c.check.ID = ref.lastID
			c.result = ref.tell(now, *c, seawall.Spend, guesses)
			if _, slots := c.check.Rule.(model.Slots); slots {
				ref.held[step] = append(ref.held[step], c.check)
			}
		}
	}
	return asked
}

// tell has the model look, or spend what is known to commit.
func (ref *darkReference) tell(now int64, c darkCheck, op seawall.Op, guesses map[string]seawall.Result) seawall.Result {
	if c.check.Rule == nil {
		return seawall.Result{RetryAfter: seawall.Never}
	}
	counts := c.check.CountOnly
	c.check.Op, c.check.CountOnly = op, true
	res := ref.model.Apply(now, []model.Check{c.check}, []seawall.Result{guesses[c.name()]})[0]
	if counts {
		res.Admitted, res.RetryAfter = true, 0
	}
	return res
}
