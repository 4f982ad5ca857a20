package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
	"github.com/seawall-go/seawall/workershed/sim"
)

// The names by which shedding.md knows subjects and scenarios of package sim.
const (
	unshed   = "none"
	bangBang = "bang-bang"
	stripe   = "stripe"
	preset   = "preset"
	defaults = "default"
	logOnly  = "log-only"

	mild       = "1.5x"
	threefold  = "3x"
	flapping   = "flapping"
	dependency = "slow dependency"
)

// shedding is what shedding.md shows: the worker shedder in virtual time.
type shedding struct {
	scenarios []sim.Scenario
	all       []*sim.Result // every scenario with every subject, in this order
	sized     []sized
}

// playShedding plays all of it, on all processors.
func playShedding() (*shedding, error) {
	s := &shedding{scenarios: sim.Scenarios(), sized: sizes()}
	subjects := sim.Subjects()
	pairs := len(s.scenarios) * len(subjects)
	s.all = make([]*sim.Result, pairs)
	err := inParallel(pairs+len(s.sized), func(i int) error {
		if i >= pairs {
			return s.sized[i-pairs].play(s.scenarios)
		}
		sc := s.scenarios[i/len(subjects)]
		subject, err := subjects[i%len(subjects)](sc)
		if err != nil {
			return err
		}
		s.all[i], err = sim.Run(sc, subject)
		return err
	})
	return s, err
}

// inParallel calls f with 0 to n-1, one for each processor at a time, and returns the first error by number.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// of returns the result of a scenario with a subject.
func (s *shedding) of(scenario, subject string) (*sim.Result, error) {
	for _, r := range s.all {
		if r.Scenario == scenario && r.Subject == subject {
			return r, nil
		}
	}
	return nil, fmt.Errorf("package sim has no scenario %q with the subject %q", scenario, subject)
}

// scenario returns the scenario of a name.
func (s *shedding) scenario(name string) (sim.Scenario, error) { return scenarioOf(s.scenarios, name) }

func scenarioOf(all []sim.Scenario, name string) (sim.Scenario, error) {
	for _, sc := range all {
		if sc.Name == name {
			return sc, nil
		}
	}
	return sim.Scenario{}, fmt.Errorf("package sim has no scenario %q", name)
}

// workers is how many the services of package sim have unless a scenario says otherwise.
const workers = 40

// sized is a service with enough to do, and then three times too much, whose shedder is told a number of workers.
type sized struct {
	told             int64
	steady, overload *sim.Result
	suggested        [2]float64 // by the shedder, at the end of the steady run and of the overload
}

func sizes() []sized {
	return []sized{{told: workers / 4}, {told: workers / 2}, {told: workers * 3 / 4}, {told: workers}, {told: workers * 2}, {told: workers * 4}}
}

// play plays both.
func (s *sized) play(scenarios []sim.Scenario) error {
	sc, err := scenarioOf(scenarios, threefold)
	if err != nil {
		return err
	}
	steady := sc
	steady.Load = sim.Always(0.6)
	if s.steady, s.suggested[0], err = playSized(s.told, steady); err != nil {
		return err
	}
	s.overload, s.suggested[1], err = playSized(s.told, sc)
	return err
}

// playSized plays a scenario, and returns what the shedder suggests at the end of the overload.
func playSized(told int64, sc sim.Scenario) (*sim.Result, float64, error) {
	s, err := sim.Worker(defaults, workershed.Config{Workers: told}, seawall.Enforce)
	if err != nil {
		return nil, 0, err
	}
	shedder, ok := s.Shedder.(*workershed.Shedder)
	if !ok {
		return nil, 0, fmt.Errorf("sim.Worker has made a %T; want a worker shedder", s.Shedder)
	}
	step, suggested := s.Step, 0.0
	s.Step = func(now time.Duration) {
		step(now)
		if now <= sc.Overload.To {
			suggested = shedder.SuggestedWorkers()
		}
	}
	r, err := sim.Run(sc, s)
	return r, suggested, err
}
