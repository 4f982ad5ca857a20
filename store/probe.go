package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seawall-go/seawall"
)

const (
	// probeEvery is how often the shared store is probed while a breaker is open, on average: each wait is half to
	// one and a half of it, so that instances do not come in step.
	probeEvery = 500 * time.Millisecond
	// questions make a probe, and enough of them must be answered in time. Of a store that does not answer the first
	// a probe is one question.
	questions, enough = 5, 4
	// hopeless is after how many probes in a row that were not answered at all everybody gives up.
	hopeless = 3
)

// gaveUp is told that a breaker has opened.
func (f *Failover) gaveUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// probes probes the shared store whenever a breaker is open, until the Failover is closed.
func (f *Failover) probes() {
	for {
		select {
		case <-f.wake:
			f.probeUntilWell()
		case <-f.stop:
			return
		}
	}
}

// probeUntilWell probes until all breakers are closed, and logs what is given up, once.
func (f *Failover) probeUntilWell() {
	began, unanswered := time.Now(), 0
	quick, patient := false, false // it was said of them
	for f.Open() {
		if !quick && f.quick.isOpen() {
			quick = true
			f.say("limits are decided by this instance's shares of them", f.quick)
		}
		if !patient && f.patient.isOpen() {
			patient = true
			f.say("limits that fail closed refuse", f.patient)
		}
		timer := time.NewTimer(probeEvery/2 + rand.N(probeEvery)) //nolint:gosec // no secret
		select {
		case <-timer.C:
		case <-f.stop:
			timer.Stop()
			return
		}
		unanswered++
		err := f.probe()
		if err == nil || saysNothing(err) {
			unanswered = 0
		}
		if unanswered >= hopeless {
			f.quick.trip(err)
			f.patient.trip(err)
		}
	}
	if quick || patient {
		f.log.Info("seawall: the shared store is asked again", "store", f.where(), "after", time.Since(began).Round(time.Millisecond))
	}
}

func (f *Failover) say(what string, b *breaker) {
	why := b.why.Load()
	f.log.Warn("seawall: the shared store is given up: "+what+"; it is probed twice a second",
		"store", f.where(), "reason", seawall.Reason(why), "error", why.cause)
}

// errSlow is what a probe says of a store that answers too late for some.
var errSlow = slowError{}

type slowError struct{}

func (slowError) Error() string  { return "store: probe: too many answers came too late" }
func (slowError) Reason() string { return "timeout" }

// probe asks the shared store some questions, tells the open breakers, and returns why none was answered.
func (f *Failover) probe() error {
	quick, patient := 0, 0
	var unanswered error
	for range questions {
		inTime, err := f.question()
		if err != nil {
			if unanswered = err; patient == 0 {
				break
			}
			continue
		}
		patient++
		if inTime {
			quick++
		}
	}
	for b, answers := range map[*breaker]int{f.quick: quick, f.patient: patient} {
		if !b.isOpen() {
			continue
		}
		switch {
		case answers >= enough:
			b.probed(nil)
		case unanswered != nil:
			b.probed(unanswered)
		default:
			b.probed(errSlow)
		}
	}
	if patient > 0 {
		return nil
	}
	return unanswered
}

// question asks the shared store, as a decision does and as patiently as one that must not fail. It tells whether the
// answer came in time for the others.
func (f *Failover) question() (inTime bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p}
		}
	}()
	quick, stop := seawall.Patient(context.Background(), f.quick.wait())
	defer stop()
	patient, stopIt := seawall.Patient(context.Background(), max(f.quick.wait(), f.patient.wait()))
	defer stopIt()
	quick.Done() // it begins
	err = f.shared.Probe(patient)
	if err == nil {
		err = patient.Err() // whoever answers then, answers too late for all
	}
	if err != nil {
		return false, fmt.Errorf("store: probe: %w", err)
	}
	return !errors.Is(quick.Err(), context.DeadlineExceeded), nil
}
