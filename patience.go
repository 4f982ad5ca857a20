package seawall

import (
	"context"
	"sync"
	"time"
)

// slicesOfWait is into how many parts a wait is cut.
const slicesOfWait = 5

// Patience is how long the caller of a store's method waits for it, as far as ctx tells: what a Stack waits, or
// until the deadline; 0 if it does not tell.
func Patience(ctx context.Context) time.Duration {
	p, ok := ctx.(*patience)
	if !ok {
		p, ok = ctx.Value(waitKey{}).(*patience)
	}
	if ok {
		return p.wait
	}
	if deadline, ok := ctx.Deadline(); ok {
		return max(1, time.Until(deadline))
	}
	return 0
}

// waitKey is under which a patience is found in contexts that were made from it.
type waitKey struct{}

// patience is a context that is done after a wait in which this process could have read an answer. The wait
// is cut into slices, and a slice that ends late, because the process had no processor, counts no more than
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
	left    int // slices
	stopped bool
}

// patient returns a patience; stop must be called.
func patient(parent context.Context, wait time.Duration) *patience {
	return &patience{parent: parent, wait: wait, slice: max(1, wait/slicesOfWait), left: slicesOfWait}
}

func (p *patience) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	if p.left--; p.left > 0 {
		p.timer.Reset(p.slice)
	} else {
		p.stopped = true
		close(p.done)
	}
}

// stop ends the waiting.
func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = make(chan struct{})
		p.timer = time.AfterFunc(p.slice, p.tick)
	}
	return p.done
}

// Err implements context.Context.
func (p *patience) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left > 0 {
		return nil
	}
	return context.DeadlineExceeded
}

// Deadline implements context.Context: when exactly the wait is over is not known before.
func (p *patience) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value implements context.Context.
func (p *patience) Value(key any) any {
	if key == (waitKey{}) {
		return p
	}
	return p.parent.Value(key)
}
