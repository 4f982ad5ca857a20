package ratelimit

import (
	"fmt"
	"slices"

	"github.com/seawall-go/seawall"
)

// The plans that every policy has.
const (
	PlanAllow = "allow" // the policy does not limit the caller
	PlanBlock = "block" // the policy refuses the caller, also when the store cannot be asked
)

// maxPlans bounds a policy's plans.
const maxPlans = 1000

// Callers says whom a policy is about.
type Callers uint8

// The callers: all of them, those whose identity was verified (Request.Authenticated), and the others.
const (
	Everyone Callers = iota
	SignedIn
	Anonymous
)

// String returns "everyone", "signed-in" or "anonymous".
func (c Callers) String() string {
	switch c {
	case Everyone:
		return "everyone"
	case SignedIn:
		return "signed-in"
	case Anonymous:
		return "anonymous"
	}
	return "unknown"
}

// Policy is one limit on callers. It is about the requests that Callers, Routes and Match all say it is about,
// and all policies that are about a request must admit it, or none is charged.
type Policy struct {
	// Name appears in headers, labels and flags. Required, unique in a limiter.
	Name string
	// Quota is what a caller may spend. Required.
	Quota Quota
	// Callers says whom the policy is about; zero is everyone.
	Callers Callers
	// Routes are the routes that it is about, as the router has them, such as "/v1/users/:id", for every method. One
	// that ends in '*' is about all that begin so. They share one quota. None is all routes.
	Routes []string
	// Match tells whether it is about a request; nil is about every one.
	Match func(*seawall.Request) bool
	// Key says whose quota a request spends from; nil is Request.Key. A zero Key is not limited.
	Key func(*seawall.Request) seawall.Key
	// Cost says how much a request spends, at least 1; nil is Request.Cost.
	Cost func(*seawall.Request) int64
	// Plans are quotas that some callers have instead, by names of the form of a policy's; at most 1000.
	Plans map[string]Quota
	// Plan says which plan a request falls under: one of Plans, PlanAllow, PlanBlock, or "" for Quota, for which
	// an unknown name stands too. It is asked on every request, so what it says counts from the next one on; what
	// a caller has spent under another plan of the same kind counts, a bucket's debt as the time it takes to
	// refill, but no longer than the new burst takes. Nil is Request.Plan.
	Plan func(*seawall.Request) string
	// OnFailure says what happens when the store cannot be asked; zero is seawall.FailLocal.
	OnFailure seawall.Failure
}

// Authenticated is a policy for callers whose identity was verified: 10 requests a second, in bursts of 50.
func Authenticated() Policy {
	return Policy{Name: "authenticated", Quota: TokenBucket(PerSecond(10), 50), Callers: SignedIn}
}

// Guest is a policy for all other callers: one request a second, in bursts of 5.
func Guest() Policy {
	return Policy{Name: "guest", Quota: TokenBucket(PerSecond(1), 5), Callers: Anonymous}
}

// about tells whether the policy is about a request.
func (p *Policy) about(r *seawall.Request) bool {
	switch p.Callers {
	case SignedIn:
		if !r.Authenticated {
			return false
		}
	case Anonymous:
		if r.Authenticated {
			return false
		}
	}
	return r.On(p.Routes) && (p.Match == nil || p.Match(r))
}

// check returns the policy's check on a request, without its limit and its rule, and the plan; false if there
// is none.
func (p *Policy) check(r *seawall.Request) (c seawall.Check, plan string, ok bool) {
	if !p.about(r) {
		return c, "", false
	}
	c.Key = r.Key
	if p.Key != nil {
		c.Key = p.Key(r)
	}
	if c.Key.IsZero() {
		return c, "", false
	}
	c.Cost = r.Units()
	if p.Cost != nil {
		c.Cost = max(1, p.Cost(r))
	}
	plan = r.Plan
	if p.Plan != nil {
		plan = p.Plan(r)
	}
	return c, plan, plan != PlanAllow
}

// clone copies what the caller could still change, and returns an error that names policy, field and value.
func (p Policy) clone() (Policy, error) {
	bad := func(format string, args ...any) (Policy, error) {
		return p, fmt.Errorf("policy %q: "+format, append([]any{p.Name}, args...)...)
	}
	if err := p.Quota.validate(); err != nil {
		return bad("Quota: %w", err)
	}
	if p.Callers > Anonymous {
		return bad("Callers is %d; want Everyone, SignedIn or Anonymous", p.Callers)
	}
	for i, route := range p.Routes {
		if !seawall.ValidRoute(route) {
			return bad("Routes[%d] is %q; want a path as the router has it, such as /v1/users/:id, without the method, and '*' at its end only", i, route)
		}
	}
	if len(p.Plans) > maxPlans {
		return bad("Plans has %d plans; want at most %d", len(p.Plans), maxPlans)
	}
	plans := map[string]Quota{}
	for name, q := range p.Plans {
		if name == PlanAllow || name == PlanBlock {
			return bad("Plans has %q, which every policy has", name)
		}
		if err := seawall.ValidName("plan", name); err != nil {
			return bad("%w", err)
		}
		if err := q.validate(); err != nil {
			return bad("Plans[%q]: %w", name, err)
		}
		plans[name] = q
	}
	p.Routes, p.Plans = slices.Clone(p.Routes), plans
	return p, nil
}
