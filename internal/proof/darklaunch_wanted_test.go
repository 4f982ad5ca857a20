package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/fleetshed"
)

// darkWanted is what should have become of a request.
type darkWanted struct {
	decision seawall.Decision
	outcomes []string // "layer outcome", of refusals also the policy and the numbers
	results  []string // "limit enforced numbers"
}

// want counts. The layers that took part are those of all checks; what was not asked has no result.
func want(all, asked []darkCheck) (w darkWanted) {
	var refusals []darkCheck
	for _, c := range asked {
		if c.layer != localLayer {
			w.results = append(w.results, fmt.Sprintf("%s, enforced %v: %s", c.name(), c.enforced(), told(c.result)))
		}
		if !c.result.Admitted {
			refusals = append(refusals, c)
		}
	}
	denial := slices.IndexFunc(refusals, func(c darkCheck) bool { return c.enforced() })
	var first, denied string // the layers
	if len(refusals) > 0 {
		first = refusals[0].layer
	}
	if denial >= 0 {
		c := refusals[denial]
		denied = c.layer
		w.decision = seawall.Decision{Denied: true, Layer: c.layer, Policy: c.policy, RetryAfter: longestWait(refusals)}
		w.decision.Cause = seawall.CauseQuota
		if c.layer == localLayer || c.layer == fleetshed.Name {
			w.decision.Cause = seawall.CauseCapacity
		} else if c.check.Rule == nil {
			w.decision.Cause = seawall.CauseBlocked
		}
	}
	behindFirst, behindDenied := false, false
	for i, c := range all {
		if i > 0 && all[i-1].layer == c.layer {
			continue
		}
		enforced := func(a darkCheck) bool { return a.layer == c.layer && a.enforced() }
		switch {
		case c.layer == denied:
			w.outcomes = append(w.outcomes, countedAs(c.layer, seawall.Denied, refusals[denial]))
		case c.layer == first:
			w.outcomes = append(w.outcomes, countedAs(c.layer, seawall.WouldDeny, refusals[0]))
		case behindDenied || behindFirst && !slices.ContainsFunc(asked, enforced):
			w.outcomes = append(w.outcomes, c.layer+" skipped")
		default:
			w.outcomes = append(w.outcomes, c.layer+" allowed")
		}
		behindFirst, behindDenied = behindFirst || c.layer == first, behindDenied || c.layer == denied
	}
	return w
}

func countedAs(layer string, outcome seawall.Outcome, c darkCheck) string {
	return fmt.Sprintf("%s %v by %s, %v: %s", layer, outcome, c.policy, c.mode, told(c.result))
}

// longestWait is that of all enforced refusals.
func longestWait(refusals []darkCheck) (wait time.Duration) {
	for _, c := range refusals {
		switch {
		case !c.enforced() || wait == seawall.Never:
		case c.result.RetryAfter == seawall.Never:
			wait = seawall.Never
		default:
			wait = max(wait, c.result.RetryAfter)
		}
	}
	return wait
}

func (w darkWanted) differs(got darkAnswer) error {
	is := darkWanted{decision: got.decision}
	for _, e := range got.events {
		text := fmt.Sprintf("%s %v", e.Layer, e.Outcome)
		if e.Outcome == seawall.Denied || e.Outcome == seawall.WouldDeny {
			text += fmt.Sprintf(" by %s, %v: %s", e.Policy, e.Mode, told(e.Result))
		}
		is.outcomes = append(is.outcomes, text)
	}
	for _, name := range got.order {
		if name != localLayer+":"+localPolicy {
			is.results = append(is.results, fmt.Sprintf("%s, enforced %v: %s", name, got.enforced[name], told(got.results[name])))
		}
	}
	if is.decision != w.decision || !slices.Equal(is.outcomes, w.outcomes) || !slices.Equal(is.results, w.results) {
		return fmt.Errorf("got\n%v\nwant by the design\n%v", is, w)
	}
	return nil
}

func (w darkWanted) String() string {
	return fmt.Sprintf("  %+v\n  %q\n  %q", w.decision, w.outcomes, w.results)
}
