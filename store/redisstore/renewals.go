package redisstore

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// claim takes the claimed leases that are still held, and tells whether all went out.
func (s *Store) claim() bool {
	claims := slices.DeleteFunc(s.releases.takeClaims(), func(l seawall.Lease) bool { return !s.ledger.Holds(l.ID) })
	if rest, err := s.renewAll(claims); err != nil {
		for _, l := range rest {
			s.releases.claim(l)
		}
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
	for _, l := range rest {
		s.releases.claim(l)
	}
}

// renewAll renews the leases, and returns those that were left when an error came.
func (s *Store) renewAll(leases []seawall.Lease) (rest []seawall.Lease, err error) {
	for len(leases) > 0 {
		batch := leases[:min(len(leases), maxBatch)]
		ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
		err := s.runBatch(ctx, "renew", batch)
		cancel()
		if err != nil {
			return leases, err
		}
		leases = leases[len(batch):]
	}
	return nil, nil
}

// runBatch runs a section of the leases' rules for all of them: one call per script.
func (s *Store) runBatch(ctx context.Context, section string, leases []seawall.Lease) error {
	type group struct {
		keys []string
		args []any
	}
	groups := map[*redis.Script]*group{}
	env := s.env()
	for _, l := range leases {
		script, err := s.shapes.batch(l.Rule, section)
		if err != nil {
			return err
		}
		g := groups[script]
		if g == nil {
			g = &group{}
			groups[script] = g
		}
		args := l.Rule.Args(nil, env, &seawall.Check{Limit: l.Limit, Rule: l.Rule, Key: l.Key, Cost: 1, ID: l.ID})
		g.keys = append(g.keys, s.nameOf(l.Key, l.Limit))
		g.args = append(g.args, args[:2]...)
	}
	for script, g := range groups {
		if err := script.Run(ctx, s.client, g.keys, s.timed(g.args)...).Err(); err != nil {
			return classify(err)
		}
	}
	return nil
}
