package concurrency

import (
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

// Name is the layer's name.
const Name = "concurrency"

// DefaultPolicy is the name of the policy unless told otherwise.
const DefaultPolicy = "in-flight"

// Config says how many requests a caller may have in flight.
type Config struct {
	// MaxInFlight is the cap per caller, at least 1. Required; 20 is a good start.
	MaxInFlight int64
	// Policy is the policy's name; empty is DefaultPolicy.
	Policy string
	// Match tells whether the cap is about a request; nil is about every one.
	Match func(*seawall.Request) bool
	// TTL is how long the slots of an instance that died stay taken, 1 s to 1 h; zero is DefaultTTL.
	TTL time.Duration
	// OnFailure says what happens when the store cannot be asked; zero is seawall.FailLocal.
	OnFailure seawall.Failure
}

// Limiter is the layer "concurrency". It is safe for concurrent use.
type Limiter struct {
	limit *seawall.Limit
	rule  *Slots
	match func(*seawall.Request) bool
}

var _ seawall.Layer = (*Limiter)(nil)

// New returns a Limiter; errors name the field and the value.
func New(cfg Config) (*Limiter, error) {
	if cfg.Policy == "" {
		cfg.Policy = DefaultPolicy
	}
	limit, err := seawall.NewLimit(Name, cfg.Policy, cfg.OnFailure)
	if err != nil {
		return nil, fmt.Errorf("concurrency: %w", err)
	}
	if cfg.MaxInFlight < 1 {
		return nil, fmt.Errorf("concurrency: MaxInFlight is %d; want at least 1", cfg.MaxInFlight)
	}
	rule, err := NewSlots(cfg.MaxInFlight, cfg.TTL)
	if err != nil {
		return nil, fmt.Errorf("concurrency: %w", err)
	}
	return &Limiter{limit: limit, rule: rule, match: cfg.Match}, nil
}

// Name implements seawall.Layer.
func (l *Limiter) Name() string { return Name }

// Cause implements seawall.Layer.
func (l *Limiter) Cause() seawall.Cause { return seawall.CauseQuota }

// Limits implements seawall.Layer.
func (l *Limiter) Limits() []*seawall.Limit { return []*seawall.Limit{l.limit} }

// Plan implements seawall.Layer.
func (l *Limiter) Plan(dst []seawall.Check, r *seawall.Request) []seawall.Check {
	if r.Key.IsZero() || l.match != nil && !l.match(r) {
		return dst
	}
	return append(dst, seawall.Check{Limit: l.limit, Rule: l.rule, Key: r.Key, Cost: 1})
}

// Typical implements seawall.Typical.
func (l *Limiter) Typical() seawall.Check {
	return seawall.Check{Limit: l.limit, Rule: l.rule, Key: seawall.NewKey("typical"), Cost: 1}
}
