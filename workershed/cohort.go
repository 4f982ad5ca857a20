package workershed

import (
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// golden is 2^64 divided by the golden ratio. Steps of this size visit a circle more evenly than any other
// fixed step, whatever their number.
const golden = 0x9e3779b97f4a7c15

// cohorts tells which callers are out. All hashes stand on a circle of 2^64 places; the callers at the
// first p of it are out, and every epoch turns it.
type cohorts struct {
	turn      atomic.Uint64 // of the current epoch
	anonymous atomic.Uint64 // requests of nobody's that were placed
}

// rotate turns the circle to where it is at time now.
func (c *cohorts) rotate(now, period time.Duration) {
	c.turn.Store(uint64(now/period) * golden)
}

// out tells whether a request of key is among the share p that is shed. The answer for a caller is the same
// during an epoch, and grows with p.
func (c *cohorts) out(key seawall.Key, p float64) bool {
	switch {
	case p <= 0:
		return false
	case p >= 1:
		return true
	}
	return c.place(key) < p
}

// place returns where key stands, in [0, 1). All of nobody's requests share one hash and would be shed
// together, so each gets a place of its own.
func (c *cohorts) place(key seawall.Key) float64 {
	at := key.Hash() + c.turn.Load()
	if key.IsZero() {
		at = c.anonymous.Add(1) * golden
	}
	return float64(at>>11) / (1 << 53)
}
