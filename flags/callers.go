package flags

import (
	"context"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"github.com/seawall-go/seawall"
)

const (
	// maxArrivals is how many callers wait for an evaluation; others ask again with their next request.
	maxArrivals = 1024
	// callerStripes is in how many parts it is known which callers wait; of one part one caller can.
	callerStripes = 8192
)

// callers are the modes of callers, as far as they are known, and those who wait for theirs.
type callers struct {
	targeting *Targeting
	known     *otter.Cache[seawall.Key, *caller]
	arrivals  chan arrival
	waiting   [callerStripes]atomic.Bool
	closed    context.Context
}

// caller is what a caller had at its last evaluation. It is never changed, only replaced.
type caller struct {
	generation uint64 // of the snapshot
	own        values
	failed     bool // over some flag
}

// values are a caller's, by the number of the flag: the code plus one, or zero where nothing is known.
type values []uint8

func (v values) get(number int) (code uint8, ok bool) {
	if number < len(v) && v[number] > 0 {
		return v[number] - 1, true
	}
	return 0, false
}

func (v values) set(number int, code uint8) { v[number] = code + 1 }

// arrival is a caller that waits for an evaluation.
type arrival struct {
	key        seawall.Key
	attributes map[string]any
	err        error // what was wrong with the attributes
}

// newCallers returns an empty set. Its cache works on the goroutines of its callers, and has no clock: a
// generation tells what is stale.
func newCallers(closed context.Context, t *Targeting) (*callers, error) {
	known, err := otter.New(&otter.Options[seawall.Key, *caller]{
		MaximumSize: t.MaxCallers,
		Executor:    func(work func()) { work() },
	})
	if err != nil {
		return nil, err
	}
	return &callers{targeting: t, known: known, arrivals: make(chan arrival, maxArrivals), closed: closed}, nil
}

// mode is the mode of a gate for the caller of r.
func (c *callers) mode(s *snapshot, g *gate, r *seawall.Request) seawall.Mode {
	if r == nil || r.Key.IsZero() {
		return s.mode(g, nil)
	}
	known, ok := c.known.GetIfPresent(r.Key)
	if !ok {
		c.arrive(r)
		return s.mode(g, nil)
	}
	if known.generation < s.generation {
		c.arrive(r)
	}
	if known.generation < s.changed {
		return max(s.mode(g, known.own), s.mode(g, nil))
	}
	return s.mode(g, known.own)
}

// arrive has the caller of r evaluated, unless it waits already or too many do. It never blocks.
func (c *callers) arrive(r *seawall.Request) {
	if len(c.arrivals) == cap(c.arrivals) {
		return
	}
	waits := c.stripe(r.Key)
	if waits.Load() || c.closed.Err() != nil || !waits.CompareAndSwap(false, true) {
		return
	}
	attributes, err := c.targeting.attributes(r)
	select {
	case c.arrivals <- arrival{r.Key, attributes, err}:
	default:
		waits.Store(false)
	}
}

// leave lets a caller that was evaluated arrive again.
func (c *callers) leave(k seawall.Key) { c.stripe(k).Store(false) }

func (c *callers) stripe(k seawall.Key) *atomic.Bool { return &c.waiting[k.Hash()%callerStripes] }
