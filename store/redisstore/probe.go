package redisstore

import (
	"context"
	_ "embed"
	"errors"

	"github.com/seawall-go/seawall"
)

//go:embed probe.lua
var probeLua string

// Probe implements seawall.Prober: it runs a script that reads the clock and writes, as decisions do, so that it finds
// Redis unfit when they would.
func (s *Store) Probe(ctx context.Context) (err error) {
	defer caught(&err)
	if wait, ok := seawall.WaitOf(ctx); ok { // which go-redis does not see: such a context has no deadline
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	if s.client.PoolStats().IdleConns < s.conns { // first, or the first decisions would wait for them
		s.warm(ctx)
	}
	sent := s.now()
	reply, err := s.probe.Run(ctx, s.client, []string{s.probed()}).Int64Slice()
	if err != nil {
		s.lookAnew(err)
		return classify(err)
	}
	if len(reply) != 2 {
		return &callError{reason: "script", err: errors.New("a probe's reply is no time")}
	}
	s.heard(sent, nanos(reply))
	s.releases.answered()
	return errors.Join(s.allowed(), s.fit())
}

// Claim implements seawall.Claimer.
func (s *Store) Claim(leases ...seawall.Lease) {
	if s.fit() != nil { // what is taken would not come back
		return
	}
	now := s.now()
	for _, l := range leases {
		s.ledger.add(l, now)
	}
	s.releases.claim(unheard, leases...)
}
