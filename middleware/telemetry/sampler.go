package telemetry

import (
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
