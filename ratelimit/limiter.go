package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// Name is the layer's name.
const Name = "ratelimit"

// maxPolicies bounds the checks of one request, so that its script stays within what Lua takes.
const maxPolicies = 16

// Policy is one limit on callers.
type Policy struct {
	// Name appears in headers, labels and flags. Required, unique in a limiter.
	Name string
	// Rate is how fast a bucket refills. Required.
	Rate Rate
	// Burst is how many tokens a bucket holds, at least 1. Required.
	Burst int64
	// Match tells whether the policy is about a request; nil is about every one.
	Match func(*seawall.Request) bool
	// Key says whose bucket a request spends from; nil is Request.Key. A zero Key is not limited.
	Key func(*seawall.Request) seawall.Key
	// Cost says how many tokens a request takes, at least 1; nil is Request.Cost.
	Cost func(*seawall.Request) int64
	// OnFailure says what happens when the store cannot be asked; zero is seawall.FailLocal.
	OnFailure seawall.Failure
}

// Config says what a Limiter limits.
type Config struct {
	// Policies are all evaluated for a request that they match. 1 to 16.
	Policies []Policy
	// Scale multiplies every rate and burst; nil is 1. It is asked on every request. A value that is not a
	// positive number counts as 1.
	Scale func() float64
}

// Limiter is the layer "ratelimit". It is safe for concurrent use.
type Limiter struct {
	policies []Policy
	limits   []*seawall.Limit
	scale    func() float64
	buckets  atomic.Pointer[buckets]
}

// buckets are the policies' rules at one scale.
type buckets struct {
	scale float64
	rules []*Bucket
}

var _ seawall.Layer = (*Limiter)(nil)

// New returns a Limiter. It copies the policies; errors name the policy, the field and the value.
func New(cfg Config) (*Limiter, error) {
	if len(cfg.Policies) == 0 {
		return nil, errors.New("ratelimit: Config.Policies is empty; want at least one policy")
	}
	if len(cfg.Policies) > maxPolicies {
		return nil, fmt.Errorf("ratelimit: Config.Policies has %d policies; want at most %d", len(cfg.Policies), maxPolicies)
	}
	l := &Limiter{policies: append([]Policy(nil), cfg.Policies...), scale: cfg.Scale}
	unscaled := &buckets{scale: 1}
	names := map[string]bool{}
	for _, p := range l.policies {
		if names[p.Name] {
			return nil, fmt.Errorf("ratelimit: policy %q is given twice", p.Name)
		}
		names[p.Name] = true
		limit, err := seawall.NewLimit(Name, p.Name, p.OnFailure)
		if err != nil {
			return nil, fmt.Errorf("ratelimit: %w", err)
		}
		rule, err := NewBucket(p.Rate, p.Burst)
		if err != nil {
			return nil, fmt.Errorf("ratelimit: policy %q: %w", p.Name, err)
		}
		l.limits = append(l.limits, limit)
		unscaled.rules = append(unscaled.rules, rule)
	}
	l.buckets.Store(unscaled)
	return l, nil
}

// Name implements seawall.Layer.
func (l *Limiter) Name() string { return Name }

// Cause implements seawall.Layer.
func (l *Limiter) Cause() seawall.Cause { return seawall.CauseQuota }

// Limits implements seawall.Layer.
func (l *Limiter) Limits() []*seawall.Limit { return l.limits }

// Plan implements seawall.Layer.
func (l *Limiter) Plan(dst []seawall.Check, r *seawall.Request) []seawall.Check {
	rules := l.rules()
	for i := range l.policies {
		p := &l.policies[i]
		if p.Match != nil && !p.Match(r) {
			continue
		}
		key := r.Key
		if p.Key != nil {
			key = p.Key(r)
		}
		if key.IsZero() {
			continue
		}
		cost := r.Units()
		if p.Cost != nil {
			cost = p.Cost(r)
		}
		dst = append(dst, seawall.Check{Limit: l.limits[i], Rule: rules[i], Key: key, Cost: max(1, cost)})
	}
	return dst
}

// Typical implements seawall.Typical.
func (l *Limiter) Typical() seawall.Check {
	return seawall.Check{Limit: l.limits[0], Rule: l.rules()[0], Key: seawall.NewKey("typical"), Cost: 1}
}

// rules returns the policies' buckets at the present scale. A caller's debt is kept in time across scales.
func (l *Limiter) rules() []*Bucket {
	b := l.buckets.Load()
	if l.scale == nil {
		return b.rules
	}
	s := l.scale()
	if !(s > 0) || math.IsInf(s, 0) {
		s = 1
	}
	if s == b.scale {
		return b.rules
	}
	next := &buckets{scale: s}
	for _, p := range l.policies {
		next.rules = append(next.rules, scaled(p.Rate, p.Burst, s))
	}
	l.buckets.Store(next)
	return next.rules
}
