package proof

import (
	"context"
	"slices"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/workershed"
)

// darkGates are modes that change while they are in use.
type darkGates struct{ modes darkModes }

// Gate implements seawall.Modes.
func (g *darkGates) Gate(layer, policy string) seawall.Gate {
	name := layer
	if policy != "" {
		name += ":" + policy
	}
	return func(*seawall.Request) seawall.Mode { return g.modes[name] }
}

func (run *darkRun) build() (err error) {
	run.keys = darkKeys()
	run.watch, run.gates = &darkWatch{inflight: map[string]int{}}, &darkGates{}
	run.ground.set(run.now)
	if run.layers, err = run.trace.plan.build(); err != nil {
		return err
	}
	if run.trace.plan.workers > 0 {
		if run.worker, err = workershed.New(workershed.Config{
			Workers: run.trace.plan.workers, HardCap: 1, Now: func() time.Duration { return 0 }, Interval: 10 * time.Second,
		}); err != nil {
			return err
		}
		run.layers = append([]seawall.Layer{run.worker}, run.layers...)
	} else if run.trace.plan.local {
		if run.local, err = newDarkLocal(); err != nil {
			return err
		}
		run.layers = append([]seawall.Layer{run.local}, run.layers...)
	}
	if !run.cache && !run.blind && run.trace.plan.workers == 0 {
		run.expect = newDarkReference(run.trace.plan, run.keys)
	}
	return run.mounts()
}

func (run *darkRun) mounts() (err error) {
	var s seawall.Store = struct{ seawall.Store }{run.ground.store} // no member: no fleet but this instance's
	if run.store != nil {
		s = run.store(s)
	}
	if run.cache {
		run.cached, err = store.NewDenyCache(store.DenyCacheConfig{
			Store: s, MaxKeys: 256, MaxAge: run.trace.age,
			Now: func() time.Time { return time.UnixMicro(run.trace.start + (run.now-run.trace.start)/max(1, run.lag)) },
		})
		if err != nil {
			return err
		}
		s = run.cached
	}
	cfg := seawall.Config{Store: atOnce{s}, Observer: run.watch, Modes: run.gates, Wait: time.Minute, WaitClosed: time.Minute}
	add := func(layers ...seawall.Layer) {
		var stack *seawall.Stack
		if err == nil {
			stack, err = seawall.New(cfg, layers...)
			run.stacks = append(run.stacks, stack)
		}
	}
	if run.mount != oneByOne {
		add(run.layers...)
	}
	if run.mount != oneStack {
		for _, l := range run.layers {
			add(l)
		}
	}
	return err
}

// atOnce is a store that has given back what it is to give back when it says so.
type atOnce struct{ seawall.Store }

// Release implements seawall.Store.
func (s atOnce) Release(_ context.Context, leases ...seawall.Lease) error {
	leases = slices.Clone(leases)
	for i := range leases {
		leases[i].Last = true
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Store.Release(ctx, leases...)
}
