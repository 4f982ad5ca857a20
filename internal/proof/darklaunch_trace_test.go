package proof

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// darkTrace is what happens to a service, and what its layers are.
type darkTrace struct {
	plan  darkPlan
	steps []darkStep
	start int64 // µs
	age   time.Duration
	// settled tells that no quota is asked for by two plans. Otherwise a refusal of the one changes, on the store alone,
	// what is owed by the other, so that a cache that spares the store the question leaves another debt.
	settled bool
	plans   [2]string // that of each group then
}

// darkStep is time that passes, requests that end, and one that comes.
type darkStep struct {
	advance time.Duration
	ends    []int // those that came with these steps
	busy    bool  // the local layer refuses it, unless it is critical
	full    bool  // the local layer refuses it in the end, when the others have admitted it; unless it is critical
	caller  int
	tier    seawall.Tier
	cost    int64
	heavy   bool
	long    bool
	plan    string
}

const darkCallers = 3

// drawDarkTrace draws a trace. In one that is full local layers also refuse in the end.
func drawDarkTrace(t *rapid.T, full bool) darkTrace {
	tr := darkTrace{
		plan: drawDarkPlan(t), start: leasesBegin + rapid.Int64Range(0, 600_000_000).Draw(t, "start µs"),
		settled: odds(t, "settled", 2), age: time.Duration(rapid.IntRange(1, 10).Draw(t, "max age s")) * time.Second,
	}
	for i := range tr.plans {
		if tr.settled && odds(t, "big", 3) {
			tr.plans[i] = bigPlan
		}
	}
	most := oneOf(t, "steps", 8, 24, 24)
	for i := range rapid.IntRange(most/2, most).Draw(t, "steps") {
		s := drawDarkStep(t, i, full)
		if tr.settled && (s.plan == "" || s.plan == bigPlan) {
			s.plan = tr.plans[s.caller%2]
		}
		tr.steps = append(tr.steps, s)
	}
	return tr
}

func drawDarkStep(t *rapid.T, i int, full bool) darkStep {
	s := darkStep{
		busy:   odds(t, "busy", 8),
		full:   full && odds(t, "full", 8),
		caller: oneOf(t, "caller", 0, 0, 0, 1, 1, 2),
		tier:   oneOf(t, "tier", seawall.Read, seawall.Read, seawall.Write, seawall.TestMode, seawall.Critical),
		cost:   oneOf[int64](t, "cost", 1, 1, 1, 2, 3),
		heavy:  odds(t, "heavy", 3),
		long:   odds(t, "long-lived", 8),
		plan:   oneOf(t, "plan", "", "", "", "", "", "", "", bigPlan, bigPlan, ratelimit.PlanBlock, ratelimit.PlanAllow),
	}
	switch rapid.IntRange(0, 9).Draw(t, "advance") {
	case 0, 1, 2, 3:
	case 4:
		s.advance = between(t, "µs on", time.Microsecond, time.Second)
	case 5, 6:
		s.advance = between(t, "ms on", time.Millisecond, 2*time.Second)
	case 7:
		s.advance = oneOf(t, "to the end of", darkTimes...) + oneOf(t, "beside", 0, 0, -time.Microsecond, time.Microsecond)
	case 8:
		s.advance = between(t, "s on", time.Second, 20*time.Second)
	case 9:
		s.advance = between(t, "s on", time.Second, 3*time.Minute)
	}
	for range rapid.IntRange(0, 2).Draw(t, "ends") {
		s.ends = append(s.ends, max(0, i-int(upTo(t, "ends ago", 6))))
	}
	return s
}

// sheds tells whether the local layer may refuse the request.
func (s darkStep) sheds() bool { return s.tier < seawall.Critical }

// request is the step's request of callers with such keys: each of those, and behind them of two groups.
func (s darkStep) request(keys []seawall.Key) *seawall.Request {
	r := &seawall.Request{
		Key: keys[s.caller], More: []seawall.Key{keys[s.group()]}, Tier: s.tier, Cost: s.cost,
		LongLived: s.long, Plan: s.plan, Route: "/",
	}
	if s.heavy {
		r.Route = heavyRoute
	}
	return r
}

// group is the number of the group's key.
func (s darkStep) group() int { return darkCallers + s.caller%2 }

func (tr darkTrace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\nmax age %v, from %d µs on:\n", tr.plan, tr.age, tr.start)
	for i, s := range tr.steps {
		fmt.Fprintf(&b, "%3d: %+v\n", i, s)
	}
	return b.String()
}

// darkModes are modes by layer or "layer:policy".
type darkModes = seawall.Fixed

// darkMode is that of a limit: of its own and its layer's the laxer.
func darkMode(m darkModes, layer, policy string) seawall.Mode {
	return max(m[layer], m[layer+":"+policy])
}

// allModes returns modes in which everything is so.
func allModes(p darkPlan, mode seawall.Mode) darkModes {
	m := darkModes{}
	for _, layer := range p.layers() {
		m[layer] = mode
	}
	return m
}

// onlyMode returns modes in which one layer, or one policy, is so, and everything else off.
func onlyMode(p darkPlan, name string, mode seawall.Mode) darkModes {
	m := darkModes{}
	of, policy, _ := strings.Cut(name, ":")
	for _, layer := range p.layers() {
		if layer != of {
			m[layer] = seawall.Off
			continue
		}
		m[name] = mode
		for _, other := range p.limits(layer) {
			if policy != "" && other != policy {
				m[layer+":"+other] = seawall.Off
			}
		}
	}
	return m
}

// drawDarkModes draws a mixture.
func drawDarkModes(t *rapid.T, p darkPlan) darkModes {
	m := darkModes{}
	for _, name := range p.switches() {
		mode := oneOf(t, "mode of "+name, seawall.Enforce, seawall.Enforce, seawall.LogOnly, seawall.LogOnly, seawall.Off)
		if strings.Contains(name, ":") && odds(t, "as its layer", 2) || mode == seawall.Enforce {
			continue
		}
		m[name] = mode
	}
	return m
}

// withoutDark returns the modes with everything off that is log-only.
func withoutDark(m darkModes) darkModes {
	off := darkModes{}
	for name, mode := range m {
		if mode == seawall.LogOnly {
			mode = seawall.Off
		}
		off[name] = mode
	}
	return off
}
