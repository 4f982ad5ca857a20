package seawall

import (
	"context"
	"time"
)

// Outcome is what one layer meant for one request.
type Outcome uint8

// The outcomes.
const (
	Allowed   Outcome = iota
	Denied            // an enforced refusal
	WouldDeny         // a refusal in log-only mode
	Skipped           // a refusal came before
)

// String returns "allowed", "denied", "would_deny" or "skipped".
func (o Outcome) String() string {
	switch o {
	case Allowed:
		return "allowed"
	case Denied:
		return "denied"
	case WouldDeny:
		return "would_deny"
	case Skipped:
		return "skipped"
	}
	return "unknown"
}

// Event reports one layer's part in one decision.
type Event struct {
	Layer, Policy string
	Mode          Mode
	Outcome       Outcome
	// Result is the answer behind the outcome; zero if the layer was skipped unasked.
	Result Result
	// Took is the time from the start of the decision to the layer's part in it.
	Took time.Duration
}

// Observer is told what happens. Its methods are called on the request's goroutine: they must be fast, and
// safe for concurrent use. A nil Observer observes nothing; embed [NopObserver] to implement a part.
type Observer interface {
	// Decided is called once per request and layer that took part.
	Decided(ctx context.Context, r *Request, e Event)
	// Fallback is called once per check that was decided without the store. reason is one of a small set.
	Fallback(limit *Limit, outcome Outcome, reason string)
	// Asking is called before the store is asked; the function it returns, if any, afterwards.
	Asking(ctx context.Context, checks []Check) func(err error)
	// Inflight is called with +1 when a request begins to hold something of a layer, and -1 at its end.
	Inflight(layer string, delta int)
	// Failed is called when something in Seawall failed that does not follow from a store's error.
	Failed(what string, err error)
}

// NopObserver observes nothing.
type NopObserver struct{}

// Decided implements Observer.
func (NopObserver) Decided(context.Context, *Request, Event) {}

// Fallback implements Observer.
func (NopObserver) Fallback(*Limit, Outcome, string) {}

// Asking implements Observer.
func (NopObserver) Asking(context.Context, []Check) func(error) { return nil }

// Inflight implements Observer.
func (NopObserver) Inflight(string, int) {}

// Failed implements Observer.
func (NopObserver) Failed(string, error) {}
