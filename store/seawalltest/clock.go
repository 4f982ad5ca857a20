package seawalltest

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until it is moved: [Clock.Now] is a memstore.Config.Now. The zero Clock
// stands at noon UTC on 15 January 2026, far from the ends of an hour, a day, a month and a year. It is safe
// for concurrent use and must not be copied.
type Clock struct {
	mu    sync.Mutex
	start time.Time
	moved time.Duration
}

// NewClock returns a clock that stands at start; the zero time is where the zero Clock stands.
func NewClock(start time.Time) *Clock {
	return &Clock{start: start.Round(0)} // without the monotonic reading, so that times compare with ==
}

// Now returns the time at which the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := c.start
	if start.IsZero() {
		start = time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC)
	}
	return start.Add(c.moved)
}

// Advance moves the clock by d; a negative d moves it back. Nobody who waits for a timer wakes up.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}
