package sim

import (
	"cmp"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
)

// Subjects are makers of what the defaults of package workershed are compared with, and of these, for a service of sc.Workers: no
// shedder; one with a single threshold; Stripe's published constants, which know no hard cap; [workershed.StripePreset], which has
// one; the defaults; and the defaults in log-only mode.
func Subjects() []func(sc Scenario) (Subject, error) {
	worker := func(name string, m seawall.Mode, config func(workers int64) workershed.Config) func(Scenario) (Subject, error) {
		return func(sc Scenario) (Subject, error) {
			return Worker(name, config(int64(cmp.Or(sc.Workers, defaultWorkers))), m)
		}
	}
	defaults := func(workers int64) workershed.Config { return workershed.Config{Workers: workers} }
	return []func(Scenario) (Subject, error){
		func(Scenario) (Subject, error) { return None(), nil },
		func(sc Scenario) (Subject, error) { return BangBang(cmp.Or(sc.Workers, defaultWorkers), 0.8), nil },
		worker("stripe", seawall.Enforce, func(workers int64) workershed.Config {
			cfg := workershed.StripePreset(workers)
			cfg.HardCap = 1000
			return cfg
		}),
		worker("preset", seawall.Enforce, workershed.StripePreset),
		worker("default", seawall.Enforce, defaults),
		worker("log-only", seawall.LogOnly, defaults),
	}
}
