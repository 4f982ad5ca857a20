package workershed

import (
	"context"
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
	clock func() time.Duration
	began time.Duration
	asked chan struct{}
	last  atomic.Pointer[reading]

	told    bool // of the sampler: that the signal is left out was reported
	toldAt  time.Duration
	out     atomic.Pointer[error] // why it is left out
	reports chan<- report
}

// report is what is to be logged, by somebody who may wait for the log.
type report struct {
	level slog.Level
	text  string
	args  []any
}

// maxReports is how many may wait to be logged; there are few.
const maxReports = 2 * maxSignals

// log writes reports until quit is closed.
func (s *Shedder) log(logger *slog.Logger, reports <-chan report) {
	for {
		select {
		case <-s.quit:
			return
		case r := <-reports:
			logger.Log(context.Background(), r.level, r.text, r.args...)
		}
	}
}

// reading is what Read returned, and when it was called.
type reading struct {
	at    time.Duration
	value float64
	err   error
}

func watch(cfg Config, reports chan<- report) []*watched {
	all := make([]*watched, len(cfg.Signals))
	for i, s := range cfg.Signals {
		all[i] = &watched{Signal: s, clock: cfg.Now, began: cfg.Now(), asked: make(chan struct{}, 1), reports: reports}
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
			select {
			case <-quit:
				return
			default:
				w.read()
			}
		}
	}
}

// read makes a panic an error.
func (w *watched) read() {
	r := &reading{}
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("panic: %.200v", p)
		}
		if r.err != nil {
			r.value = 0
		}
		w.last.Store(r)
	}()
	r.at = w.clock()
	if r.value, r.err = w.Read(r.at); r.err == nil {
		r.value, r.err = utilization(r.value)
	}
}

// latest returns the last reading, or false if the signal is to be left out. It belongs to the sampler, which has not looked for
// dt: if that was long, it has not asked either, and a reading that is old is nobody's fault.
func (w *watched) latest(now, dt time.Duration) (float64, bool) {
	r := w.last.Load()
	var err error
	switch {
	case r == nil && now-w.began <= w.StaleAfter: // the first reading is under way
		return 0, false
	case (r == nil || now-r.at > w.StaleAfter) && dt > w.StaleAfter/2:
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
		w.report(slog.LevelInfo, "seawall: worker signal is read again")
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
	w.report(slog.LevelWarn, "seawall: worker signal is left out", "error", fmt.Sprintf("%.300s", err), "do", "nothing is shed because of it; the other measures stay in force")
}

// report has something logged, unless too much is waiting for that.
func (w *watched) report(level slog.Level, text string, args ...any) {
	select {
	case w.reports <- report{level, text, append([]any{"signal", w.Name}, args...)}:
	default:
	}
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
