package faults

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seawall-go/seawall/internal/openloop"
)

// every is how often a rig is looked at.
const every = time.Millisecond

// watch looks at a rig again and again while an outage comes and goes.
type watch struct {
	rig  *rig
	quit chan struct{}
	all  sync.WaitGroup

	mu              sync.Mutex
	began, gone     time.Time   // of the fault
	open            []bool      // by instance
	opened          []time.Time // first, since the fault began
	changes         int
	healthy, during usage
	last            time.Time
	late            openloop.Latencies // by how much each look was late, while the fault was there
}

// usage is the most that was used of something.
type usage struct {
	goroutines int
	heap       uint64
}

func watchRig(g *rig) *watch {
	n := len(g.instances)
	w := &watch{rig: g, quit: make(chan struct{}), open: make([]bool, n), opened: make([]time.Time, n)}
	w.all.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				w.look(now)
			case <-w.quit:
				return
			}
		}
	})
	return w
}

func (w *watch) look(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.began.IsZero() && w.gone.IsZero() {
		w.late = append(w.late, max(0, time.Since(w.last)-every))
	}
	w.last = time.Now()
	for k, in := range w.rig.instances {
		open := in.failover.Open()
		if open != w.open[k] {
			w.open[k] = open
			w.changes++
		}
		if open && w.opened[k].IsZero() && !w.began.IsZero() {
			w.opened[k] = now
		}
	}
	u := &w.healthy
	if !w.began.IsZero() {
		u = &w.during
	}
	if w.gone.IsZero() {
		u.goroutines = max(u.goroutines, runtime.NumGoroutine())
		u.heap = max(u.heap, liveHeap())
	}
}

// liveHeap is what the last garbage collection left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fault says that the fault begins.
func (w *watch) fault() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Now()
}

// healed says that it is over.
func (w *watch) healed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = time.Now()
}

func (w *watch) stop() {
	close(w.quit)
	w.all.Wait()
}

// outcome sums up.
func (w *watch) outcome(name string, rec *openloop.Record, calls []call) *outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := &outcome{name: name, changes: w.changes, opened: true}
	for i := range calls {
		if c := &calls[i]; !c.login && !c.at.IsZero() {
			o.asked++
			if !c.denied {
				o.served++
			}
		}
	}
	// of picks the requests but logins, which may wait longer, that were due between two times; the first and
	// the last may depend on the instance.
	of := func(between func(due time.Time, opened time.Time) bool) time.Duration {
		return rec.Where(func(s openloop.Sample) bool {
			return !calls[s.Call].login && between(rec.Began.Add(s.Due), w.opened[s.Call%len(w.opened)])
		}).P(0.99)
	}
	o.healthy = of(func(due, _ time.Time) bool { return due.Before(w.began.Add(-100 * time.Millisecond)) })
	o.before = of(func(due, opened time.Time) bool {
		return !due.Before(w.began) && due.Before(w.gone) && (opened.IsZero() || due.Before(opened))
	}) - o.healthy
	o.after = of(func(due, opened time.Time) bool {
		return !opened.IsZero() && !due.Before(opened) && due.Before(w.gone)
	}) - o.healthy
	for k, opened := range w.opened {
		o.opened = o.opened && !opened.IsZero() && opened.Before(w.gone)
		o.recovery = max(o.recovery, w.recovery(k, calls))
	}
	slices.Sort(w.late)
	o.pauses = w.late.P(0.99)
	o.goroutines = w.during.goroutines - w.healthy.goroutines
	o.grown = int64(w.during.heap) - int64(w.healthy.heap)
	return o
}

// recovery is how long after the fault instance k decided by Redis again: the first of so many decisions in a row,
// since a busy machine has a late answer now and then.
func (w *watch) recovery(k int, calls []call) time.Duration {
	const inARow = 20
	var since time.Time
	n := 0
	for i := k; i < len(calls); i += len(w.opened) {
		switch c := &calls[i]; {
		case c.login || c.at.Before(w.gone):
		case c.fallback:
			n = 0
		default:
			if n++; n == 1 {
				since = c.at
			}
			if n == inARow {
				return since.Sub(w.gone)
			}
		}
	}
	return calls[len(calls)-1].at.Sub(w.gone) // not yet
}

// awaitQuiet waits until the machine lets this process run whenever it wants to, for a minute at most.
func awaitQuiet(t *testing.T) {
	t.Helper()
	var p99 time.Duration
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		var late openloop.Latencies
		for range 300 {
			began := time.Now()
			time.Sleep(every)
			late = append(late, time.Since(began)-every)
		}
		slices.Sort(late)
		if p99 = late.P(0.99); p99 <= quietPauses {
			return
		}
	}
	t.Logf("the machine is not quiet: it pauses for %v", p99)
}
