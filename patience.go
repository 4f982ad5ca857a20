package seawall

import (
	"context"
	"sync/atomic"
	"time"
)

// Patient returns a context like those with which a Stack asks its store: it is done after a wait in which this
// process could have read an answer, and does not end because its parent does. The function ends it.
func Patient(parent context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	p := patient(parent, wait)
	return p, p.stop
}

// patient returns a patience; stop must be called.
func patient(parent context.Context, wait time.Duration) *patience {
	return &patience{parent: parent, wait: wait}
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
	v := p.needed()
	v.mu.Lock()
	v.more = f
	asking := v.asking
	v.mu.Unlock()
	if f == nil && asking != nil {
		<-asking
	}
}

// patience is a context that is done after a wait in which this process could have read an answer. It begins when Done is
// first called, so a store that never waits costs no timer, and nothing at all, and does not end because its parent does.
type patience struct {
	parent  context.Context // for values
	wait    time.Duration
	stopped atomic.Bool
	vigil   atomic.Pointer[vigil] // nil until somebody waits
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

// needed returns the vigil, which somebody needs now.
func (p *patience) needed() *vigil {
	v := p.vigil.Load()
	if v == nil {
		v = &vigil{slice: max(1, p.wait/slicesOfWait), left: p.wait}
		if !p.vigil.CompareAndSwap(nil, v) {
			v = p.vigil.Load()
		}
		if p.stopped.Load() { // stop may not have seen it
			v.stop()
		}
	}
	return v
}

// stop ends the waiting, and whatever else waits for the context.
func (p *patience) stop() {
	p.stopped.Store(true)
	if v := p.vigil.Load(); v != nil {
		v.stop()
	}
}

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} { return p.needed().wait() }

// Err implements context.Context.
func (p *patience) Err() error {
	if v := p.vigil.Load(); v != nil {
		return v.ended()
	}
	if p.stopped.Load() {
		return context.Canceled
	}
	return nil
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
