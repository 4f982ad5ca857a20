package redisstore

import "context"

// idleBeats is for how many heartbeats nobody may have asked a master before its lane ends: where masters come and go, their
// addresses would add up otherwise.
const idleBeats = 60

// use notes that the lane is of use.
func (s *Store) use() {
	if !s.used.Load() { // of all requests one writes
		s.used.Store(true)
	}
}

// endIdle ends the lanes that are of no use any more: nobody asks, and nothing is held or to be given back.
func (c *Cluster) endIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for addr, s := range c.lanes {
		if s.unused++; s.used.Swap(false) || !s.empty() {
			s.unused = 0
		}
		if s.unused < c.idle || c.ended {
			continue
		}
		delete(c.lanes, addr)
		c.ends.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
			defer cancel()
			_ = s.Close(ctx) // it has nothing to give back
		})
	}
}

// empty tells whether the lane holds nothing, and has nothing to give back.
func (s *Store) empty() bool {
	s.releases.mu.Lock()
	defer s.releases.mu.Unlock()
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return len(s.releases.queue)+len(s.releases.stuck)+len(s.releases.claims)+len(s.ledger.held) == 0
}

// Where is the store's name in logs: of a lane with the address of its master, whose callers alone are concerned.
func (s *Store) Where() string {
	if s.addr == "" {
		return s.String()
	}
	return s.String() + " master " + s.addr
}

// Ended tells whether the store is being closed, or a lane that nobody uses any more.
func (s *Store) Ended() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}
