package workershed

import "time"

// sampler feeds the controller with a shedder's utilization and publishes what requests read. It belongs to
// one goroutine.
type sampler struct {
	shedder    *Shedder
	controller controller
	now        func() time.Duration
	interval   time.Duration
	rotate     time.Duration
	last       time.Duration // when it last sampled
}

// newSampler returns a sampler whose first step counts from now.
func newSampler(s *Shedder, cfg Config) *sampler {
	return &sampler{
		shedder:    s,
		controller: newController(cfg),
		now:        cfg.Now,
		interval:   cfg.Interval,
		rotate:     cfg.Rotate,
		last:       cfg.Now(),
	}
}

func (p *sampler) sample() {
	now := p.now()
	p.shedder.cohorts.rotate(now, p.rotate)
	p.shedder.setLevel(p.controller.step(p.shedder.Utilization(), now-p.last))
	p.last = now
}

// run samples until the shedder is closed, and leaves the level at zero.
func (s *Shedder) run(p *sampler) {
	defer close(s.stopped)
	defer s.setLevel(0)
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-ticker.C:
			p.sample()
		}
	}
}
