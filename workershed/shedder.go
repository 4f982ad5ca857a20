package workershed

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

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
	signals []*watched
	reports chan report

	// Written by the sampler, read by requests.
	verdict   atomic.Pointer[verdict]
	full      atomic.Pointer[saturation] // nil if no requests wait for workers
	suggested atomic.Uint64              // the bits of a float64

	_ [64]byte // the counters change with every request; keep them off the cache line above

	kept   counter // in flight, had every refusal been enforced, and reservations
	spared counter // in flight though refused, in log-only mode
	prompt counter // in flight and kept, begun in log-only mode while not all workers were busy

	phantoms counter // in flight and kept, but ended if what is spared had been refused

	sparedBegun, promptBegun atomic.Int64  // ever
	logOnly                  atomic.Int64  // requests in log-only mode, ever
	outs                     atomic.Uint64 // requests refused by level, ever
	spreads                  atomic.Uint64

	undecided [places]counter // by caller; callers that share a place count as one
	traffic   traffic

	quit    chan struct{}
	stopped sync.WaitGroup
	once    sync.Once
}

// verdict is what the sampler publishes.
type verdict struct {
	level    float64
	pressure float64
	cut      cut
	byTier   [tiers]float64
}

// New returns a Shedder and starts its sampler, and a reader for each signal. The error names the field of cfg that is wrong.
func New(cfg Config) (*Shedder, error) {
	s, p, cfg, err := build(cfg)
	if err != nil {
		return nil, err
	}
	for _, w := range s.signals {
		w.ask()
		go w.run(s.quit)
	}
	if len(s.signals) > 0 {
		go s.log(cfg.Logger, s.reports)
	}
	s.stopped.Go(func() { s.run(p, cfg.Now, cfg.Interval) })
	return s, nil
}

// NewStepped returns a Shedder without goroutines, and its sampler as a function. It is for simulators, which own the time:
// call step every cfg.Interval of it, from one goroutine, with the time since any start. It reads signals itself and logs nothing;
// cfg.Now is not used. A Shedder whose sampler is not called sheds by the hard cap only.
func NewStepped(cfg Config) (s *Shedder, step func(now time.Duration), err error) {
	now := time.Duration(0)
	cfg.Now = func() time.Duration { return now }
	s, p, _, err := build(cfg)
	if err != nil {
		return nil, nil, err
	}
	return s, func(at time.Duration) {
		now = at
		for _, w := range s.signals {
			w.read()
		}
		p.sample(at)
	}, nil
}

func build(cfg Config) (*Shedder, *sampler, Config, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, nil, cfg, err
	}
	limit, err := seawall.NewLimit(layerName, policyName, seawall.FailOpen)
	if err != nil {
		return nil, nil, cfg, err
	}
	s := &Shedder{
		workers: cfg.Workers,
		cap:     cfg.cap(),
		limits:  []*seawall.Limit{limit},
		reports: make(chan report, maxReports),
		quit:    make(chan struct{}),
	}
	s.signals = watch(cfg, s.reports)
	s.verdict.Store(&verdict{})
	return s, newSampler(s, cfg), cfg, nil
}

// Close stops the sampler and waits for it; a signal whose Read hangs, or a log that does, is not waited for. It is idempotent and returns nil. A
// closed Shedder goes on counting and keeps its hard cap, but sheds nothing by level, since nothing would bring the level down.
func (s *Shedder) Close() error {
	s.once.Do(func() { close(s.quit) })
	s.stopped.Wait()
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

// Utilization returns the requests in flight per worker, now, without those that are in flight only because a refusal was not
// enforced.
func (s *Shedder) Utilization() float64 {
	return float64(max(0, s.kept.load()-s.phantoms.load())) / float64(s.workers)
}

// Pressure returns what the level follows: the largest of the averaged Utilization and all signals that can be read.
func (s *Shedder) Pressure() float64 { return s.verdict.Load().pressure }

// Level returns the shed level: the share, between 0 and 1, of the traffic below critical that is shed.
func (s *Shedder) Level() float64 { return s.verdict.Load().level }

// ShedFraction returns the share of tier t's traffic, between 0 and 1, that the level sheds now. It does not include
// what the hard cap refuses.
func (s *Shedder) ShedFraction(t seawall.Tier) float64 { return s.verdict.Load().byTier[tierOf(t)] }

// InFlight returns how many requests that entered really run now.
func (s *Shedder) InFlight() int64 { return s.kept.load() + s.spared.load() }

// SuggestedWorkers returns what Workers should perhaps be, by what was seen in the last ten minutes: the highest throughput
// times how long a request takes while it is calm. It is 0 as long as too little was seen, and too low for a process that was never
// busy. Times in which log-only mode lets through what it would refuse do not count. Nothing is done with it: a service that slows down would get more and more of what slows it down.
func (s *Shedder) SuggestedWorkers() float64 { return math.Float64frombits(s.suggested.Load()) }

// Signals returns the state of all signals, in the order of the configuration.
func (s *Shedder) Signals() []SignalState {
	states := make([]SignalState, len(s.signals))
	for i, w := range s.signals {
		states[i] = w.state()
	}
	return states
}
