package bench

import (
	"fmt"
	"math"
)

// PerSecond is how many decisions a primary makes that does nothing else.
func (p Primary) PerSecond() float64 { return 1e6 / p.CPU.Median }

// Cores is how much of a core so many decisions a second take.
func (p Primary) Cores(perSecond float64) float64 { return perSecond * p.CPU.Median / 1e6 }

// Shards is how many primaries are needed for so many decisions a second if each may be busy for a share of the time.
func (p Primary) Shards(perSecond, busy float64) int {
	return int(math.Ceil(p.Cores(perSecond) / busy))
}

// Fits says whether so many decisions a second fit into a share of one core; if not, by how much, and what would make it.
func (p Primary) Fits(perSecond, busy float64) string {
	takes := p.Cores(perSecond)
	if takes <= busy {
		return fmt.Sprintf("fits: %s of a core, of %v that it may take", Number(takes), busy)
	}
	return fmt.Sprintf("does not fit: %s of a core, %s more than the %v that it may take; "+
		"it would with %s µs a decision instead of %s, or on %d shards",
		Number(takes), Number(takes-busy), busy, Number(busy*1e6/perSecond), Number(p.CPU.Median), p.Shards(perSecond, busy))
}
