package store

import (
	"reflect"
	"sync"

	"github.com/seawall-go/seawall"
)

// shares remembers the rules of shares, which are asked for with every request. The zero shares is empty; it is safe
// for concurrent use.
type shares struct {
	mu    sync.RWMutex
	known map[share]seawall.Rule
}

// share is instance i's of n, of a rule.
type share struct {
	of   seawall.Sharer
	i, n int64
}

// maxShares bounds what is remembered: a reload or a changed fleet makes new shares and old ones useless.
const maxShares = 4096

// rule returns the rule of a share.
func (s *shares) rule(of seawall.Sharer, i, n int64) seawall.Rule {
	if n == 1 {
		return of
	}
	if !reflect.ValueOf(of).Comparable() {
		return of.Share(i, n)
	}
	sh := share{of, i, n}
	s.mu.RLock()
	r := s.known[sh]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	r = of.Share(i, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxShares {
		s.known = map[share]seawall.Rule{}
	}
	s.known[sh] = r
	return r
}

// placeOf tells how many instances share a key's limit, and which of them this one is: another one for each key, so
// that what cannot be divided equally does not always fall to the same instances.
func (f *Failover) placeOf(k seawall.Key) (i, n int64) {
	fleet := f.fleet()
	i, n = fleet.Index, min(max(1, fleet.Instances), maxInstances)
	if !fleet.Announced && n < f.expected {
		i, n = f.place, f.expected
	}
	return int64((uint64(i) + k.Hash()) % uint64(n)), n
}
