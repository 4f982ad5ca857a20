package workershed

import (
	"math"
	"time"
)

// sampler turns what it sees of a shedder, every Interval, into what requests read. It belongs to one goroutine.
type sampler struct {
	shedder    *Shedder
	controller controller
	demand     demand
	shadow     shadow
	advice     advice
	smoothing  time.Duration
	rotate     time.Duration

	last     time.Duration // when it last sampled
	pressure float64       // averaged
	cut      cut
	outs     uint64 // requests that were shed by level until the level last was zero
}

// newSampler returns a sampler whose first step counts from now.
func newSampler(s *Shedder, cfg Config) *sampler {
	return &sampler{
		shedder:    s,
		controller: newController(cfg),
		smoothing:  cfg.Smoothing,
		rotate:     cfg.Rotate,
		last:       cfg.Now(),
	}
}

// sample takes one step.
func (p *sampler) sample(now time.Duration) {
	dt := now - p.last
	p.last = now
	s := p.shedder
	p.demand.update(&s.traffic, &p.cut, dt)
	seen := s.census()
	full := p.shadow.step(seen, s.workers, p.demand.begun, dt)
	s.full.Store(full)
	if full == nil {
		s.settle(&p.shadow, dt)
	}
	s.suggested.Store(math.Float64bits(p.advice.step(seen, p.demand.begun, dt)))
	u, scale := s.Utilization(), p.shadow.scale()
	for _, w := range s.signals {
		if reading, ok := w.latest(now, dt); ok {
			u = max(u, scale*reading)
		}
	}
	if dt > 0 {
		p.pressure += replaced(dt, p.smoothing) * (u - p.pressure)
	}
	before, outs := p.controller.level, s.outs.Load()
	if before == 0 {
		p.outs = outs
	}
	p.controller.idle = outs == p.outs
	level := p.controller.step(p.pressure, dt)

	p.cut.turn = turned(now, p.rotate)
	p.cut = p.cut.follow(before, level, &p.demand)
	_, byTier := p.cut.shed(&p.demand)
	s.verdict.Store(&verdict{level: level, pressure: p.pressure, cut: p.cut, byTier: byTier})
}

// run samples until the shedder is closed, and leaves the level at zero.
func (s *Shedder) run(p *sampler, now func() time.Duration, interval time.Duration) {
	defer s.verdict.Store(&verdict{})
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-ticker.C:
			for _, w := range s.signals {
				w.ask()
			}
			p.guarded(now)
		}
	}
}

// guarded takes a step. A panic, of ours or of the clock, ends the shedding by level until the next step, not the process.
func (p *sampler) guarded(now func() time.Duration) {
	defer func() {
		if recover() != nil {
			p.shedder.verdict.Store(&verdict{})
		}
	}()
	p.sample(now())
}

func (s *Shedder) census() census {
	return census{
		kept: s.kept.load(), spared: s.spared.load(), phantoms: s.phantoms.load(), prompt: s.prompt.load(),
		sparedBegun: s.sparedBegun.Load(), promptBegun: s.promptBegun.Load(), logOnly: s.logOnly.Load(),
	}
}
