package proof

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seawall-go/seawall"
)

// isTrueTo compares what a cache makes of a trace with what it is without one. What the cache did not answer is the same.
// What it did is refused without one, too, by the policy that is named, among others perhaps; all numbers that it tells
// are those of then; the wait is the longest of those; what is only logged is counted the same. And what the store is left
// with is the same.
func (rec darkRecord) isTrueTo(want darkRecord) error {
	for i, a := range want.answers {
		if err := rec.answers[i].isTrueTo(a); err != nil {
			return fmt.Errorf("step %d: %w: it is\n%v\nand without\n%v", i, err, rec.answers[i], a)
		}
	}
	if !maps.Equal(rec.left, want.left) {
		return fmt.Errorf("what is left is\n%v\nand without\n%v", rec.left, want.left)
	}
	return nil
}

func (a darkAnswer) isTrueTo(want darkAnswer) error {
	if !a.saved {
		if is, should := fmt.Sprint(a), fmt.Sprint(want); is != should {
			return fmt.Errorf("another answer of the store")
		}
		return nil
	}
	if !want.decision.Denied {
		return fmt.Errorf("a denial from memory")
	}
	refuses := a.decision.Layer + ":" + a.decision.Policy
	if told, ok := want.results[refuses]; !ok || told.Admitted || !want.enforced[refuses] {
		return fmt.Errorf("%s does not refuse", refuses)
	}
	wait := seawall.Result{}
	known := false
	for _, name := range a.order {
		res := a.results[name]
		if res.Fallback {
			if res != (seawall.Result{Admitted: true, Fallback: true}) {
				return fmt.Errorf("numbers of %s, which was not asked", name)
			}
			continue
		}
		if res != want.results[name] {
			return fmt.Errorf("other numbers of %s", name)
		}
		if name == refuses {
			known = true
		}
		if !res.Admitted && a.enforced[name] && wait.RetryAfter != seawall.Never {
			if wait.RetryAfter = max(wait.RetryAfter, res.RetryAfter); res.RetryAfter == seawall.Never {
				wait.RetryAfter = seawall.Never
			}
		}
	}
	if !known || wait.RetryAfter != a.decision.RetryAfter {
		return fmt.Errorf("another wait than %v", wait.RetryAfter)
	}
	if !slices.Equal(a.would(), want.would()) {
		return fmt.Errorf("other refusals are logged")
	}
	return nil
}

// would are the events that are only logged.
func (a darkAnswer) would() (only []seawall.Event) {
	for _, e := range a.events {
		if e.Outcome == seawall.WouldDeny {
			only = append(only, e)
		}
	}
	return only
}
