package main

import (
	"fmt"
	"runtime"
	"time"
)

// worker takes as long as so many milliseconds of work do.
type worker func(ms int64)

// newWorker returns what -work names.
func newWorker(name string) (worker, error) {
	switch name {
	case "sleep":
		return sleepFor, nil
	case "cpu":
		return newSpinner().spinFor, nil
	}
	return nil, fmt.Errorf("%q; want sleep, or cpu to burn processor time", name)
}

// sleepFor waits, as for a database that has room for everybody: the process itself is never saturated.
func sleepFor(ms int64) { time.Sleep(time.Duration(ms) * time.Millisecond) }

// spinner works on the processors of this process. A millisecond of work is as many rounds as one processor makes in a
// millisecond that it has for nothing else, so work takes longer where more of it is under way than there are processors.
type spinner struct {
	perTurn int64 // rounds
}

const (
	turnsPerMs   = 4       // after each of which others have theirs, as they do when a handler waits for its database
	sampleRounds = 100_000 // about 0.1 ms
	samples      = 200     // 20 ms, of which not all are disturbed
)

// newSpinner finds out how fast a processor is: as fast as in the best of some tries, since others can only slow it down.
func newSpinner() spinner {
	best := time.Hour
	x := uint64(0)
	for range samples {
		began := time.Now()
		x = spin(x, sampleRounds)
		best = min(best, max(time.Since(began), 1))
	}
	runtime.KeepAlive(x) // or a compiler might leave the work out
	return spinner{perTurn: max(1, int64(sampleRounds*time.Millisecond/best)/turnsPerMs)}
}

func (s spinner) spinFor(ms int64) {
	x := uint64(0)
	for range ms * turnsPerMs {
		x = spin(x, s.perTurn)
		runtime.Gosched()
	}
	runtime.KeepAlive(x)
}

// spin keeps a processor busy, and goes on from x.
func spin(x uint64, rounds int64) uint64 {
	for range rounds {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}
