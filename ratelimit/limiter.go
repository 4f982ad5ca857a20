package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// Name is the layer's name.
const Name = "ratelimit"

// maxPolicies bounds the checks of one request, so that its script stays within what Lua takes.
const maxPolicies = 16

// Config says what a Limiter limits.
type Config struct {
	// Policies are all evaluated for a request that they are about. 1 to 16.
	Policies []Policy
	// Scale multiplies every rate, burst and limit; nil is 1. It is asked on every request. A value that is not
	// a positive number counts as 1.
	Scale func() float64
}

// Limiter is the layer "ratelimit". It is safe for concurrent use.
type Limiter struct {
	scale func() float64
	set   atomic.Pointer[set]

	mu     sync.Mutex                       // held to reload
	limits map[seawall.Limit]*seawall.Limit // all that there ever were: the same limit keeps its gate
	told   []func([]*seawall.Limit)
}

// set is the policies between two reloads.
type set struct {
	policies []Policy
	limits   []*seawall.Limit
	rules    atomic.Pointer[rules]
}

// rules are those of a set's policies at one scale.
type rules struct {
	scale    float64
	policies []policyRules
}

// policyRules are the rules of one policy.
type policyRules struct {
	own   Rule
	plans map[string]Rule
}

func (r *policyRules) of(plan string) seawall.Rule {
	if plan == "" {
		return r.own
	}
	if plan == PlanBlock {
		return block{seawall.Never}
	}
	if rule, ok := r.plans[plan]; ok {
		return rule
	}
	return r.own
}

var _ seawall.Reloader = (*Limiter)(nil)

// New returns a Limiter. It copies the policies; errors name the policy, the field and the value.
func New(cfg Config) (*Limiter, error) {
	l := &Limiter{scale: cfg.Scale, limits: map[seawall.Limit]*seawall.Limit{}}
	if err := l.Reload(cfg.Policies); err != nil {
		return nil, err
	}
	return l, nil
}

// Reload replaces the policies, for all decisions that begin after it has returned; if it returns an error,
// nothing has changed. What callers have spent counts on under a policy that keeps its name and its kind of
// quota, as far as the new window reaches back.
func (l *Limiter) Reload(policies []Policy) error {
	s, err := newSet(policies)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, limit := range s.limits {
		if known, ok := l.limits[*limit]; ok {
			s.limits[i] = known
		} else {
			l.limits[*limit] = limit
		}
	}
	for _, tell := range l.told {
		tell(s.limits)
	}
	l.set.Store(s)
	return nil
}

// OnLimits implements seawall.Reloader.
func (l *Limiter) OnLimits(f func([]*seawall.Limit)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, f)
}

// newSet validates policies.
func newSet(policies []Policy) (*set, error) {
	if len(policies) == 0 {
		return nil, errors.New("ratelimit: Policies is empty; want at least one policy")
	}
	if len(policies) > maxPolicies {
		return nil, fmt.Errorf("ratelimit: Policies has %d policies; want at most %d", len(policies), maxPolicies)
	}
	s := &set{}
	names := map[string]bool{}
	for i, p := range policies {
		if names[p.Name] {
			return nil, fmt.Errorf("ratelimit: policy %q is given twice", p.Name)
		}
		names[p.Name] = true
		limit, err := seawall.NewLimit(Name, p.Name, p.OnFailure)
		if err != nil {
			return nil, fmt.Errorf("ratelimit: Policies[%d]: %w", i, err)
		}
		p, err := p.clone()
		if err != nil {
			return nil, fmt.Errorf("ratelimit: %w", err)
		}
		s.policies = append(s.policies, p)
		s.limits = append(s.limits, limit)
	}
	s.rules.Store(s.scaled(1))
	return s, nil
}

// scaled returns the rules of the policies at a scale.
func (s *set) scaled(scale float64) *rules {
	all := &rules{scale: scale}
	for _, p := range s.policies {
		r := policyRules{own: p.Quota.scaled(scale).rule(), plans: map[string]Rule{}}
		for name, q := range p.Plans {
			r.plans[name] = q.scaled(scale).rule()
		}
		all.policies = append(all.policies, r)
	}
	return all
}

// Name implements seawall.Layer.
func (l *Limiter) Name() string { return Name }

// Cause implements seawall.Layer.
func (l *Limiter) Cause() seawall.Cause { return seawall.CauseQuota }

// Limits implements seawall.Layer.
func (l *Limiter) Limits() []*seawall.Limit { return l.set.Load().limits }

// Plan implements seawall.Layer.
func (l *Limiter) Plan(dst []seawall.Check, r *seawall.Request) []seawall.Check {
	s := l.set.Load()
	all := s.at(l.scale)
	for i := range s.policies {
		c, plan, ok := s.policies[i].check(r)
		if !ok {
			continue
		}
		c.Limit, c.Rule = s.limits[i], all.policies[i].of(plan)
		dst = append(dst, c)
	}
	return dst
}

// Typical implements seawall.Typical.
func (l *Limiter) Typical() seawall.Check {
	s := l.set.Load()
	return seawall.Check{Limit: s.limits[0], Rule: s.at(l.scale).policies[0].own, Key: seawall.NewKey("typical"), Cost: 1}
}

// at returns the rules at the present scale. A caller's debt is kept in time across scales.
func (s *set) at(scale func() float64) *rules {
	all := s.rules.Load()
	if scale == nil {
		return all
	}
	f := scale()
	if !(f > 0) || math.IsInf(f, 0) {
		f = 1
	}
	if f == all.scale {
		return all
	}
	all = s.scaled(f)
	s.rules.Store(all)
	return all
}
