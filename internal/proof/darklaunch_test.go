package proof

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
)

// What these tests show is in the design under "Several layers, several modes". Every trace takes place in several worlds,
// and in every one each answer is also compared with what the design says (see darkReference), and nothing is held in the
// end.

// darkCase is a trace, and how it takes place.
type darkCase struct {
	trace darkTrace
	on    string // the one layer, or policy, that is on, if there is but one
	world darkWorld
}

// GoString is how rapid shows a case, which tells it by itself when it fails.
func (c darkCase) GoString() string { return fmt.Sprintf("of %d steps", len(c.trace.steps)) }

// darkProperty is what must be so of every case. The error says how it is not.
type darkProperty func(c darkCase, g darkGround, tally darkTally) error

// holds runs a property on both stores, of so many cases each; many more in a long run.
func (p darkProperty) holds(t *testing.T, inMemory, onRedis int, draw func(t *rapid.T) darkCase) {
	tally := darkTally{}
	all := func(t *testing.T, g darkGround) {
		cases := rapid.Custom(draw)
		rapid.Check(t, func(t *rapid.T) {
			c := cases.Draw(t, "case")
			if err := p(c, g, tally); err != nil {
				t.Fatalf("%v\n%v", c.trace, err)
			}
		})
	}
	t.Run("memory", func(t *testing.T) {
		drawsOrLong(inMemory, 25*inMemory)
		all(t, darkMemory())
	})
	t.Run("redis", func(t *testing.T) {
		drawsOrLong(onRedis, 20*onRedis)
		all(t, darkRedis(t))
	})
	t.Logf("%v", tally)
}

// darkTally counts what happened in traces, so that one sees that something did.
type darkTally map[string]int

func (all darkTally) add(world string, rec darkRecord) {
	for outcome, n := range rec.counts {
		all[world+" "+outcome] += n
	}
	if rec.saved > 0 {
		all[world+" from memory"] += int(rec.saved)
	}
}

// TestAllLogOnlyDecideAsAllEnforced: request by request, with the same numbers, where in the one world who is refused is
// not served, and in the other is. So it is of one stack; of what is mounted one by one, no mount knows what another
// would have refused.
func TestAllLogOnlyDecideAsAllEnforced(t *testing.T) {
	darkProperty(allAsEnforced).holds(t, 60, 15, drawDarkAll)
}

func drawDarkAll(t *rapid.T) darkCase {
	return darkCase{trace: drawDarkTrace(t, false), world: darkWorld{mount: oneOf(t, "mount", oneStack, oneStack, again)}}
}

func allAsEnforced(c darkCase, g darkGround, tally darkTally) error {
	return c.asEnforced(g, allModes(c.trace.plan, seawall.Enforce), allModes(c.trace.plan, seawall.LogOnly), tally)
}

// TestOneLogOnlyDecidesAsOneEnforced does so with each layer, and each policy, where everything else is off.
func TestOneLogOnlyDecidesAsOneEnforced(t *testing.T) {
	darkProperty(oneAsEnforced).holds(t, 100, 20, drawDarkOne)
}

func drawDarkOne(t *rapid.T) darkCase {
	c := darkCase{trace: drawDarkTrace(t, false), world: darkWorld{mount: oneOf(t, "mount", oneStack, oneByOne, again)}}
	c.on = oneOf(t, "on", c.trace.plan.switches()...)
	return c
}

func oneAsEnforced(c darkCase, g darkGround, tally darkTally) error {
	return c.asEnforced(g, onlyMode(c.trace.plan, c.on, seawall.Enforce), onlyMode(c.trace.plan, c.on, seawall.LogOnly), tally)
}

// asEnforced compares a world in which nothing is only logged with one where everything is.
func (c darkCase) asEnforced(g darkGround, enforce, dark darkModes, tally darkTally) error {
	w, bright := c.world, c.world
	bright.turned, w.turned = enforce, dark
	want, err := bright.taken(c.trace, g, "enforced", tally)
	if err != nil {
		return err
	}
	got, err := w.taken(c.trace, g, "log-only", tally)
	if err != nil {
		return err
	}
	for i, a := range want.answers {
		b := got.answers[i]
		if b.decision.Denied || fmt.Sprint(b.asEnforced()) != fmt.Sprint(a.asEnforced()) {
			return fmt.Errorf("mounted %d, step %d is, log-only (%v),\n%v\nand enforced\n%v", w.mount, i, dark, b, a)
		}
	}
	if !maps.Equal(want.left, got.left) {
		return fmt.Errorf("mounted %d, log-only (%v) leaves\n%v\nand enforced\n%v", w.mount, dark, got.left, want.left)
	}
	return nil
}

// asEnforced is the answer without what only tells whether it is enforced.
func (a darkAnswer) asEnforced() darkAnswer {
	b := a
	b.decision, b.events, b.enforced = seawall.Decision{}, nil, nil
	for _, e := range a.events {
		if e.Mode = seawall.Enforce; e.Outcome == seawall.WouldDeny {
			e.Outcome = seawall.Denied
		}
		b.events = append(b.events, e)
	}
	return b
}

// taken is take, and once more behind a cache if that can be the same.
func (w darkWorld) taken(tr darkTrace, g darkGround, name string, tally darkTally) (darkRecord, error) {
	rec, err := w.take(tr, g)
	if err != nil {
		return rec, fmt.Errorf("%s, mounted %d: %w", name, w.mount, err)
	}
	tally.add(name, rec)
	if !tr.settled {
		return rec, nil
	}
	w.cache = true
	cached, err := w.take(tr, g)
	if err == nil {
		tally.add(name+", cached,", cached)
		err = cached.isTrueTo(rec)
	}
	if err != nil {
		err = fmt.Errorf("%s, mounted %d, with the cache: %w", name, w.mount, err)
	}
	return rec, err
}

// TestLogOnlyNeverChangesEnforced: in any mixture of modes, the same requests are refused, by the same policies with the
// same waits, as where everything is off that is only logged. Modes may change in the middle of a trace: then it is so
// from there on.
func TestLogOnlyNeverChangesEnforced(t *testing.T) {
	darkProperty(darkChangesNothing).holds(t, 150, 25, drawDarkMixed)
}

func drawDarkMixed(t *rapid.T) darkCase {
	c := darkCase{trace: drawDarkTrace(t, true)}
	c.world = darkWorld{
		modes: drawDarkModes(t, c.trace.plan), turned: drawDarkModes(t, c.trace.plan),
		mount: oneOf(t, "mount", oneStack, oneStack, oneByOne, again),
	}
	if rapid.Bool().Draw(t, "modes change") {
		c.world.turn = rapid.IntRange(1, len(c.trace.steps)-1).Draw(t, "at")
	}
	return c
}

func darkChangesNothing(c darkCase, g darkGround, tally darkTally) error {
	w, off := c.world, c.world
	off.turned = withoutDark(w.turned)
	want, err := off.taken(c.trace, g, "without", tally)
	if err != nil {
		return err
	}
	got, err := w.taken(c.trace, g, "mixed", tally)
	if err != nil {
		return err
	}
	for i, a := range want.answers {
		b := got.answers[i]
		if i >= w.turn && (a.decision != b.decision || !maps.Equal(a.onlyEnforced(), b.onlyEnforced())) {
			return fmt.Errorf("mounted %d, modes %v\nfrom step %d on %v\nstep %d is\n%v\nand, where what is only logged is off,\n%v",
				w.mount, w.modes, w.turn, w.turned, i, b, a)
		}
	}
	for name, left := range want.left {
		limit, _, _ := strings.Cut(name, " ")
		layer, policy, _ := strings.Cut(limit, ":")
		if darkMode(w.turned, layer, policy) == seawall.Enforce && got.left[name] != left {
			return fmt.Errorf("mounted %d, modes %v\nfrom step %d on %v\nleave of %s\n%s\nand, where what is only logged is off,\n%s",
				w.mount, w.modes, w.turn, w.turned, name, told(got.left[name]), told(left))
		}
	}
	return nil
}

// onlyEnforced are the results of what could refuse.
func (a darkAnswer) onlyEnforced() map[string]seawall.Result {
	only := map[string]seawall.Result{}
	for name, res := range a.results {
		if a.enforced[name] {
			only[name] = res
		}
	}
	return only
}
