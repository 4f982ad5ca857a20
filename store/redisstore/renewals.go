package redisstore

import (
	"context"
	"slices"

	"github.com/seawall-go/seawall"
)

// claim takes the claimed leases that are still held, and tells whether all went out.
func (s *Store) claim() bool {
	before, others := s.releases.takeClaims()
	before, others = s.moveAway(before, granted), s.moveAway(others, asked)
	_, rest, err := s.renewAll(others)
	if err != nil {
		s.releases.claim(asked, rest...)
		s.releases.claim(granted, before...)
		return false
	}
	return s.renewGranted(before) == nil
}

// renew renews the leases that are due. Those that Redis does not take now are claimed, which is tried until
// it does: a third of their TTL later may be too late.
func (s *Store) renew() {
	due := slices.DeleteFunc(s.ledger.due(s.now()), func(l seawall.Lease) bool { return s.releases.claimed(l.ID) })
	if err := s.renewGranted(s.moveAway(due, granted)); err != nil {
		s.log.Warn("seawall: leases could not be renewed; they are claimed as soon as Redis answers", "error", err)
	}
}

// renewGranted renews leases that Redis has granted, counts those that it has lost since, and claims what is left when
// an error comes.
func (s *Store) renewGranted(leases []seawall.Lease) error {
	lost, rest, err := s.renewAll(leases)
	s.releases.claim(granted, rest...)
	if lost > 0 {
		s.lapsed.Add(uint64(lost))
		s.log.Warn("seawall: requests in flight had lost their slots, and have taken them again; "+
			"this process or Redis stood still for longer than their TTL, or Redis lost its data", "leases", lost)
	}
	return err
}

// Lapsed returns how many leases were found lost when they should have been renewed, because this process or Redis
// stood still for longer than their TTL, or because Redis lost its data. Their requests were in flight all the time,
// so others may have been admitted beyond the cap meanwhile.
func (s *Store) Lapsed() uint64 { return s.lapsed.Load() }

// renewAll renews those of the leases that are still held, and returns how many of them Redis had lost, and what was left
// when an error came. No release is under way meanwhile, so none is undone.
func (s *Store) renewAll(leases []seawall.Lease) (lost int64, rest []seawall.Lease, err error) {
	if len(leases) == 0 { // or every turn of the release loop would wait for the rides under way
		return 0, nil, nil
	}
	s.renewals.Lock()
	defer s.renewals.Unlock()
	leases = slices.DeleteFunc(leases, func(l seawall.Lease) bool { return !s.ledger.holds(l.ID) })
	for len(leases) > 0 {
		batch := leases[:min(len(leases), maxBatch)]
		ctx, cancel := context.WithTimeout(context.Background(), s.renewWait)
		n, err := s.runBatch(ctx, renewing, batch)
		cancel()
		lost += n
		if err != nil {
			return lost, leases, err
		}
		leases = leases[len(batch):]
	}
	return lost, nil, nil
}
