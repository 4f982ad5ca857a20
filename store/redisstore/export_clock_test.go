package redisstore

import (
	"context"
	"time"

	"github.com/seawall-go/seawall"
)

// SetClockOffset makes the store believe that Redis' clock is so far ahead of its own.
func (s *Store) SetClockOffset(d time.Duration) {
	s.clock.sample.Store(&sample{offset: int64(d), taken: s.now()})
}

// ClockOffset returns how far ahead the store believes it to be.
func (s *Store) ClockOffset() time.Duration {
	return time.Duration(s.clock.at(time.Unix(0, 0)))
}

// ForgetClock makes the store know nothing of Redis' clock.
func (s *Store) ForgetClock() { s.clock.sample.Store(nil) }

// Beat announces the store once.
func (s *Store) Beat() error { return s.beat() }

// RenewNow renews leases, whether or not they are held.
func (s *Store) RenewNow(ctx context.Context, leases ...seawall.Lease) error {
	_, err := s.runBatch(ctx, "renew", leases)
	return err
}
