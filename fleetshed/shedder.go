package fleetshed

import (
	"fmt"
	"math"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
)

// Name is the layer's name.
const Name = "fleetshed"

// maxWorkers bounds one instance, and maxCapacity a fleet, so that sums and products of fleets stay whole numbers.
const maxWorkers, maxCapacity = 1_000_000, 1_000_000_000

// Config says how the fleet is divided.
type Config struct {
	// Workers is how many requests this instance handles well at a time, 1 to 1,000,000. Required.
	Workers int64
	// Capacity is how many requests the whole fleet handles well at a time where that is fixed, such as by a database
	// behind it: Workers to 1,000,000,000, the same on all instances. It may not be less than Workers: an instance that
	// cannot ask the shared store, or has a store in memory, goes by its own Workers, and alone would let in more than the
	// fleet can take. Zero is the sum of the Workers of all live instances. That sum is what the gauge
	// seawall_fleet_capacity shows in either case.
	Capacity int64
	// Reserve is the share of the fleet kept for critical requests, 0 ≤ Reserve < 1, in steps of a
	// millionth; 0.2 is a good start. Zero keeps none.
	Reserve float64
	// TTL is how long the slots of an instance that died stay taken, 1 s to 1 h; zero is
	// concurrency.DefaultTTL.
	TTL time.Duration
	// OnFailure says what happens when the store cannot be asked; zero is seawall.FailLocal.
	OnFailure seawall.Failure
}

// Shedder is the layer "fleetshed". It is safe for concurrent use.
type Shedder struct {
	workers            int64
	ordinary, critical *seawall.Limit
	rule               *slot
	fleet              seawall.Key
}

var (
	_ seawall.Layer = (*Shedder)(nil)
	_ seawall.Sizer = (*Shedder)(nil)
)

// New returns a Shedder; errors name the field and the value.
func New(cfg Config) (*Shedder, error) {
	reserve := math.Round(cfg.Reserve * million)
	switch {
	case cfg.Workers < 1 || cfg.Workers > maxWorkers:
		return nil, fmt.Errorf("fleetshed: Workers is %d; want 1 to %d", cfg.Workers, maxWorkers)
	case cfg.Capacity != 0 && (cfg.Capacity < cfg.Workers || cfg.Capacity > maxCapacity):
		return nil, fmt.Errorf("fleetshed: Capacity is %d; want the whole fleet's, Workers (%d) to %d, or zero for the sum of all instances' Workers",
			cfg.Capacity, cfg.Workers, maxCapacity)
	case !(cfg.Reserve >= 0 && reserve < million):
		return nil, fmt.Errorf("fleetshed: Reserve is %v; want 0 ≤ Reserve < 1, in millionths", cfg.Reserve)
	}
	slots, err := concurrency.NewSlots(1, cfg.TTL)
	if err != nil {
		return nil, fmt.Errorf("fleetshed: %w", err)
	}
	s := &Shedder{workers: cfg.Workers, fleet: seawall.FleetKey()}
	s.rule = &slot{Slots: slots, reserve: int64(reserve), own: cfg.Workers, fixed: cfg.Capacity}
	if s.ordinary, err = seawall.NewLimit(Name, "ordinary", cfg.OnFailure); err != nil {
		return nil, fmt.Errorf("fleetshed: %w", err)
	}
	if s.critical, err = seawall.NewLimit(Name, "critical", seawall.FailOpen); err != nil {
		return nil, fmt.Errorf("fleetshed: %w", err)
	}
	return s, nil
}

// Name implements seawall.Layer.
func (s *Shedder) Name() string { return Name }

// Cause implements seawall.Layer.
func (s *Shedder) Cause() seawall.Cause { return seawall.CauseCapacity }

// Limits implements seawall.Layer.
func (s *Shedder) Limits() []*seawall.Limit { return []*seawall.Limit{s.ordinary, s.critical} }

// Workers implements seawall.Sizer.
func (s *Shedder) Workers() int64 { return s.workers }

// Plan implements seawall.Layer. Long-lived requests are outside the fleet's count.
func (s *Shedder) Plan(dst []seawall.Check, r *seawall.Request) []seawall.Check {
	if r.LongLived {
		return dst
	}
	c := seawall.Check{Limit: s.ordinary, Rule: s.rule, Key: s.fleet, Cost: 1}
	if r.Tier >= seawall.Critical {
		c.Limit, c.CountOnly = s.critical, true
	}
	return append(dst, c)
}

// Typical implements seawall.Typical.
func (s *Shedder) Typical() seawall.Check {
	return seawall.Check{Limit: s.ordinary, Rule: s.rule, Key: s.fleet, Cost: 1}
}
