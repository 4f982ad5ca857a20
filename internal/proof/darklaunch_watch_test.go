package proof

import (
	"context"
	"fmt"

	"github.com/seawall-go/seawall"
)

// darkWatch is an observer that remembers.
type darkWatch struct {
	seawall.NopObserver
	events   []seawall.Event
	inflight map[string]int
	troubles []string
}

// Decided implements seawall.Observer.
func (w *darkWatch) Decided(_ context.Context, _ *seawall.Request, e seawall.Event) {
	e.Took, e.Limit, e.Check = 0, nil, nil // a check may not be kept
	w.events = append(w.events, e)
}

// Fallback implements seawall.Observer.
func (w *darkWatch) Fallback(l *seawall.Limit, outcome seawall.Outcome, reason string) {
	w.troubles = append(w.troubles, fmt.Sprintf("%s was %v without the store: %s", l.Name(), outcome, reason))
}

// Inflight implements seawall.Observer.
func (w *darkWatch) Inflight(layer string, delta int) { w.inflight[layer] += delta }

// Failed implements seawall.Observer.
func (w *darkWatch) Failed(what string, err error) {
	w.troubles = append(w.troubles, fmt.Sprintf("%s: %v", what, err))
}
