package seawalltest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seawall-go/seawall"
)

// Recorder is a seawall.Observer that remembers decisions, fallbacks and failures, each in order. The zero
// Recorder is empty. It is safe for concurrent use and must not be copied.
type Recorder struct {
	seawall.NopObserver
	mu        sync.Mutex
	events    []seawall.Event
	fallbacks []Fallback
	failures  []error
}

// Fallback is a check that was decided without the store.
type Fallback struct {
	// Name is the limit's, "layer:policy".
	Name    string
	Outcome seawall.Outcome
	// Reason is "timeout", "error", "panic" or what the store says; see seawall.Reason.
	Reason string
}

var _ seawall.Observer = (*Recorder)(nil)

// Decided implements seawall.Observer.
func (r *Recorder) Decided(_ context.Context, _ *seawall.Request, e seawall.Event) {
	if e.Check != nil {
		c := *e.Check // which will be another request's
		e.Check = &c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Fallback implements seawall.Observer.
func (r *Recorder) Fallback(limit *seawall.Limit, outcome seawall.Outcome, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fallbacks = append(r.fallbacks, Fallback{limit.Name(), outcome, reason})
}

// Failed implements seawall.Observer.
func (r *Recorder) Failed(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Errorf("%s: %w", what, err))
}

// Events returns what was decided: one event per request and layer that took part.
func (r *Recorder) Events() []seawall.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Outcomes returns what the named layer or policy meant for each request in which it took part, as the words
// of Outcome.String, which a failing test can print.
func (r *Recorder) Outcomes(name string) []string {
	layer, policy := parse(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	var words []string
	for _, e := range r.events {
		if e.Layer == layer && (policy == "" || e.Policy == policy) {
			words = append(words, e.Outcome.String())
		}
	}
	return words
}

// Count returns how often the named layer or policy had the outcome.
func (r *Recorder) Count(name string, outcome seawall.Outcome) int {
	n := 0
	for _, o := range r.Outcomes(name) {
		if o == outcome.String() {
			n++
		}
	}
	return n
}

// Fallbacks returns the checks that were decided without the store.
func (r *Recorder) Fallbacks() []Fallback {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.fallbacks)
}

// Failures returns what failed inside Seawall, such as a layer that panicked; a test usually wants none. An
// error that the store returned is no failure but a fallback.
func (r *Recorder) Failures() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}

// Reset forgets what was recorded.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.fallbacks, r.failures = nil, nil, nil
}
