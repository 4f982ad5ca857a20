package redisstore

import (
	"context"
	"time"

	"github.com/seawall-go/seawall"
)

// askAgain is how long a refused lease waits before it is asked for once more: a little longer than a release
// may linger.
const askAgain = linger + 500*time.Microsecond

// Apply implements seawall.Store.
func (s *Store) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if len(checks) == 0 {
		return dst, nil
	}
	if err := s.allowed(); err != nil {
		return dst, err
	}
	began := s.now()
	holds := s.hold(checks)
	env := s.env()
	if holds {
		if err := s.fit(); err != nil {
			s.forget(checks)
			return dst, err
		}
	}
	a, err := s.ask(ctx, env, checks)
	if err != nil {
		s.claimAll(checks)
		return dst, err
	}
	if a.onlyLeasesRefuse(checks) && pause(ctx, askAgain) {
		again, err := s.ask(ctx, env, checks)
		if err != nil { // the first answer stands, so what the second may have taken goes back
			s.giveBack(checks)
		} else {
			a = again
		}
	}
	for i := range checks {
		c := &checks[i]
		res := a.result(i, env, c)
		if c.Timed && c.Op != seawall.Refund {
			c.At = a.at()
		}
		if _, ok := c.Lease(); ok && !res.Committed {
			if l, held := s.drop(c.ID); held && s.now().Sub(began) >= l.Rule.TTL()/3 {
				s.releases.add(l, nil) // it was long due: it may have been renewed meanwhile
			}
		}
		dst = append(dst, res)
	}
	return dst, nil
}

// hold numbers the checks, and counts the leases that they may take as held until it is known that they are
// not: the request may be in flight long before the answer arrives. It tells whether there are any.
func (s *Store) hold(checks []seawall.Check) (some bool) {
	now := s.now()
	for i := range checks {
		c := &checks[i]
		if c.ID == 0 {
			c.ID = s.lastID.Add(1)
		}
		if l, ok := c.Lease(); ok {
			s.ledger.add(l, now)
			some = true
		}
	}
	return some
}

// forget takes the checks' leases for not taken, nor to be.
func (s *Store) forget(checks []seawall.Check) {
	for i := range checks {
		if l, ok := checks[i].Lease(); ok {
			s.drop(l.ID)
		}
	}
}

// claimAll has the checks' leases taken as soon as Redis can be asked, if they are still held then.
func (s *Store) claimAll(checks []seawall.Check) {
	for i := range checks {
		if l, ok := checks[i].Lease(); ok {
			s.releases.claim(asked, l)
		}
	}
}

// giveBack releases what the checks may have taken.
func (s *Store) giveBack(checks []seawall.Check) {
	for i := range checks {
		if l, held := s.drop(checks[i].ID); held {
			s.releases.add(l, nil)
		}
	}
}

// timed appends the clock to a script's arguments, where tests step it.
func (s *Store) timed(args []any) []any {
	if !s.stepped {
		return args
	}
	now := s.now()
	return append(args, now.Unix(), now.Nanosecond()/1000)
}

func (s *Store) env() seawall.Env {
	return seawall.Env{
		Now:      s.clock.at(s.now()),
		Capacity: s.members.capacity(), Instance: s.id,
	}
}

// pause waits, and tells whether ctx still was not done then.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
