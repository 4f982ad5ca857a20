package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

const (
	// patience is how long a worker waits for the budget before it says that it is spent.
	patience = 10 * time.Second
	// again is how long it leaves alone what failed.
	again = 100 * time.Millisecond
)

// worker makes one call after the other.
type worker struct {
	client   *client
	api      string
	searches float64 // their share of the calls
	wait     bool    // for tomorrow's budget, when today's is spent
	say      func(format string, args ...any)
	tally
}

// run makes calls until the budget is spent, or stop is done. A call that is under way then has until cut is
// done: one that is cut off has cost its units.
func (w *worker) run(stop, cut context.Context) error {
	spent := false
	for n := 0; stop.Err() == nil && (w.wait || !spent); {
		operation := list
		if int(float64(n+1)*w.searches) > int(float64(n)*w.searches) {
			operation = search
		}
		req, err := http.NewRequestWithContext(cut, http.MethodGet, w.api+operation, http.NoBody)
		if err != nil {
			return err
		}
		waiting, cancel := context.WithCancel(stop)
		if !spent {
			waiting, cancel = context.WithTimeout(stop, patience)
		}
		if spent = w.call(waiting, stop, operation, req); !spent {
			n++
		}
		cancel()
	}
	return nil
}

// call makes one call and counts what came of it. It tells whether the budget is spent.
func (w *worker) call(waiting, stop context.Context, operation string, req *http.Request) (spent bool) {
	resp, err := w.client.do(waiting, operation, req)
	if unpaid, ok := errors.AsType[*unpaidError](err); ok {
		return w.unpaid(stop, operation, unpaid)
	}
	if err != nil {
		if notReached(err) {
			w.count(&w.notReached, err)
		} else {
			w.count(&w.unanswered, err)
			w.units.Add(price(operation))
		}
		_ = sleep(stop, again)
		return false
	}
	defer resp.Body.Close() // a worker of yours reads it
	w.calls.Add(1)
	w.units.Add(price(operation))
	if resp.StatusCode != http.StatusOK {
		w.count(&w.refused, errors.New(resp.Status))
	}
	return false
}

// unpaid finds out why nothing was sent, and tells whether the budget is spent. As long as the store does not
// answer it asks what costs nothing: an attempt to spend that has no answer may have succeeded.
func (w *worker) unpaid(stop context.Context, operation string, why *unpaidError) (spent bool) {
	if refused, ok := errors.AsType[*ratelimit.RefusedError](why); ok {
		if day, _ := refused.Answer.Of(dayPolicy); !day.Admitted {
			whole := time.Now().Add(day.ResetAfter).Round(time.Minute).In(w.client.zone)
			w.say("spent: %d units are left of the day, and a %s costs %d; whole again at %s",
				day.Remaining, operation[1:], price(operation), whole.Format("2006-01-02 15:04 MST"))
			return true
		}
	}
	if stop.Err() != nil {
		return false
	}
	if errors.Is(why, ratelimit.ErrUnknown) {
		w.count(&w.unknown, why)
	}
	for {
		_, err := w.client.budget.Peek(stop, &seawall.Request{Key: w.client.account, Route: operation})
		if err == nil || sleep(stop, again) != nil {
			return false
		}
	}
}
