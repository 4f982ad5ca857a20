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

// vigil is the waiting of a patience. The wait is cut into slices, and one that ends late, because the process had no
// processor, counts for little more than one that ends in time: on a starved machine a store is not taken for slow because
// its answers lie unread.
type vigil struct {
	slice time.Duration

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

func (v *vigil) tick() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left -= min(time.Since(v.began), time.Duration(mostOfSlice*float64(v.slice)))
	if v.left <= 0 && v.more != nil && !v.stopped {
		f := v.more
		v.more, v.asking = nil, make(chan struct{})
		v.mu.Unlock()
		more := asked(f)
		v.mu.Lock()
		close(v.asking)
		v.left, v.asking = more, nil
	}
	switch {
	case v.stopped:
	case v.left > 0:
		v.begin()
	default:
		v.end(context.DeadlineExceeded)
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
func (v *vigil) begin() {
	v.began = time.Now()
	next := min(v.slice, v.left)
	if v.timer == nil {
		v.timer = time.AfterFunc(next, v.tick)
	} else {
		v.timer.Reset(next)
	}
}

// end ends the context, once.
func (v *vigil) end(err error) {
	v.stopped, v.err = true, err
	if v.done != nil {
		close(v.done)
	}
}

// stop ends the waiting, if it has not ended.
func (v *vigil) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.timer != nil {
		v.timer.Stop()
	}
	if !v.stopped {
		v.end(context.Canceled)
	}
}

// wait returns the channel that is closed at the end. The first call begins the first slice.
func (v *vigil) wait() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.done == nil {
		v.done = make(chan struct{})
		if v.stopped {
			close(v.done)
		} else {
			v.begin()
		}
	}
	return v.done
}

// ended returns why it has ended; nil if it has not.
func (v *vigil) ended() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}
