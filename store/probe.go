package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seawall-go/seawall"
)

const (
	// probeEvery is how often the shared store is probed while a breaker is open, on average: each wait is half to
	// one and a half of it, so that instances do not come in step.
	probeEvery = 500 * time.Millisecond
	// answersInRow is how many answers in a row, each in time, make a good probe. Of a store that does not answer
	// a probe is one question.
	answersInRow = 5
)

// gaveUp is told that a breaker has opened.
func (f *Failover) gaveUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// say logs that the shared store is given up.
func (f *Failover) say() {
	why := f.quick.why.Load()
	if !f.quick.isOpen() {
		why = f.patient.why.Load()
	}
	f.log.Warn("seawall: the shared store is given up: limits are decided by this instance's shares of them, those that fail closed refuse; it is probed twice a second",
		"store", f.String(), "reason", seawall.Reason(why), "error", why.cause)
}

// probes probes the shared store whenever a breaker is open, until the Failover is closed.
func (f *Failover) probes() {
	for {
		select {
		case <-f.wake:
		case <-f.stop:
			return
		}
		if !f.Open() { // it was known already
			continue
		}
		began := time.Now()
		f.say()
		for f.Open() {
			timer := time.NewTimer(probeEvery/2 + rand.N(probeEvery)) //nolint:gosec // no secret
			select {
			case <-timer.C:
			case <-f.stop:
				timer.Stop()
				return
			}
			f.probe()
		}
		f.log.Info("seawall: the shared store is asked again", "store", f.String(), "after", time.Since(began).Round(time.Millisecond))
	}
}

// probe asks the shared store and reports to the breakers that are open.
func (f *Failover) probe() {
	slowest, err := f.answers()
	if err != nil { // not even within the longer wait
		f.patient.trip(err)
	}
	for _, b := range []struct {
		*breaker
		wait time.Duration
	}{{f.quick, f.wait}, {f.patient, f.waitClosed}} {
		if b.isOpen() {
			b.probed(err == nil && slowest <= b.wait)
		}
	}
}

// answers returns how long the slowest of some answers took, or why there are not as many.
func (f *Failover) answers() (slowest time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p}
		}
	}()
	for range answersInRow {
		ctx, cancel := context.WithTimeout(context.Background(), f.waitClosed)
		began := time.Now()
		err := f.shared.Probe(ctx)
		cancel()
		if err != nil {
			return 0, fmt.Errorf("store: probe: %w", err)
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest, nil
}
