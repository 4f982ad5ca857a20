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

// Refuses tells whether the outcome is a refusal, enforced or not.
func (o Outcome) Refuses() bool { return o == Denied || o == WouldDeny }

// Event reports one layer's part in one decision.
type Event struct {
	// Limit is that of Check; of a layer that was skipped, one of those that it would have been asked about. Layer and
	// Policy are its names.
	Limit         *Limit
	Layer, Policy string
	Mode          Mode
	Outcome       Outcome
	// Check is the question that the outcome is reported with, and Result the answer; nil and zero if the layer was
	// skipped. Check must not be changed or kept. A local layer's has no Rule.
	Check  *Check
	Result Result
	// Took is the time from the start of the decision to the layer's part in it.
	Took time.Duration
}

// Source is who gave an answer.
type Source uint8

// The sources.
const (
	SourceStore     Source = iota // the store
	SourceLocal                   // this instance: a local layer, or whoever answers when the store cannot be asked
	SourceDenyCache               // a wrapper of the store, which repeats what the store said: see Result.Repeated
)

// String returns "store", "local" or "deny cache".
func (s Source) String() string {
	switch s {
	case SourceStore:
		return "store"
	case SourceLocal:
		return "local"
	case SourceDenyCache:
		return "deny cache"
	}
	return "unknown"
}

// Source tells who gave the answer behind the outcome. It makes no sense of a layer that was skipped.
func (e *Event) Source() Source {
	switch {
	case e.Check == nil || e.Check.Rule == nil || e.Result.Fallback:
		return SourceLocal
	case e.Result.Repeated:
		return SourceDenyCache
	}
	return SourceStore
}

// Observer is told what happens. Its methods are called on the request's goroutine: they must be fast, and
// safe for concurrent use. A nil Observer observes nothing; embed [NopObserver] to implement a part.
type Observer interface {
	// Decided is called once per request and layer that took part.
	Decided(ctx context.Context, r *Request, e Event)
	// Checked is called once per request, after Decided, with all that was asked of local layers and the store, and the
	// answers as far as there are any, in the same order. They must not be changed or kept.
	Checked(r *Request, checks []Check, results []Result)
	// Finished is called with the same when the request is done.
	Finished(r *Request, checks []Check, results []Result)
	// Fallback is called once per check that was decided without the store. reason is one of a small set.
	Fallback(limit *Limit, outcome Outcome, reason string)
	// Asking is called before the store is asked; the function it returns, if any, afterwards, with how long that took.
	Asking(ctx context.Context, checks []Check) func(took time.Duration, err error)
	// Inflight is called with +1 when a request begins to hold something of a layer, and -1 when it has been given back: in
	// memory, another request can have it then.
	Inflight(layer string, delta int)
	// Failed is called when something in Seawall failed that does not follow from a store's error.
	Failed(what string, err error)
}

// NopObserver observes nothing.
type NopObserver struct{}

// Decided implements Observer.
func (NopObserver) Decided(context.Context, *Request, Event) {}

// Checked implements Observer.
func (NopObserver) Checked(*Request, []Check, []Result) {}

// Finished implements Observer.
func (NopObserver) Finished(*Request, []Check, []Result) {}

// Fallback implements Observer.
func (NopObserver) Fallback(*Limit, Outcome, string) {}

// Asking implements Observer.
func (NopObserver) Asking(context.Context, []Check) func(time.Duration, error) { return nil }

// Inflight implements Observer.
func (NopObserver) Inflight(string, int) {}

// Failed implements Observer.
func (NopObserver) Failed(string, error) {}
