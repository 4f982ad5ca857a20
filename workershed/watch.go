package workershed

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// errors of signals that are left out.
var (
	errUnread = errors.New("it has not been read yet")
	errStale  = errors.New("its last reading is too old: Read hangs, or takes too long")
)

// tellAgain is how long a signal that fails, recovers and fails again is not reported once more.
const tellAgain = 10 * time.Minute

// watched is a signal that is read while nobody waits for it. The sampler asks for a reading and takes the last one there is.
type watched struct {
	Signal
	log   *slog.Logger
	clock func() time.Duration
	began time.Duration
	asked chan struct{}
	last  atomic.Pointer[reading]

	told   bool // of the sampler: that the signal is left out was reported
	toldAt time.Duration
	out    atomic.Pointer[error] // why it is left out
}

// reading is what Read returned, and when it was called.
type reading struct {
	at    time.Duration
	value float64
	err   error
}

func watch(signals []Signal, cfg Config) []*watched {
	all := make([]*watched, len(signals))
	for i, s := range signals {
		all[i] = &watched{Signal: s, log: cfg.Logger, clock: cfg.Now, began: cfg.Now(), asked: make(chan struct{}, 1)}
		all[i].out.Store(&errUnread)
	}
	return all
}

// ask has run read the signal, unless it still does.
func (w *watched) ask() {
	select {
	case w.asked <- struct{}{}:
	default:
	}
}

// run reads whenever it is asked, until quit is closed.
func (w *watched) run(quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		case <-w.asked:
			w.read()
		}
	}
}

func (w *watched) read() {
	at := w.clock()
	value, err := w.call(at)
	w.last.Store(&reading{at, value, err})
}

// call makes a panic an error.
func (w *watched) call(now time.Duration) (value float64, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, err = 0, fmt.Errorf("panic: %.200v", p)
		}
	}()
	value, err = w.Read(now)
	if err != nil {
		return 0, err
	}
	return utilization(value)
}

// latest returns the last reading, or false if the signal is to be left out. It belongs to the sampler.
func (w *watched) latest(now time.Duration) (float64, bool) {
	r := w.last.Load()
	var err error
	switch {
	case r == nil && now-w.began <= w.StaleAfter: // the first reading is under way
		return 0, false
	case r == nil || now-r.at > w.StaleAfter:
		err = errStale
	default:
		err = r.err
	}
	if err != nil {
		w.leaveOut(now, err)
		return 0, false
	}
	if w.out.Swap(nil) != nil && w.told {
		w.told = false
		w.log.Info("seawall: worker signal is read again", "signal", w.Name)
	}
	return r.value, true
}

// leaveOut reports it once.
func (w *watched) leaveOut(now time.Duration, err error) {
	w.out.Store(&err)
	if w.told || w.toldAt > 0 && now-w.toldAt < tellAgain {
		return
	}
	w.told, w.toldAt = true, max(now, 1)
	w.log.Warn("seawall: worker signal is left out", "signal", w.Name, "error", err.Error(), "do", "nothing is shed because of it; the other measures stay in force")
}

func (w *watched) state() SignalState {
	s := SignalState{Name: w.Name}
	if r := w.last.Load(); r != nil {
		s.Value = r.value
	}
	if err := w.out.Load(); err != nil {
		s.Err = *err
	}
	return s
}
