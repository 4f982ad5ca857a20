package sim_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
	"github.com/seawall-go/seawall/workershed/sim"
)

// The names of the subjects.
const (
	none    = "none"
	stripe  = "stripe"
	ours    = "default"
	logOnly = "log-only"
)

// TestEveryScenario plays all of them with all subjects. SEAWALL_SIM=long plays eight seeds of each.
func TestEveryScenario(t *testing.T) {
	if raceEnabled {
		t.Skip("a run is one goroutine, and takes ten times as long under the race detector: make test runs this without it")
	}
	scenarios := sim.Scenarios()
	if os.Getenv("SEAWALL_SIM") == "long" {
		for seed := range uint64(7) {
			for _, sc := range sim.Scenarios() {
				sc.Seed = seed + 1
				scenarios = append(scenarios, sc)
			}
		}
	}
	all := make([][]*sim.Result, len(scenarios))
	t.Cleanup(func() {
		var table strings.Builder
		require.NoError(t, sim.Table(&table, slices.Concat(all...)))
		t.Log("\n" + table.String())
	})
	for i, sc := range scenarios {
		t.Run(fmt.Sprint(sc.Name, sc.Seed), func(t *testing.T) {
			t.Parallel()
			r := map[string]*sim.Result{}
			for _, subject := range sim.Subjects() {
				s, err := subject(sc)
				require.NoError(t, err)
				res, err := sim.Run(sc, s)
				require.NoError(t, err)
				r[s.Name] = res
				all[i] = append(all[i], res)
			}
			judge(t, sc, r)
		})
	}
}

// slowQueues are scenarios in which a shedder cannot drain a queue twice as fast, and why.
var slowQueues = map[string]string{
	"half lost":    "in the dead zone, 0.7 of the workers that are configured, is a queue for the half that is left",
	"diurnal ramp": "the load grows slowly, and no shedder lets a queue become long",
}

// TestNobodyIsOutForHours has a mild overload go on for two hours, of callers that send much and little.
func TestNobodyIsOutForHours(t *testing.T) {
	if raceEnabled {
		t.Skip("too long under the race detector: make test runs this without it")
	}
	t.Parallel()
	all := sim.Span{To: 2 * time.Hour}
	sc := sim.Scenario{For: 2 * time.Hour, Load: sim.Always(1.3), Overload: all, Skew: 0.7}
	s, err := sim.Worker("worker", workershed.Config{Workers: 40}, seawall.Enforce)
	require.NoError(t, err)
	r, err := sim.Run(sc, s)
	require.NoError(t, err)
	t.Logf("the longest that a caller was out: %v", r.LongestOut)
	assert.Greater(t, r.LongestOut, 3*time.Minute)
	assert.Less(t, r.LongestOut, 15*time.Minute, "ten, and until it asks again")
	assert.LessOrEqual(t, r.Reversals, 2)
}

// judge asserts what is promised of the defaults.
func judge(t *testing.T, sc sim.Scenario, r map[string]*sim.Result) {
	t.Helper()
	ours, published := r[ours], r[stripe]
	assert.LessOrEqual(t, ours.Reversals, max(1, published.Reversals), "at least as calm; who sheds at all, turns once")
	assert.LessOrEqual(t, ours.Reversals, 2)
	assert.LessOrEqual(t, ours.LongestOut, 10*time.Minute, "nobody is out for longer than Config.Rotate")
	assert.Zero(t, ours.Tiers[3].Refused, "critical")
	for name := range r {
		assert.Equal(t, r[none].InOverload[3].Calls, r[name].InOverload[3].Calls, "%s has met the same calls", name)
	}
	if sc.Mix[3] == 1 {
		assert.Zero(t, ours.Denied())
		assert.Less(t, ours.Goodput(), 0.5, "there is no help")
		return
	}
	assert.GreaterOrEqual(t, ours.Goodput(), 0.99)
	assert.Positive(t, ours.Denied())
	assert.Positive(t, ours.Seconds[len(ours.Seconds)-1].At)
	assert.Less(t, ours.Back, 5*time.Minute)
	if r[none].Drained < 0 || r[none].Drained > time.Minute {
		assert.Less(t, r[none].Goodput(), 0.3, "it is an overload")
		assert.Positive(t, published.Drained)
		if slow := slowQueues[sc.Name]; slow != "" {
			assert.LessOrEqual(t, ours.Queued, published.Queued, slow)
		} else {
			assert.LessOrEqual(t, 2*ours.Drained, published.Drained, "queues drain twice as fast")
			assert.LessOrEqual(t, 2*ours.Queued, published.Queued)
		}
	}
	if sc.Name != sim.ImpatientClients {
		assert.InDelta(t, ours.Denied(), r[logOnly].Denied(), 0.05, "log-only tells the truth")
	}
}
