package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/seawall-go/seawall"
)

const (
	// failuresInRow calls must fail, and none succeed meanwhile, for at least failing, until a breaker opens: a
	// store that is slow now and then does not open it, nor does one stall.
	failuresInRow = 10
	failing       = 50 * time.Millisecond
	// calm is how long a breaker must have been closed until it trusts as fast as the first time.
	calm = time.Minute
	// wary is the most good probes in a row that a breaker waits for that opens again and again.
	wary = 16
	// forever is never reached: no timer brings a breaker into a half-open state.
	forever = 100 * 365 * 24 * time.Hour
)

// breaker tells whether the shared store is asked. A gobreaker counts the calls for as long as it is closed. One
// that has opened is thrown away, and a new one takes its place when probes find the store well; so there is no
// half-open state, in which requests would be the probes and one that gets lost would keep it open.
type breaker struct {
	opened func()
	closed atomic.Pointer[gobreaker.TwoStepCircuitBreaker[struct{}]] // nil: open
	why    atomic.Pointer[openError]
	last   atomic.Pointer[error] // failure

	mu      sync.Mutex
	good    int // probes in a row
	again   int // openings within calm of the closing before
	closing time.Time
}

// openError is why the shared store was not asked.
type openError struct {
	since time.Time
	cause error
}

func (e *openError) Error() string {
	return fmt.Sprintf("store: decided locally: the shared store is not asked since %s; it is probed twice a second: %v",
		e.since.Format(time.TimeOnly), e.cause)
}

// Unwrap returns the failure that came last.
func (e *openError) Unwrap() error { return e.cause }

// Undone tells that nothing was sent.
func (e *openError) Undone() bool { return true }

// newBreaker returns a closed breaker. opened is called when it opens, on the goroutine of the call that failed, and
// must not block.
func newBreaker(opened func()) *breaker {
	b := &breaker{opened: opened}
	b.renew()
	return b
}

// renew puts a new gobreaker in place.
func (b *breaker) renew() {
	var since time.Time // the first failure of the row; guarded by the gobreaker
	var cb *gobreaker.TwoStepCircuitBreaker[struct{}]
	cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:    forever,
		IsExcluded: saysNothing,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			if counts.ConsecutiveFailures == 1 {
				since = time.Now()
			}
			return counts.ConsecutiveFailures >= failuresInRow && time.Since(since) >= failing
		},
		OnStateChange: func(string, gobreaker.State, gobreaker.State) { b.open(cb) },
	})
	b.closed.Store(cb)
}

// saysNothing tells whether an error says nothing about the store's health: the fault is a rule's, or in the data
// of one key, or the caller gave up.
func saysNothing(err error) bool {
	if err == nil {
		return false
	}
	reason := seawall.Reason(err)
	return reason == "script" || reason == "panic" || errors.Is(err, context.Canceled)
}

// allowed is a call that may be made.
type allowed struct {
	b    *breaker
	done func(error)
}

// report says what came of the call.
func (a allowed) report(err error) {
	if err != nil {
		a.b.last.Store(&err)
	}
	a.done(err)
}

// allow returns where to report the outcome of a call, or why there must be none.
func (b *breaker) allow() (call allowed, refused *openError) {
	if cb := b.closed.Load(); cb != nil {
		if done, err := cb.Allow(); err == nil {
			return allowed{b, done}, nil
		}
	}
	return allowed{}, b.why.Load()
}

// isOpen tells whether the store is not asked.
func (b *breaker) isOpen() bool { return b.closed.Load() == nil }

// open throws away the gobreaker that has tripped.
func (b *breaker) open(tripped *gobreaker.TwoStepCircuitBreaker[struct{}]) {
	why := &openError{since: time.Now(), cause: errors.New("no error")}
	if last := b.last.Load(); last != nil {
		why.cause = *last
	}
	b.why.Store(why)
	if !b.closed.CompareAndSwap(tripped, nil) {
		return
	}
	b.mu.Lock()
	b.good = 0
	if !b.closing.IsZero() && time.Since(b.closing) < calm {
		b.again++
	} else {
		b.again = 0
	}
	b.mu.Unlock()
	b.opened()
}

// trip opens a breaker that is closed.
func (b *breaker) trip(cause error) {
	if cb := b.closed.Load(); cb != nil {
		b.last.Store(&cause)
		b.open(cb)
	}
}

// probed reports a probe of an open breaker, and tells whether it closed it. One that opened again and again needs
// several good ones in a row, twice as many each time.
func (b *breaker) probed(well bool) (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !well {
		b.good = 0
		return false
	}
	if b.good++; b.good < min(wary, 1<<min(10, max(0, b.again-1))) {
		return false
	}
	b.closing = time.Now()
	b.renew()
	return true
}
