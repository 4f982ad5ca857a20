package redisstore

import (
	"context"
	"slices"

	"github.com/seawall-go/seawall"
)

// claim takes the claimed leases that are still held, and tells whether all went out.
func (s *Store) claim() bool {
	if rest, err := s.renewAll(s.releases.takeClaims()); err != nil {
		s.releases.claim(true, rest...)
		return false
	}
	return true
}

// renew renews the leases that are due. Those that Redis does not take now are claimed, which is tried until
// it does: a third of their TTL later may be too late.
func (s *Store) renew() {
	rest, err := s.renewAll(s.ledger.Due(s.now()))
	if err == nil {
		return
	}
	s.log.Warn("seawall: leases could not be renewed; they are claimed as soon as Redis answers", "leases", len(rest), "error", err)
	s.releases.claim(true, rest...)
}

// renewAll renews those of the leases that are still held, and returns what was left when an error came. No
// release is under way meanwhile, so none is undone.
func (s *Store) renewAll(leases []seawall.Lease) (rest []seawall.Lease, err error) {
	if len(leases) == 0 { // or every turn of the release loop would wait for the rides under way
		return nil, nil
	}
	s.renewals.Lock()
	defer s.renewals.Unlock()
	leases = slices.DeleteFunc(leases, func(l seawall.Lease) bool { return !s.ledger.Holds(l.ID) })
	for len(leases) > 0 {
		batch := leases[:min(len(leases), maxBatch)]
		ctx, cancel := context.WithTimeout(context.Background(), s.renewWait)
		err := s.runBatch(ctx, "renew", batch)
		cancel()
		if err != nil {
			return leases, err
		}
		leases = leases[len(batch):]
	}
	return nil, nil
}
