package concurrency

import (
	"errors"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

// Name is the layer's name.
const Name = "concurrency"

// The policies that MaxInFlight and MaxLongLived stand for.
const (
	DefaultPolicy   = "in-flight"
	LongLivedPolicy = "long-lived"
)

// maxWaiting bounds Config.MaxWaiting.
const maxWaiting = 10_000

// Config says how many requests a caller may have in flight.
type Config struct {
	// MaxInFlight is the cap per caller on all requests but long-lived ones: the policy DefaultPolicy. 20 is a good
	// start. Zero is no such policy; then Policies is required.
	MaxInFlight int64
	// MaxLongLived is the cap per caller on long-lived requests (seawall.Request.LongLived): the policy LongLivedPolicy.
	// Zero is MaxInFlight; if that is zero, too, only Policies with LongLived bound them.
	MaxLongLived int64
	// Policies are further caps, such as one on a group of routes. At most 16 in all.
	Policies []Policy
	// TTL is how long the slots of those two policies stay taken after their instance died, 1 s to 1 h in whole
	// milliseconds; zero is DefaultTTL.
	TTL time.Duration
	// OnFailure says what happens to those two policies when the store cannot be asked; zero is seawall.FailLocal.
	OnFailure seawall.Failure
	// Store is what Acquire asks. A Stack asks its own; both may be the same.
	Store seawall.Store
	// MaxWaiting is how many calls of Acquire of this process may wait for the same slots, at most 10,000; zero is none. A
	// limiter with waiting also has requests of a Stack stand behind the first who waits at each instance, and be refused.
	// All instances had better have it or none, and limiters that share a store in memory must.
	MaxWaiting int
}

// Limiter is the layer "concurrency". It is safe for concurrent use.
type Limiter struct {
	policies []*policy
	limits   []*seawall.Limit
	store    seawall.Store
	waiting  int
	lines    seawall.Lines
}

var _ seawall.Layer = (*Limiter)(nil)

// New returns a Limiter. It copies the policies; errors name the policy, the field and the value.
func New(cfg Config) (*Limiter, error) {
	policies, err := cfg.policies()
	if err != nil {
		return nil, fmt.Errorf("concurrency: %w", err)
	}
	if cfg.MaxWaiting < 0 || cfg.MaxWaiting > maxWaiting {
		return nil, fmt.Errorf("concurrency: MaxWaiting is %d; want 0 to %d", cfg.MaxWaiting, maxWaiting)
	}
	l := &Limiter{store: cfg.Store, waiting: cfg.MaxWaiting}
	names := map[string]bool{}
	for _, p := range policies {
		if names[p.Name] {
			return nil, fmt.Errorf("concurrency: policy %q is given twice", p.Name)
		}
		names[p.Name] = true
		resolved, err := p.resolve(cfg.MaxWaiting > 0)
		if err != nil {
			return nil, fmt.Errorf("concurrency: %w", err)
		}
		l.policies = append(l.policies, resolved)
		l.limits = append(l.limits, resolved.limit)
	}
	return l, nil
}

// policies returns all policies, those of the short fields first.
func (cfg Config) policies() ([]Policy, error) {
	var all []Policy
	switch {
	case cfg.MaxInFlight < 0:
		return nil, fmt.Errorf("MaxInFlight is %d; want at least 1, or zero and Policies", cfg.MaxInFlight)
	case cfg.MaxLongLived < 0:
		return nil, fmt.Errorf("MaxLongLived is %d; want at least 1, or zero for as many as MaxInFlight", cfg.MaxLongLived)
	case cfg.MaxInFlight == 0 && cfg.MaxLongLived == 0 && len(cfg.Policies) == 0:
		return nil, errors.New("MaxInFlight is 0 and Policies is empty; want at least 1 in flight, or a policy")
	}
	if cfg.MaxLongLived == 0 {
		cfg.MaxLongLived = cfg.MaxInFlight
	}
	if n := cfg.MaxInFlight; n > 0 {
		all = append(all, Policy{Name: DefaultPolicy, MaxInFlight: n, TTL: cfg.TTL, OnFailure: cfg.OnFailure})
	}
	if n := cfg.MaxLongLived; n > 0 {
		all = append(all, Policy{Name: LongLivedPolicy, MaxInFlight: n, LongLived: true, TTL: cfg.TTL, OnFailure: cfg.OnFailure})
	}
	if all = append(all, cfg.Policies...); len(all) > maxPolicies {
		return nil, fmt.Errorf("there are %d policies; want at most %d", len(all), maxPolicies)
	}
	return all, nil
}

// Name implements seawall.Layer.
func (l *Limiter) Name() string { return Name }

// Cause implements seawall.Layer.
func (l *Limiter) Cause() seawall.Cause { return seawall.CauseQuota }

// Limits implements seawall.Layer.
func (l *Limiter) Limits() []*seawall.Limit { return l.limits }

// Plan implements seawall.Layer.
func (l *Limiter) Plan(dst []seawall.Check, r *seawall.Request) []seawall.Check {
	for _, p := range l.policies {
		if c, ok := p.check(r); ok {
			dst = append(dst, c)
		}
	}
	return dst
}

// Typical implements seawall.Typical.
func (l *Limiter) Typical() seawall.Check {
	p := l.policies[0]
	return seawall.Check{Limit: p.limit, Rule: p.own, Key: seawall.NewKey("typical"), Cost: 1}
}
