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
	// wary is the most good probes, less the bad ones, that a breaker wants that opens again and again.
	wary = 8
	// forever is never reached: no timer brings a breaker into a half-open state.
	forever = 100 * 365 * 24 * time.Hour
)

// breaker tells whether the shared store is asked. A gobreaker counts the calls for as long as it is closed. One
// that has opened is thrown away, and a new one takes its place when probes find the store well; so there is no
// half-open state, in which requests would be the probes and one that gets lost would keep it open.
type breaker struct {
	opened func()
	waits  atomic.Int64                                              // nanoseconds, of who asks
	closed atomic.Pointer[gobreaker.TwoStepCircuitBreaker[struct{}]] // nil: open
	why    atomic.Pointer[openError]
	last   atomic.Pointer[error] // failure

	mu      sync.Mutex
	good    int // probes, less bad ones
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

// newBreaker returns a closed breaker for calls that wait so long. opened is called when it opens, on the goroutine of
// the call that failed, and must not block.
func newBreaker(wait time.Duration, opened func()) *breaker {
	b := &breaker{opened: opened}
	b.waits.Store(int64(wait))
	b.renew()
	return b
}

// wait is how long its calls wait.
func (b *breaker) wait() time.Duration { return time.Duration(b.waits.Load()) }

// waitOf returns how long the caller waits; 0 is as long as it takes. Probes go by the Stack that asked last.
func (b *breaker) waitOf(ctx context.Context) time.Duration {
	if wait, ok := seawall.WaitOf(ctx); ok {
		if b.waits.Load() != int64(wait) { // a Stack's, of which a probe must know
			b.waits.Store(int64(wait))
		}
		return wait
	}
	if deadline, ok := ctx.Deadline(); ok {
		return max(1, time.Until(deadline))
	}
	return 0
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
		OnStateChange: func(string, gobreaker.State, gobreaker.State) { b.open(cb, true) },
	})
	b.closed.Store(cb)
}

// errNeither is reported of a call that was neither good nor bad: it was answered later than others would have waited,
// or failed for a caller who waits less than others.
var errNeither = errors.New("neither good nor bad")

// saysNothing tells whether an error says nothing about the store's health: the fault is a rule's, or in the data
// of one key, or of where that is, or the caller gave up.
func saysNothing(err error) bool {
	if err == nil {
		return false
	}
	reason := seawall.Reason(err)
	return errors.Is(err, errNeither) || reason == "script" || reason == "panic" || reason == "moved" || errors.Is(err, context.Canceled)
}

// allowed is a call that may be made.
type allowed struct {
	b     *breaker
	done  func(error)
	began time.Time
}

// report says what came of a call whose caller waits so long; 0 is as long as it takes.
func (a allowed) report(err error, wait time.Duration) {
	switch {
	case err == nil:
		if time.Since(a.began) > a.b.wait() {
			err = errNeither
		}
	case wait > 0 && wait < a.b.wait() && errors.Is(err, context.DeadlineExceeded):
		err = errNeither
	case !saysNothing(err):
		a.b.fault(err)
	}
	a.done(err)
}

// fault remembers a failure.
func (b *breaker) fault(err error) { b.last.Store(&err) }

// allow returns where to report the outcome of a call, or why there must be none.
func (b *breaker) allow() (call allowed, refused *openError) {
	if cb := b.closed.Load(); cb != nil {
		if done, err := cb.Allow(); err == nil {
			return allowed{b, done, time.Now()}, nil
		}
	}
	return allowed{}, b.why.Load()
}

// isOpen tells whether the store is not asked.
func (b *breaker) isOpen() bool { return b.closed.Load() == nil }

// open throws away a gobreaker. Counted openings make a breaker wary.
func (b *breaker) open(closed *gobreaker.TwoStepCircuitBreaker[struct{}], counted bool) {
	why := &openError{since: time.Now(), cause: errors.New("no error")}
	if last := b.last.Load(); last != nil {
		why.cause = *last
	}
	b.why.Store(why)
	if !b.closed.CompareAndSwap(closed, nil) {
		return
	}
	b.mu.Lock()
	b.good = 0
	switch {
	case b.closing.IsZero() || time.Since(b.closing) >= calm:
		b.again = 0
	case counted:
		b.again++
	}
	b.mu.Unlock()
	b.opened()
}

// trip opens a breaker that is closed.
func (b *breaker) trip(cause error) {
	if cb := b.closed.Load(); cb != nil {
		b.fault(cause)
		b.open(cb, false)
	}
}

// probed reports a probe of an open breaker, and tells whether it closed it. One that opened again and again wants
// several good ones more than bad ones, twice as many each time.
func (b *breaker) probed(err error) (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.good = max(0, b.good-1)
		if why := b.why.Load(); why != nil {
			b.why.Store(&openError{why.since, err})
		}
		return false
	}
	if b.good++; b.good < min(wary, 1<<min(10, max(0, b.again-1))) {
		return false
	}
	b.closing = time.Now()
	b.renew()
	return true
}
