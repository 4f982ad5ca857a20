package split

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seawall-go/seawall"
)

// Of returns the store that has the state of a key at present.
type Of func(key seawall.Key) seawall.Store

// Apply is Store.Apply with the stores that have the checks' states. It returns when ctx is done at the latest, if each of them
// does.
func Apply(ctx context.Context, of Of, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if alone(checks) {
		return of(checks[0].Key).Apply(ctx, dst, checks)
	}
	parts := divide(of, checks)
	var others sync.WaitGroup
	for _, p := range parts[1:] {
		others.Go(func() { p.ask(ctx) })
	}
	parts[0].ask(ctx)
	others.Wait()
	from := len(dst)
	dst = append(dst, make([]seawall.Result, len(checks))...)
	err := gather(parts, dst[from:], checks)
	takeBack(ctx, parts, dst[from:], checks)
	return dst, err
}

// alone tells whether all checks are of one key.
func alone(checks []seawall.Check) bool {
	for i := 1; i < len(checks); i++ {
		if checks[i].Key != checks[0].Key {
			return false
		}
	}
	return len(checks) > 0
}

// part is what is asked about one key.
type part struct {
	store   seawall.Store
	at      []int // where its checks are in the request
	checks  []seawall.Check
	results []seawall.Result
	err     error
}

// ByKey returns where in the request the checks of each key are, in the order in which the keys are first met.
func ByKey(checks []seawall.Check) (places [][]int) {
	for i := range checks {
		k := slices.IndexFunc(places, func(at []int) bool { return checks[at[0]].Key == checks[i].Key })
		if k < 0 {
			k, places = len(places), append(places, nil)
		}
		places[k] = append(places[k], i)
	}
	return places
}

func divide(of Of, checks []seawall.Check) (parts []*part) {
	for _, at := range ByKey(checks) {
		p := &part{store: of(checks[at[0]].Key), at: at}
		for _, i := range at {
			c := checks[i]
			c.Timed = c.Timed || c.Op == seawall.Spend && refundable(&c)
			p.checks = append(p.checks, c)
		}
		parts = append(parts, p)
	}
	return parts
}

// ask asks the store. A panic in it is an error.
func (p *part) ask(ctx context.Context) {
	defer func() {
		if value := recover(); value != nil {
			p.results, p.err = nil, &panicError{value}
		}
	}()
	// A wait of its own: it is asked for by each store whether there is more of it.
	if wait, ok := seawall.WaitOf(ctx); ok {
		var stop context.CancelFunc
		ctx, stop = seawall.Patient(ctx, wait)
		defer stop()
	}
	p.results, p.err = p.store.Apply(ctx, make([]seawall.Result, 0, len(p.checks)), p.checks)
	if len(p.results) != len(p.checks) {
		if p.err == nil {
			p.err = fmt.Errorf("split: a store answered %d of %d checks", len(p.results), len(p.checks))
		}
		p.results = nil
	}
}

// panicError is a panic in a store.
type panicError struct{ value any }

func (e *panicError) Error() string  { return fmt.Sprintf("split: panic in a store: %v", e.value) }
func (e *panicError) Reason() string { return "panic" }

// gather puts the parts' answers where they belong. What has none is Admitted and Fallback until somebody knows better.
func gather(parts []*part, results []seawall.Result, checks []seawall.Check) error {
	var errs []error
	answered := make([]bool, len(checks))
	for _, p := range parts {
		if p.err != nil {
			errs = append(errs, p.err)
		}
		for k, i := range p.at {
			checks[i].ID = p.checks[k].ID
			if checks[i].Timed {
				checks[i].At = p.checks[k].At
			}
			answered[i] = p.err == nil
			if p.results == nil {
				results[i] = seawall.Result{Admitted: true, Fallback: true}
			} else {
				results[i] = p.results[k]
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &partialError{errors.Join(errs...), answered}
}

// partialError is what the stores that failed returned.
type partialError struct {
	error
	answered []bool
}

func (e *partialError) Unwrap() error { return e.error }

// Answered is for seawall.Answered.
func (e *partialError) Answered(i int) bool { return i < len(e.answered) && e.answered[i] }

// Undone is for seawall.Undone: of several stores it is not known.
func (e *partialError) Undone() bool { return false }
