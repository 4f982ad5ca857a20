package store

import "time"

// SetClock has a cache go by another clock than the system's. It is not to be called while the cache is used.
func (c *DenyCache) SetClock(now func() time.Time) {
	began := now()
	c.now = func() time.Duration { return now().Sub(began) }
}

// Len returns how many denials are kept.
func (c *DenyCache) Len() int {
	c.denials.entries.CleanUp()
	return c.denials.entries.EstimatedSize()
}
