package workershed

import "sync/atomic"

// counter counts requests in flight. It never goes below zero.
type counter struct{ n atomic.Int64 }

func (c *counter) load() int64 { return c.n.Load() }

// enter counts one request and returns the new count.
func (c *counter) enter() int64 { return c.n.Add(1) }

// enterBelow counts one request if fewer than limit are in flight, in one step. Adding first and undoing afterwards would
// refuse others for requests that are not there.
func (c *counter) enterBelow(limit int64) bool {
	for {
		n := c.n.Load()
		if n >= limit {
			return false
		}
		if c.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave uncounts one request.
func (c *counter) leave() {
	for {
		n := c.n.Load()
		if n <= 0 || c.n.CompareAndSwap(n, n-1) {
			return
		}
	}
}
