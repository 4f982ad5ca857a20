package proof

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// TestWrongDarkLaunchesAreFound shows that the properties fail with stores and caches that are wrong. Where it is blind,
// worlds are only compared with each other.
func TestWrongDarkLaunchesAreFound(t *testing.T) {
	with := func(apply func(seawall.Store, []seawall.Result, []seawall.Check) ([]seawall.Result, error)) darkWorld {
		return darkWorld{store: func(s seawall.Store) seawall.Store { return wrong{s, apply} }}
	}
	blind := func(w darkWorld) darkWorld {
		w.blind = true
		return w
	}
	kept := darkWorld{blind: true, store: func(s seawall.Store) seawall.Store { return wrongRelease{s, everyThirdKept()} }}
	for name, c := range map[string]struct {
		world    darkWorld
		draw     func(*rapid.T) darkCase
		property darkProperty
	}{
		"advisory checks commit beside a refusal": {with(advisoryAlways), drawDarkMixed, darkChangesNothing},
		"advisory checks do not commit, alone":    {blind(with(changed(peeksIfAdvisory))), drawDarkOne, oneAsEnforced},
		"advisory checks do not commit":           {blind(with(changed(peeksIfAdvisory))), drawDarkAll, allAsEnforced},
		"advisory checks decide one by one":       {blind(with(advisoryApart)), drawDarkAll, allAsEnforced},
		"advisory checks veto":                    {blind(with(changed(enforces))), drawDarkMixed, darkChangesNothing},
		"all checks decide one by one":            {with(oneAfterAnother), drawDarkAll, allAsEnforced},
		"what only counts is refused":             {with(changed(doesNotOnlyCount)), drawDarkCritical, allAsEnforced},
		"what is released is kept":                {kept, drawDarkMixed, darkChangesNothing},
		"a cache's clock goes slow":               {darkWorld{lag: 2, blind: true}, drawDarkAll, allAsEnforced},
	} {
		t.Run(name, func(t *testing.T) {
			cases, tally := rapid.Custom(c.draw), darkTally{}
			var found error
			for seed := 0; found == nil && seed < 1000; seed++ {
				drawn := cases.Example(seed)
				require.NoError(t, c.property(drawn, darkMemory(), tally), "with what is right")
				drawn.world.store, drawn.world.lag, drawn.world.blind = c.world.store, c.world.lag, c.world.blind
				if found = c.property(drawn, darkMemory(), tally); found != nil {
					t.Logf("case %d: %v", seed, found)
				}
			}
			require.Error(t, found)
			require.NotContains(t, found.Error(), "trouble", "the store is to decide wrong, not to fail")
		})
	}
}

// drawDarkCritical draws a case of critical requests that only the fleet could refuse.
func drawDarkCritical(t *rapid.T) darkCase {
	c := drawDarkAll(t)
	for i := range c.trace.steps {
		s := &c.trace.steps[i]
		s.tier, s.plan, s.long, s.ends = seawall.Critical, ratelimit.PlanAllow, false, nil
	}
	return c
}

// changed is a store that is asked about other checks.
func changed(change func(*seawall.Check)) func(seawall.Store, []seawall.Result, []seawall.Check) ([]seawall.Result, error) {
	return func(s seawall.Store, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		others := slices.Clone(checks)
		for i := range others {
			change(&others[i])
		}
		results, err := s.Apply(context.Background(), dst, others)
		for i := range others {
			checks[i].ID = others[i].ID
		}
		return results, err
	}
}

func enforces(c *seawall.Check)         { c.Advisory = false }
func doesNotOnlyCount(c *seawall.Check) { c.CountOnly = false }

func peeksIfAdvisory(c *seawall.Check) {
	if c.Advisory {
		c.Op = seawall.Peek
	}
}

// advisoryAlways spends also what was only to be looked at, of rates.
func advisoryAlways(s seawall.Store, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	results, err := s.Apply(context.Background(), dst, checks)
	for i, c := range checks {
		r := results[len(dst)+i]
		if _, holds := c.Rule.(seawall.Holder); err != nil || holds || !c.Advisory || !r.Admitted || r.Committed {
			continue
		}
		c.Advisory = false
		_, err = background(s, []seawall.Check{c})
	}
	return results, err
}

// advisoryApart decides about what is enforced together, and about everything else by itself.
func advisoryApart(s seawall.Store, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if slices.ContainsFunc(checks, func(c seawall.Check) bool { return !c.Advisory }) {
		return s.Apply(context.Background(), dst, checks)
	}
	return oneAfterAnother(s, dst, checks)
}

func oneAfterAnother(s seawall.Store, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	var err error
	for i := range checks {
		if dst, err = s.Apply(context.Background(), dst, checks[i:i+1]); err != nil {
			break
		}
	}
	return dst, err
}
