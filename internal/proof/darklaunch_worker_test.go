package proof

import (
	"testing"

	"pgregory.net/rapid"
)

// These tests have a real worker shedder in front, at whose hard cap requests are refused. Its level stays zero.

// withWorker draws a case with a worker shedder.
func withWorker(draw func(*rapid.T) darkCase) func(*rapid.T) darkCase {
	return func(t *rapid.T) darkCase {
		c := draw(t)
		had := c.trace.plan.local
		c.trace.plan.local, c.trace.plan.workers = false, rapid.Int64Range(1, 4).Draw(t, "workers")
		if c.on != "" && (!had || rapid.Bool().Draw(t, "the shedder is on")) {
			c.on = localLayer
		}
		return c
	}
}

// TestAllLogOnlyDecideAsAllEnforcedWithAWorkerShedder: the shedder counts what would be in flight, had every refusal been
// enforced, those of other layers among them.
func TestAllLogOnlyDecideAsAllEnforcedWithAWorkerShedder(t *testing.T) {
	darkProperty(allAsEnforced).holds(t, 40, 8, withWorker(drawDarkAll))
}

func TestAWorkerShedderThatIsLogOnlyDecidesAsIfItWereEnforced(t *testing.T) {
	darkProperty(oneAsEnforced).holds(t, 40, 8, withWorker(drawDarkOne))
}

func TestLogOnlyNeverChangesAWorkerShedder(t *testing.T) {
	darkProperty(darkChangesNothing).holds(t, 40, 8, withWorker(drawDarkMixed))
}
