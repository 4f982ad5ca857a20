package seawalltest

import (
	"context"
	"slices"
	"sync"

	"github.com/seawall-go/seawall"
)

// Store is a seawall.Store that evaluates nothing: it answers as it is told, by [Store.Answer], [Store.Deny],
// [Store.Fail], [Store.Delay] and [Store.Panic], and records what it is asked. The zero Store admits
// everything. It is safe for concurrent use, also by the test that tells it something new meanwhile, and must
// not be copied.
type Store struct {
	mu       sync.Mutex
	answers  map[string]seawall.Result
	fault    fault
	lastID   uint64
	applied  [][]seawall.Check
	released []seawall.Lease
	held     []seawall.Lease // in the order in which they were taken
}

var _ seawall.Store = (*Store)(nil)

// Apply implements seawall.Store. What commits follows from the answers as it does in a real store, whatever
// their Committed says: enforced checks if every enforced one admits, advisory ones if all do. A Peek is
// answered and commits nothing, CountOnly checks admit, and a Refund or a Reset always succeeds and has no
// part in the decision.
//
// A call that fails, hangs or panics has been decided all the same, like one whose answer got lost: the leases
// that it would have taken are held until they are released. A Stack does that; so must a store that wraps
// this one.
func (s *Store) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	results, fault := s.decide(dst, checks)
	if err := fault.strike(ctx); err != nil {
		return dst, err
	}
	return results, nil
}

// decide is the atomic step; it also returns what is to go wrong with the call.
func (s *Store) decide(dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number(checks)
	s.applied = append(s.applied, slices.Clone(checks))
	base := len(dst)
	enforced, all := true, true
	for i := range checks {
		res := s.answer(&checks[i])
		if checks[i].Op == seawall.Spend {
			all = all && res.Admitted
			enforced = enforced && (res.Admitted || checks[i].Advisory)
		}
		dst = append(dst, res)
	}
	for i := range checks {
		c, res := &checks[i], &dst[base+i]
		if c.Op > seawall.Peek {
			continue
		}
		res.Committed = c.Op == seawall.Spend && (all || enforced && !c.Advisory)
		res.Last = res.Last && res.Committed
		if l, ok := c.Lease(); ok && res.Committed {
			s.drop(c.ID) // or a lease that is taken again would have to be released twice
			l.Last = res.Last
			s.held = append(s.held, l)
		}
	}
	return dst, s.fault
}

// number gives an id to the checks that have none: one that neither a lease nor another check has.
func (s *Store) number(checks []seawall.Check) {
	for i := range checks {
		for checks[i].ID == 0 {
			s.lastID++
			if !s.knows(s.lastID) && !slices.ContainsFunc(checks, func(c seawall.Check) bool { return c.ID == s.lastID }) {
				checks[i].ID = s.lastID
			}
		}
	}
}

func (s *Store) knows(id uint64) bool {
	return slices.ContainsFunc(s.held, func(l seawall.Lease) bool { return l.ID == id })
}

// drop forgets a lease and tells whether it was held.
func (s *Store) drop(id uint64) bool {
	before := len(s.held)
	s.held = slices.DeleteFunc(s.held, func(l seawall.Lease) bool { return l.ID == id })
	return len(s.held) < before
}

// Release implements seawall.Store. It fails only if it waits, for a lease that took a last slot, and ctx is
// done before the delay is over. The leases are free in any case.
func (s *Store) Release(ctx context.Context, leases ...seawall.Lease) error {
	if fault, wait := s.giveBack(leases); wait {
		return fault.wait(ctx)
	}
	return nil
}

// giveBack tells whether a lease is worth waiting for.
func (s *Store) giveBack(leases []seawall.Lease) (f fault, wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = append(s.released, leases...)
	for _, l := range leases {
		held := s.drop(l.ID)
		wait = wait || held && l.Last
	}
	return s.fault, wait
}

// Applied returns the checks of every call of Apply so far, in order, with the ids that they have got.
func (s *Store) Applied() [][]seawall.Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([][]seawall.Check, len(s.applied))
	for i := range calls {
		calls[i] = slices.Clone(s.applied[i])
	}
	return calls
}

// Released returns every lease that Release was given so far, in order, also those that were not held.
func (s *Store) Released() []seawall.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.released)
}

// Held returns the leases that were taken and not yet released, in the order in which they were taken. When
// all requests are over it must be empty, or something leaks.
func (s *Store) Held() []seawall.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.held)
}
