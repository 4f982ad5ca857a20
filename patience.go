package seawall

import (
	"context"
	"sync"
	"time"
)

// A wait is cut into so many slices, of which one that ends late counts at most so much.
const (
	slicesOfWait = 5
	mostOfSlice  = 1.5
)

// Patient returns a context like those with which a Stack asks its store: it is done after a wait in which this
// process could have read an answer, and does not end because its parent does. The function ends it.
func Patient(parent context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	p := patient(parent, wait)
	return p, p.stop
}

// WaitOf returns how long a Stack's context, or one from Patient, waits; ok is false if ctx comes from neither.
func WaitOf(ctx context.Context) (wait time.Duration, ok bool) {
	p := patienceOf(ctx)
	if p == nil {
		return 0, false
	}
	return p.wait, true
}

// Prolong has f asked, once, when the wait of a Stack's context is over: it returns how much longer to wait. It is
// called on another goroutine. With nil nobody is asked any more, also not at this moment. On other contexts Prolong
// does nothing.
func Prolong(ctx context.Context, f func() time.Duration) {
	p := patienceOf(ctx)
	if p == nil {
		return
	}
	p.mu.Lock()
	p.more = f
	asking := p.asking
	p.mu.Unlock()
	if f == nil && asking != nil {
		<-asking
	}
}

// patience is a context that is done after a wait in which this process could have read an answer. The wait
// is cut into slices, and one that ends late, because the process had no processor, counts for little more than
// one that ends in time: on a starved machine a store is not taken for slow because its answers lie unread.
// It begins when Done is first called, so a store that never waits costs no timer, and does not end because
// its parent does.
type patience struct {
	parent context.Context // for values
	wait   time.Duration
	slice  time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	done    chan struct{}
	began   time.Time // the present slice
	left    time.Duration
	more    func() time.Duration
	asking  chan struct{} // not nil: more is being asked; closed then
	stopped bool
	err     error
}

// patient returns a patience; stop must be called.
func patient(parent context.Context, wait time.Duration) *patience {
	return &patience{parent: parent, wait: wait, slice: max(1, wait/slicesOfWait), left: wait}
}

// patienceKey is under which a patience is found in contexts that were made from it.
type patienceKey struct{}

func patienceOf(ctx context.Context) *patience {
	if p, ok := ctx.(*patience); ok {
		return p
	}
	p, _ := ctx.Value(patienceKey{}).(*patience)
	return p
}

func (p *patience) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left -= min(time.Since(p.began), time.Duration(mostOfSlice*float64(p.slice)))
	if p.left <= 0 && p.more != nil && !p.stopped {
		f := p.more
		p.more, p.asking = nil, make(chan struct{})
		p.mu.Unlock()
		more := asked(f)
		p.mu.Lock()
		close(p.asking)
		p.left, p.asking = more, nil
	}
	switch {
	case p.stopped:
	case p.left > 0:
		p.begin()
	default:
		p.end(context.DeadlineExceeded)
	}
}

// asked returns what f does, and nothing if it panics.
func asked(f func() time.Duration) (more time.Duration) {
	defer func() {
		if recover() != nil {
			more = 0
		}
	}()
	return max(0, f())
}

// begin begins a slice.
func (p *patience) begin() {
	p.began = time.Now()
	next := min(p.slice, p.left)
	if p.timer == nil {
		p.timer = time.AfterFunc(next, p.tick)
	} else {
		p.timer.Reset(next)
	}
}

// end ends the context, once.
func (p *patience) end(err error) {
	p.stopped, p.err = true, err
	if p.done != nil {
		close(p.done)
	}
}

// stop ends the waiting, and whatever else waits for the context.
func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	if !p.stopped {
		p.end(context.Canceled)
	}
}

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = make(chan struct{})
		if p.stopped {
			close(p.done)
		} else {
			p.begin()
		}
	}
	return p.done
}

// Err implements context.Context.
func (p *patience) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Deadline implements context.Context: when exactly the wait is over is not known before.
func (p *patience) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value implements context.Context.
func (p *patience) Value(key any) any {
	if key == (patienceKey{}) {
		return p
	}
	return p.parent.Value(key)
}
