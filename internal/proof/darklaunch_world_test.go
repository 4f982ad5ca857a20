package proof

import (
	"context"
	"fmt"
	"slices"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/workershed"
)

// mount is how the layers are mounted.
type mount uint8

const (
	oneStack mount = iota
	oneByOne       // each in a stack of its own, one behind the other
	again          // one stack, and each once more behind it, which has nothing to say then
)

// darkWorld is one way in which a trace may take place: the modes from step turn on are others.
type darkWorld struct {
	modes, turned darkModes
	turn          int // 0: it is turned from the beginning
	mount         mount
	cache         bool                              // a DenyCache is in front
	store         func(seawall.Store) seawall.Store // what the engine is given in the store's place; nil is the store
	lag           int64                             // how many times slower the cache's clock goes; 0 and 1 are not at all
	blind         bool                              // nothing is compared with the design, only worlds with each other
}

// darkRecord is a trace as it took place, and what it left behind: what each caller has left of each limit.
type darkRecord struct {
	answers []darkAnswer
	left    map[string]seawall.Result
	saved   uint64
	counts  map[string]int // of outcomes
}

// darkRun is a trace that takes place.
type darkRun struct {
	darkWorld
	trace  darkTrace
	ground darkGround
	keys   []seawall.Key
	stacks []*seawall.Stack
	layers []seawall.Layer
	cached *store.DenyCache
	local  *darkLocal
	worker *workershed.Shedder
	watch  *darkWatch
	gates  *darkGates
	expect *darkReference // nil where what is said is not what the stores have
	now    int64
	open   map[int][]*seawall.Admission
	record darkRecord
}

// take has a trace take place in the world. The error is what is not as it must be in any world.
func (w darkWorld) take(tr darkTrace, g darkGround) (rec darkRecord, err error) {
	run := &darkRun{darkWorld: w, trace: tr, ground: g.fresh(), open: map[int][]*seawall.Admission{}, now: tr.start}
	run.record = darkRecord{left: map[string]seawall.Result{}, counts: map[string]int{}}
	if err := run.build(); err != nil {
		return rec, err
	}
	if run.worker != nil {
		defer func() { _ = run.worker.Close() }()
	}
	defer run.endAll() // also where it fails, for the sake of the next
	for i, s := range tr.steps {
		run.now += s.advance.Microseconds()
		run.ground.set(run.now)
		for _, n := range s.ends {
			run.end(n)
		}
		if run.gates.modes = w.turned; i < w.turn {
			run.gates.modes = w.modes
		}
		a, err := run.ask(i, s)
		if err != nil {
			return rec, fmt.Errorf("step %d, modes %v: %w", i, run.gates.modes, err)
		}
		run.record.answers = append(run.record.answers, a)
	}
	run.endAll()
	if run.cached != nil {
		run.record.saved = run.cached.Saved()
	}
	return run.record, run.nothingIsHeld()
}

// ask has a request come, and go through all that is mounted.
func (run *darkRun) ask(i int, s darkStep) (darkAnswer, error) {
	if run.local != nil {
		run.local.busy, run.local.full = s.busy && s.sheds(), s.full && s.sheds()
	}
	whole := darkAnswer{results: map[string]seawall.Result{}, enforced: map[string]bool{}}
	var passed []*seawall.Admission
	var earlier *seawall.Request
	before := uint64(0)
	if run.cached != nil {
		before = run.cached.Saved()
	}
	for n, stack := range run.stacks {
		r := s.request(run.keys)
		if earlier != nil {
			r.Continue(earlier)
		}
		earlier = r
		inside := run.inside()
		a := stack.Admit(context.Background(), r)
		passed = append(passed, a)
		part := run.watch.take(a)
		if err := run.judge(n, i, s, part); err != nil {
			run.open[i] = passed
			return whole, err
		}
		if a.Decision().Denied && run.inside() != inside {
			run.open[i] = passed
			return whole, fmt.Errorf("what was refused is still counted in by the local layer: %v", part)
		}
		whole.add(part)
		if a.Decision().Denied {
			break
		}
	}
	if whole.saved = run.cached != nil && run.cached.Saved() > before; whole.saved && !whole.decision.Denied {
		return whole, fmt.Errorf("it was admitted from memory: %+v", whole)
	}
	if run.open[i] = passed; whole.decision.Denied {
		run.end(i)
	}
	return whole, nil
}

// inside is how many requests the local layer counts.
func (run *darkRun) inside() int64 {
	switch {
	case run.worker != nil:
		return run.worker.InFlight()
	case run.local != nil:
		return int64(run.local.inside)
	}
	return 0
}

// judge says what must be so of every answer of every stack.
func (run *darkRun) judge(n, i int, s darkStep, got darkAnswer) error {
	for _, e := range got.events {
		run.record.counts[e.Outcome.String()]++
	}
	if len(run.watch.troubles) > 0 {
		return fmt.Errorf("trouble: %v", run.watch.troubles)
	}
	if err := got.countsOnce(); err != nil {
		return err
	}
	layers := run.trace.plan.layers()
	switch {
	case run.mount == again && n > 0:
		if len(got.events)+len(got.order) > 0 || got.decision.Denied {
			return fmt.Errorf("it was counted again: %+v", got)
		}
		return nil
	case run.mount == oneByOne:
		layers = layers[n : n+1]
	}
	if run.expect == nil {
		return nil
	}
	return run.expect.compare(i, run.now, s, layers, run.gates.modes, got)
}

func done(passed []*seawall.Admission) {
	for _, a := range slices.Backward(passed) {
		a.Done(context.Background())
	}
}

// end ends a request, if it is in flight.
func (run *darkRun) end(n int) {
	done(run.open[n])
	delete(run.open, n)
	if run.expect != nil {
		run.expect.end(n)
	}
}

func (run *darkRun) endAll() {
	for n := range run.trace.steps {
		run.end(n)
	}
}
