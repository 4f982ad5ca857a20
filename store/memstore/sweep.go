package memstore

import "time"

// sweepEvery is how often idle state is dropped and leases are renewed.
const sweepEvery = time.Second

func (s *Store) sweepLoop() {
	defer close(s.done)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.Renew()
			s.Sweep()
		}
	}
}

// Renew makes the leases last that are held for long, as the store does every second. It asks the ledger behind the lock, so a lease that
// was released meanwhile stays released.
func (s *Store) Renew() {
	for _, l := range s.ledger.Due(s.now()) {
		sh := &s.shards[l.Key.Hash()%shards]
		sh.mu.Lock()
		if s.ledger.Holds(l.ID) {
			n := nameOf(l.Key, l.Limit)
			if sh.states[n] == nil {
				sh.states[n] = &state{rule: l.Rule}
			}
			l.Rule.Renew(&sh.states[n].State, s.env(), l.ID)
		}
		sh.mu.Unlock()
	}
}

// Sweep drops idle state, a shard at a time, as the store does every second.
func (s *Store) Sweep() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		now := s.now().UnixNano()
		for n, st := range sh.states {
			if st.rule.Idle(&st.State, now) {
				delete(sh.states, n)
			}
		}
		sh.mu.Unlock()
	}
}
