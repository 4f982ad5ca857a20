package proof

import (
	"fmt"
	"strings"

	"github.com/seawall-go/seawall"
)

// darkAnswer is what became of a request. What several mounts said of it is told as one.
type darkAnswer struct {
	decision seawall.Decision
	events   []seawall.Event
	results  map[string]seawall.Result // by limit
	enforced map[string]bool           // which of them could refuse
	order    []string                  // of the limits that were asked
	saved    bool                      // the cache answered
}

// take returns what an admission says, and what was told of it.
func (w *darkWatch) take(a *seawall.Admission) darkAnswer {
	got := darkAnswer{decision: a.Decision(), events: w.events}
	got.results, got.enforced = map[string]seawall.Result{}, map[string]bool{}
	w.events = nil
	for i := range got.events { // who answered is no part of the answer
		got.events[i].Check, got.events[i].Result.Repeated = nil, false
	}
	for i, c := range a.Checks() {
		if i < len(a.Results()) {
			name, res := c.Limit.Name(), a.Results()[i]
			res.Repeated = false
			got.results[name], got.enforced[name] = res, !c.Advisory
			got.order = append(got.order, name)
		}
	}
	return got
}

// add adds what the next mount said.
func (a *darkAnswer) add(b darkAnswer) {
	a.decision = b.decision
	a.events = append(a.events, b.events...)
	a.order = append(a.order, b.order...)
	for name, res := range b.results {
		a.results[name], a.enforced[name] = res, b.enforced[name]
	}
}

func (a darkAnswer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", a.decision)
	if a.saved {
		b.WriteString(" from memory")
	}
	for _, e := range a.events {
		fmt.Fprintf(&b, "\n  %s:%s %v %v: %s", e.Layer, e.Policy, e.Mode, e.Outcome, told(e.Result))
	}
	for _, name := range a.order {
		fmt.Fprintf(&b, "\n    %s, enforced %v: %s, last %v", name, a.enforced[name], told(a.results[name]), a.results[name].Last)
	}
	return b.String()
}

// countsOnce: per request at most one layer denies, at most one would, nothing is allowed behind a denial, every layer
// has one event, and the request is denied if and only if a layer is.
func (a darkAnswer) countsOnce() error {
	counts, layers := map[seawall.Outcome]int{}, map[string]bool{}
	for _, e := range a.events {
		if counts[seawall.Denied] > 0 && e.Outcome != seawall.Skipped {
			return fmt.Errorf("%s is %v behind a denial: %v", e.Layer, e.Outcome, a)
		}
		if layers[e.Layer] {
			return fmt.Errorf("%s is counted twice: %v", e.Layer, a)
		}
		layers[e.Layer] = true
		counts[e.Outcome]++
		if e.Outcome == seawall.Denied && (e.Layer != a.decision.Layer || e.Policy != a.decision.Policy) {
			return fmt.Errorf("%s:%s denies, and the decision names another: %v", e.Layer, e.Policy, a)
		}
	}
	if counts[seawall.Denied] > 1 || counts[seawall.WouldDeny] > 1 || (counts[seawall.Denied] == 1) != a.decision.Denied {
		return fmt.Errorf("there are %v: %v", counts, a)
	}
	return nil
}
