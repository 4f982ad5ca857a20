package workershed

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// The names of the layer and of its limit.
const (
	layerName  = "workershed"
	policyName = "utilization"
)

// places is more than the callers that are undecided at a time, most of the time.
const places = 1024

// Shedder is the layer. It is safe for concurrent use. Make it with [New] and close it when the process no
// longer serves.
type Shedder struct {
	workers int64
	cap     int64
	limits  []*seawall.Limit

	// Written by the sampler, read by every request.
	level   atomic.Uint64 // the bits of a float64
	cohorts cohorts

	_ [64]byte // the counters change with every request; keep them off the cache line above

	kept   counter // in flight, had every refusal been enforced, and reservations
	spared counter // in flight though refused, in log-only mode

	undecided [places]counter // by caller; callers that share a place count as one

	quit    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

// New returns a Shedder and starts its sampler. The error names the field of cfg that is wrong.
func New(cfg Config) (*Shedder, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	limit, err := seawall.NewLimit(layerName, policyName, seawall.FailOpen)
	if err != nil {
		return nil, err
	}
	s := &Shedder{
		workers: cfg.Workers,
		cap:     cfg.cap(),
		limits:  []*seawall.Limit{limit},
		quit:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go s.run(newSampler(s, cfg))
	return s, nil
}

// Close stops the sampler and waits for it. It is idempotent and returns nil. A closed Shedder goes on
// counting and keeps its hard cap, but sheds nothing by level, since nothing would bring the level down.
func (s *Shedder) Close() error {
	s.once.Do(func() { close(s.quit) })
	<-s.stopped
	return nil
}

// Name implements [seawall.Layer]: "workershed".
func (s *Shedder) Name() string { return layerName }

// Cause implements [seawall.Layer]: [seawall.CauseCapacity].
func (s *Shedder) Cause() seawall.Cause { return seawall.CauseCapacity }

// Limits implements [seawall.Layer]: one limit, of policy "utilization", that stands for the layer. The
// result must not be changed.
func (s *Shedder) Limits() []*seawall.Limit { return s.limits }

// Plan implements [seawall.Layer]. It appends nothing: the layer is local.
func (s *Shedder) Plan(dst []seawall.Check, _ *seawall.Request) []seawall.Check { return dst }

// Utilization returns the requests in flight per worker, now, as the controller sees them: without those
// that are in flight only because their refusal was not enforced.
func (s *Shedder) Utilization() float64 { return float64(s.kept.load()) / float64(s.workers) }

// Level returns the shed level between 0 and 1.
func (s *Shedder) Level() float64 { return math.Float64frombits(s.level.Load()) }

// ShedFraction returns the share of tier t, between 0 and 1, that the level sheds now. It does not include
// what the hard cap refuses.
func (s *Shedder) ShedFraction(t seawall.Tier) float64 { return share(s.Level(), t) }

// InFlight returns how many requests that entered really run now.
func (s *Shedder) InFlight() int64 { return s.kept.load() + s.spared.load() }

func (s *Shedder) setLevel(level float64) { s.level.Store(math.Float64bits(level)) }
