package redisstore

import (
	"errors"
	"net"
	"net/netip"

	"github.com/seawall-go/seawall"
)

// On a cluster, leases go where their slots go: each lane gives back and renews what lies at its own master. Otherwise one that
// hangs would hold up those of the master from which its slots came.

// sorted returns which releases are this lane's, and which another's by now. At its end a lane sends all that it has.
func (s *Store) sorted(batch []release) (own, others []release) {
	if s.home == nil || s.Ended() {
		return batch, nil
	}
	for _, r := range batch {
		if to := s.home(r.lease.Key); r.handed || to == s || to.Ended() {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	return own, others
}

// handOver gives releases to the lanes to which they belong by now, and returns those that stay: the lane's own, and those that were
// handed over before and not sent yet, since who has a slot that is nobody's is anybody's guess. No renewal of them is under way.
func (s *Store) handOver(batch []release) []release {
	own, others := s.sorted(batch)
	for _, r := range others {
		r.handed = true
		s.home(r.lease.Key).releases.queueAgain(r)
	}
	return own
}

// moveAway has other lanes hold, and renew at once, those leases that belong to them by now, and returns the others. At its end a
// lane keeps what it has, and gives it back.
func (s *Store) moveAway(leases []seawall.Lease, k known) (own []seawall.Lease) {
	if s.home == nil || s.Ended() {
		return leases
	}
	for _, l := range leases {
		if to := s.home(l.Key); to != s && !to.Ended() {
			s.moveTo(to, l, k)
		} else {
			own = append(own, l)
		}
	}
	return own
}

func (s *Store) moveTo(to *Store, l seawall.Lease, k known) {
	s.moves.Lock()
	defer s.moves.Unlock()
	if _, held := s.ledger.remove(l.ID); held { // otherwise it is given back
		to.ledger.add(l, s.now())
		to.releases.claim(k, l)
	}
}

// drop forgets a lease, whichever lane holds it; ok is false if none does.
func (s *Store) drop(id uint64) (l seawall.Lease, ok bool) {
	if s.home == nil {
		return s.ledger.remove(id)
	}
	s.moves.RLock()
	defer s.moves.RUnlock()
	if holder := s.holderOf(id); holder != nil {
		return holder.ledger.remove(id)
	}
	return l, false
}

// held tells whether a lease is held, by whichever lane.
func (s *Store) held(id uint64) bool {
	if s.home == nil {
		return s.ledger.holds(id)
	}
	s.moves.RLock()
	defer s.moves.RUnlock()
	return s.holderOf(id) != nil
}

// holderOf returns the lane that holds a lease, nil if none does. moves is locked.
func (s *Store) holderOf(id uint64) *Store {
	if s.ledger.holds(id) {
		return s
	}
	for _, o := range s.lanes() {
		if o.ledger.holds(id) {
			return o
		}
	}
	return nil
}

// misplaced tells whether a call failed since nobody has its keys for the moment, or they are elsewhere: that is no fault of the
// master that was asked.
func misplaced(err error) bool {
	call, ok := errors.AsType[*callError](err)
	return ok && call.reason == "moved"
}

// elsewhere tells whether a connection could not be made to another server than the lane's: to one that has, or gets, the slot.
func (s *Store) elsewhere(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	if !ok || operation.Op != "dial" || operation.Addr == nil {
		return false
	}
	_, own := netip.ParseAddrPort(s.addr)
	return own == nil && operation.Addr.String() != s.addr
}
