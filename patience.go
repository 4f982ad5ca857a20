package seawall

import (
	"context"
	"sync"
	"time"
)

// parts is into how many parts a wait is cut.
const parts = 5

// patience is a context that is done after a wait in which this process could have read an answer. The wait
// is cut into slices, and a slice that ends late, because the process had no processor, counts no more than
// one that ends in time: on a starved machine a store is not taken for slow because its answers lie unread.
// It is not done when its parent is.
type patience struct {
	context.Context // for values
	slice           time.Duration
	timer           *time.Timer
	done            chan struct{}

	mu   sync.Mutex
	left int // slices; 0 is done
	over bool
}

// patient returns a patience; stop must be called.
func patient(parent context.Context, wait time.Duration) *patience {
	p := &patience{Context: parent, slice: max(1, wait/parts), done: make(chan struct{}), left: parts}
	p.mu.Lock() // until the timer is known
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(p.slice, p.tick)
	return p
}

func (p *patience) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over:
	case p.left == 1:
		p.left, p.over = 0, true
		close(p.done)
	default:
		p.left--
		p.timer.Reset(p.slice)
	}
}

// stop ends the waiting.
func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.timer.Stop()
}

// Deadline implements context.Context: when exactly the wait is over is not known before.
func (p *patience) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} { return p.done }

// Err implements context.Context.
func (p *patience) Err() error {
	select {
	case <-p.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
