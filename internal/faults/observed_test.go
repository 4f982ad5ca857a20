package faults

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
)

// observed counts what one instance's stack reports.
type observed struct {
	seawall.NopObserver
	mu        sync.Mutex
	fallbacks map[fallback]int
	inflight  map[string]int
	failures  []error // the first few
	unwaited  int     // releases that were waited for in vain
	least     int     // ever in flight, of any layer
}

// fallback is a kind of decision without Redis.
type fallback struct {
	limit   string
	outcome seawall.Outcome
	reason  string
}

func newObserved() *observed {
	return &observed{fallbacks: map[fallback]int{}, inflight: map[string]int{}}
}

// Fallback implements seawall.Observer.
func (o *observed) Fallback(limit *seawall.Limit, outcome seawall.Outcome, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fallbacks[fallback{limit.Name(), outcome, reason}]++
}

// Inflight implements seawall.Observer.
func (o *observed) Inflight(layer string, delta int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inflight[layer] += delta
	o.least = min(o.least, o.inflight[layer])
}

// Failed implements seawall.Observer.
func (o *observed) Failed(what string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if what == "release" && errors.Is(err, context.DeadlineExceeded) {
		o.unwaited++
	}
	if len(o.failures) < 3 {
		o.failures = append(o.failures, &failure{what, err})
	}
}

type failure struct {
	what string
	err  error
}

func (f *failure) Error() string { return f.what + ": " + f.err.Error() }

// ranOut counts the waits that ran out: of decisions that fell back, and of releases.
func (o *observed) ranOut() (fallbacks, releases int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for f, count := range o.fallbacks {
		if strings.HasPrefix(f.limit, concurrency.Name) {
			fallbacks += count
		}
	}
	return fallbacks, o.unwaited
}

// failed counts the rate limits' fallbacks but for timeouts, which a busy machine may add.
func (o *observed) failed() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for f, count := range o.fallbacks {
		if f.reason != "timeout" && strings.HasPrefix(f.limit, ratelimit.Name) {
			n += count
		}
	}
	return n
}

// admitted counts the requests that the rate limit of the API let pass without Redis, for the given reason.
func (o *observed) admitted(reason string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fallbacks[fallback{"ratelimit:api", seawall.Allowed, reason}]
}

// holding is how much is in flight by the layers' count.
func (o *observed) holding() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, count := range o.inflight {
		n += max(count, -count)
	}
	return n
}

// forget sets the fallbacks to zero.
func (o *observed) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.fallbacks)
}
