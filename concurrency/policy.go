package concurrency

import (
	"fmt"
	"slices"
	"time"

	"github.com/seawall-go/seawall"
)

const (
	// PlanAllow is the plan, which every policy has, of callers whom it does not limit.
	PlanAllow = "allow"
	// maxPolicies bounds the checks of one request, maxPlans a policy's plans.
	maxPolicies, maxPlans = 16, 1000
)

// Policy is one cap on what a caller has in flight. It is about the requests that LongLived, Routes and Match all say
// it is about, and all policies that are about a request must have room for it, or it takes no slot of any.
type Policy struct {
	// Name appears in labels and flags. Required, unique in a limiter.
	Name string
	// MaxInFlight is how many slots a caller has, at least 1. Required.
	MaxInFlight int64
	// LongLived has the policy be about long-lived requests (seawall.Request.LongLived) and no others; zero is about
	// all others.
	LongLived bool
	// Routes are the routes that it is about, as the router has them, such as "/v1/users/:id", for every method. One
	// that ends in '*' is about all that begin so. They share one cap. None is all routes.
	Routes []string
	// Match tells whether it is about a request; nil is about every one.
	Match func(*seawall.Request) bool
	// Key says whose slots a request takes; nil is Request.Key. A zero Key is not limited.
	Key func(*seawall.Request) seawall.Key
	// Weight says how many slots a request takes, such as 5 for a report: at least 1. Nil is 1. A request that weighs more
	// than the cap is always refused, and told no time to retry. A policy with weights reads every lease that its
	// caller holds, so caps should be hundreds rather than many thousands.
	Weight func(*seawall.Request) int64
	// Plans are caps that some callers have instead, by names of the form of a policy's; at most 1000.
	Plans map[string]int64
	// Plan says which plan a request falls under: one of Plans, PlanAllow, or "" for MaxInFlight, for which an unknown
	// name stands too. What a caller holds under another plan counts. Nil is Request.Plan.
	Plan func(*seawall.Request) string
	// TTL is how long the slots of an instance that died stay taken, 1 s to 1 h in whole milliseconds; zero is
	// DefaultTTL. While instances with a longer and a shorter one run side by side, as in a deploy, the longer should be no
	// more than twice the shorter, or leases of the one can end before they are renewed.
	TTL time.Duration
	// OnFailure says what happens when the store cannot be asked; zero is seawall.FailLocal.
	OnFailure seawall.Failure
}

// policy is a Policy with its limit and its rules.
type policy struct {
	Policy
	limit *seawall.Limit
	own   seawall.Rule
	plans map[string]seawall.Rule
}

// check returns the policy's check on a request; false if there is none.
func (p *policy) check(r *seawall.Request) (c seawall.Check, ok bool) {
	if r.LongLived != p.LongLived || !r.On(p.Routes) || p.Match != nil && !p.Match(r) {
		return c, false
	}
	c = seawall.Check{Limit: p.limit, Rule: p.own, Key: r.Key, Cost: 1}
	if p.Key != nil {
		c.Key = p.Key(r)
	}
	if p.Weight != nil {
		c.Cost = max(1, p.Weight(r))
	}
	plan := r.Plan
	if p.Plan != nil {
		plan = p.Plan(r)
	}
	if plan == PlanAllow {
		return c, false
	}
	if rule, known := p.plans[plan]; known {
		c.Rule = rule
	}
	return c, !c.Key.IsZero()
}

// resolve copies what the caller could still change; waiting has a line in front of the slots. Its errors name the policy,
// the field and the value.
func (p Policy) resolve(waiting bool) (*policy, error) {
	bad := func(format string, args ...any) (*policy, error) {
		return nil, fmt.Errorf("policy %q: "+format, append([]any{p.Name}, args...)...)
	}
	limit, err := seawall.NewLimit(Name, p.Name, p.OnFailure)
	if err != nil {
		return bad("%w", err)
	}
	for i, route := range p.Routes {
		if !seawall.ValidRoute(route) {
			return bad("Routes[%d] is %q; want a path as the router has it, such as /v1/users/:id, without the method, and '*' at its end only", i, route)
		}
	}
	if len(p.Plans) > maxPlans {
		return bad("Plans has %d plans; want at most %d", len(p.Plans), maxPlans)
	}
	res := &policy{Policy: p, limit: limit, plans: map[string]seawall.Rule{}}
	if res.own, err = p.slots("MaxInFlight", p.MaxInFlight, waiting); err != nil {
		return bad("%w", err)
	}
	for name, slots := range p.Plans {
		if name == PlanAllow {
			return bad("Plans has %q, which every policy has", name)
		}
		if err := seawall.ValidName("plan", name); err != nil {
			return bad("%w", err)
		}
		if res.plans[name], err = p.slots(fmt.Sprintf("Plans[%q]", name), slots, waiting); err != nil {
			return bad("%w", err)
		}
	}
	res.Routes, res.Plans = slices.Clone(p.Routes), nil
	return res, nil
}

// slots returns the rule of a cap that a field states.
func (p *Policy) slots(field string, n int64, waiting bool) (seawall.Rule, error) {
	if n < 1 {
		return nil, fmt.Errorf("%s is %d; want at least 1", field, n)
	}
	rule, err := NewSlots(n, p.TTL)
	if err != nil {
		return nil, err
	}
	if p.Weight != nil {
		rule = rule.Weighted()
	}
	if waiting {
		return rule.Queue(0, 0), nil
	}
	return rule, nil
}
