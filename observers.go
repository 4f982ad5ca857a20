package seawall

import (
	"context"
	"reflect"
	"time"
)

// Observers is one Observer that tells all of the given ones, in order. Those that are nil are left out, nil pointers too.
func Observers(all ...Observer) Observer {
	var some observers
	for _, o := range all {
		if !isNil(o) {
			some = append(some, o)
		}
	}
	switch len(some) {
	case 0:
		return NopObserver{}
	case 1:
		return some[0]
	}
	return some
}

// isNil tells whether there is nothing in an interface, or a nil pointer.
func isNil(v any) bool {
	p := reflect.ValueOf(v)
	return v == nil || p.Kind() == reflect.Pointer && p.IsNil()
}

type observers []Observer

// Decided implements Observer.
func (all observers) Decided(ctx context.Context, r *Request, e Event) {
	for _, o := range all {
		o.Decided(ctx, r, e)
	}
}

// Checked implements Observer.
func (all observers) Checked(r *Request, checks []Check, results []Result) {
	for _, o := range all {
		o.Checked(r, checks, results)
	}
}

// Finished implements Observer.
func (all observers) Finished(r *Request, checks []Check, results []Result) {
	for _, o := range all {
		o.Finished(r, checks, results)
	}
}

// Fallback implements Observer.
func (all observers) Fallback(limit *Limit, outcome Outcome, reason string) {
	for _, o := range all {
		o.Fallback(limit, outcome, reason)
	}
}

// Asking implements Observer.
func (all observers) Asking(ctx context.Context, checks []Check) func(time.Duration, error) {
	var afterwards []func(time.Duration, error)
	for _, o := range all {
		if f := o.Asking(ctx, checks); f != nil {
			afterwards = append(afterwards, f)
		}
	}
	switch len(afterwards) {
	case 0:
		return nil
	case 1:
		return afterwards[0]
	}
	return func(took time.Duration, err error) {
		for _, f := range afterwards {
			f(took, err)
		}
	}
}

// Inflight implements Observer.
func (all observers) Inflight(layer string, delta int) {
	for _, o := range all {
		o.Inflight(layer, delta)
	}
}

// Failed implements Observer.
func (all observers) Failed(what string, err error) {
	for _, o := range all {
		o.Failed(what, err)
	}
}
