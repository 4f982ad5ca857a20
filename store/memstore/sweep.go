package memstore

import (
	"runtime"
	"time"
)

const (
	// sweepEvery is how often idle state is dropped, renewEvery how often leases are looked through for those due: a third of
	// the shortest TTL.
	sweepEvery, renewEvery = time.Second, 333 * time.Millisecond
	// sweepSome is about how many states are looked at then; more take several turns.
	sweepSome = 100_000
	// sweepPiece is how many are looked at while requests wait for their shard, some 20 µs.
	sweepPiece = 500
)

func (s *Store) sweepLoop() {
	defer close(s.done)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	next := 0
	for {
		select {
		case <-s.stop:
			return
		case <-renew.C:
			s.Renew()
		case <-tick.C:
			for looked, n := 0, 0; looked < sweepSome && n < shards; n++ {
				looked += s.sweepShard(next, (*slot).rests)
				next = (next + 1) % shards
			}
		}
	}
}

// Sweep drops all idle state, as the store does in the background with what was not spent from for one to two sweeps: who
// comes again soon finds it. Requests wait for it hardly at all.
func (s *Store) Sweep() {
	for i := range s.shards {
		s.sweepShard(i, func(*slot) bool { return true })
	}
}

// sweepShard drops the idle ones of those that may go. It lets go of the lock between pieces; what has moved to another
// table meanwhile is left to the next sweep.
func (s *Store) sweepShard(i int, may func(*slot) bool) (looked int) {
	sh := &s.shards[i]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.nanos()
	for at := 0; at < len(sh.table.Load().slots); at++ {
		if sl := &sh.table.Load().slots[at]; sl.kept() {
			if may(sl) {
				sh.dropIdle(sl, now)
			}
			looked++
		}
		if at%sweepPiece == sweepPiece-1 {
			sh.mu.Unlock()
			runtime.Gosched()
			sh.mu.Lock()
			now = s.nanos()
		}
	}
	sh.shrink()
	return looked
}
