package telemetry

import (
	"sync"
	"sync/atomic"
	"time"
)

// sampler lets one event a second through. The zero sampler has let none.
type sampler struct {
	next     atomic.Int64 // in nanoseconds of a clock that no setting of the wall clock changes
	keptBack atomic.Int64
}

// take tells whether the event at now goes through, and how many have not since the last one that has.
func (s *sampler) take(now time.Duration) (keptBack int64, ok bool) {
	if next := s.next.Load(); int64(now) < next || !s.next.CompareAndSwap(next, int64(now+time.Second)) {
		s.keptBack.Add(1)
		return 0, false
	}
	return s.keptBack.Swap(0), true
}

// maxSamplers is how many messages, each with a reason, have a sampler of their own; there are few.
const maxSamplers = 32

// samplers are one for each message, so that what fails all the time does not hide what fails once.
type samplers struct {
	mu     sync.Mutex
	known  map[string]*sampler
	others sampler
}

func (s *samplers) of(msg string) *sampler {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.known[msg]
	switch {
	case one != nil:
		return one
	case len(s.known) == maxSamplers:
		return &s.others
	case s.known == nil:
		s.known = map[string]*sampler{}
	}
	one = &sampler{}
	s.known[msg] = one
	return one
}
