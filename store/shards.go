package store

import (
	"maps"
	"slices"
	"sync"

	"github.com/seawall-go/seawall"
)

// shards are the shared store's, each with a Failover of its own, which gives it up and probes it. Those that have ended are
// forgotten when a new one comes.
type shards struct {
	sharded  seawall.Sharded // nil: there are none
	instance *instance

	mu      sync.RWMutex
	known   map[seawall.Shard]*Failover
	stopped bool

	forgotten sync.WaitGroup // of those, a probe may be under way
}

// of returns the store that is asked about a key.
func (s *shards) of(key seawall.Key) seawall.Store {
	shard := s.sharded.Shard(key)
	s.mu.RLock()
	f := s.known[shard]
	s.mu.RUnlock()
	if f != nil {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f = s.known[shard]; f == nil {
		s.forgetEnded()
		f = &Failover{instance: s.instance, shared: shard}
		f.start()
		if s.stopped {
			close(f.stop)
		}
		if s.known == nil {
			s.known = map[seawall.Shard]*Failover{}
		}
		s.known[shard] = f
	}
	return f
}

// forgetEnded forgets the shards that say that they have ended. mu is held.
func (s *shards) forgetEnded() {
	for shard, f := range s.known {
		if ended(shard) && !s.stopped {
			close(f.stop)
			delete(s.known, shard)
			s.forgotten.Go(f.probing.Wait)
		}
	}
}

// ended tells whether a shard says that it has ended.
func ended(shard seawall.Shard) bool {
	e, ok := shard.(interface{ Ended() bool })
	return ok && e.Ended()
}

// open tells whether one of them is given up.
func (s *shards) open() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range s.known {
		if f.Open() {
			return true
		}
	}
	return false
}

// givenUp tells which of them are given up, by the names that logs have for them.
func (s *shards) givenUp() map[string]bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make(map[string]bool, len(s.known))
	for shard, f := range s.known {
		if !ended(shard) {
			all[f.where()] = f.Open()
		}
	}
	return all
}

// stop ends their probes.
func (s *shards) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, f := range s.known {
		close(f.stop)
	}
}

// wait waits for that. Requests that are still there do not wait for it.
func (s *shards) wait() {
	s.mu.RLock()
	known := slices.Collect(maps.Values(s.known))
	s.mu.RUnlock()
	for _, f := range known {
		f.probing.Wait()
	}
	s.forgotten.Wait()
}
