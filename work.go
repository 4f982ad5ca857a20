package seawall

import (
	"sync"
	"time"
)

// work is what a decision is made with. It is private to an Admission, until that is done, and used again: nobody else may
// keep any of it. Where somebody might all the same, it is spoilt.
type work struct {
	parts   []part
	checks  []Check // those of local layers first; the store is asked for the rest
	results []Result
	locals  int
	broken  error // a layer's Plan panicked
	spoilt  bool  // something failed, and may go on with what it was given

	started time.Duration // these three by the stack's clock
	planned time.Duration // the local layers had decided, and the checks were known
	decided time.Duration

	partsBuf   [4]part
	checksBuf  [6]Check
	resultsBuf [6]Result
	leasesBuf  [2]Lease
}

// works keeps work for the next decisions. The zero works are empty.
type works struct{ pool sync.Pool }

func (ws *works) take() *work {
	w, ok := ws.pool.Get().(*work)
	if !ok {
		w = new(work)
	}
	w.parts, w.checks, w.results = w.partsBuf[:0], w.checksBuf[:0], w.resultsBuf[:0]
	return w
}

// giveBack takes work that is done. Callers are not remembered longer than their requests last.
func (ws *works) giveBack(w *work) {
	if w.spoilt {
		return
	}
	clear(w.checksBuf[:])
	clear(w.leasesBuf[:])
	w.parts, w.checks, w.results, w.locals, w.broken = nil, nil, nil, 0, nil
	ws.pool.Put(w)
}
