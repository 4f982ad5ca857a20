package redisstore

import "time"

// SetClockOffset makes the store believe that Redis' clock is so far ahead of its own.
func (s *Store) SetClockOffset(d time.Duration) {
	s.clock.sample.Store(&sample{offset: int64(d), taken: s.now()})
}

// ClockOffset returns how far ahead the store believes it to be.
func (s *Store) ClockOffset() time.Duration {
	return time.Duration(s.clock.at(time.Unix(0, 0)))
}
