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
				looked += s.sweepShard(next)
				next = (next + 1) % shards
			}
		}
	}
}

// Renew makes the leases last that are held for long, as the store does by itself. It asks the ledger behind
// the lock, so a lease that was released meanwhile stays released.
func (s *Store) Renew() {
	for _, l := range s.ledger.Due(s.now()) {
		shard, n := s.seeds.locate(l.Key, l.Limit)
		sh := &s.shards[shard]
		sh.mu.Lock()
		if s.ledger.Holds(l.ID) {
			st := sh.slots.states[n]
			if st == nil {
				st = &state{rule: l.Rule}
				sh.slots.put(n, st)
			}
			l.Rule.Renew(&st.State, s.env(), l.ID, l.Cost)
		}
		sh.mu.Unlock()
	}
}

// Sweep drops all idle state, as the store does in the background. Requests wait for it hardly at all.
func (s *Store) Sweep() {
	for i := range s.shards {
		s.sweepShard(i)
	}
}

// sweepShard lets go of the lock between pieces; maps may change while they are iterated.
func (s *Store) sweepShard(i int) (looked int) {
	sh := &s.shards[i]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now().UnixNano()
	for _, p := range []*pool{&sh.slots, &sh.refused, &sh.open} {
		for n, st := range p.states {
			if st.idle(now) {
				p.drop(n)
			}
			if looked++; looked%sweepPiece == 0 {
				sh.mu.Unlock()
				runtime.Gosched()
				sh.mu.Lock()
				now = s.now().UnixNano()
			}
		}
	}
	return looked
}
