package seawall_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// world is one stack on a clock of its own.
type world struct {
	stack  *seawall.Stack
	seen   *recorder
	worker *switchLayer
	now    time.Time
	open   []*seawall.Admission
}

func newWorld(t *testing.T, modes seawall.Fixed) *world {
	t.Helper()
	w := &world{seen: &recorder{}, worker: newSwitch(t), now: time.Unix(1_800_000_000, 0)}
	store := memstore.New(memstore.Config{Now: func() time.Time { return w.now }})
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "short", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(2), 3)},
		{Name: "long", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(20), 12)},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 2})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 4, Reserve: 0.25})
	require.NoError(t, err)
	w.stack, err = seawall.New(seawall.Config{Store: store, Observer: w.seen, Modes: modes}, w.worker, rate, slots, fleet)
	require.NoError(t, err)
	return w
}

// step is one thing that happens in a trace.
type step struct {
	advance time.Duration
	finish  int // which of the open requests ends; -1 for none
	busy    bool
	request seawall.Request
}

func steps(seed uint64, n int) []step {
	rnd := rand.New(rand.NewPCG(seed, 1))
	trace := make([]step, n)
	for i := range trace {
		trace[i] = step{
			advance: time.Duration(rnd.IntN(400)) * time.Millisecond,
			finish:  rnd.IntN(4) - 1,
			busy:    rnd.IntN(8) == 0,
			request: seawall.Request{
				Key: seawall.NewKey(string(rune('a' + rnd.IntN(3)))), Tier: seawall.Tier(rnd.IntN(4) - 1), Cost: 1 + rnd.Int64N(2),
			},
		}
	}
	return trace
}

// take performs a step, and returns who was refused by what in it, and the outcome of every layer.
// serves says whether the request went on to its handler: in worlds that are compared, both must hold the
// same requests open.
func (w *world) take(s step, serves func(*seawall.Admission, []string) bool) (refused string, outcomes []string) {
	w.now = w.now.Add(s.advance)
	if s.finish >= 0 && s.finish < len(w.open) {
		w.open[s.finish].Done(context.Background())
		w.open = append(w.open[:s.finish], w.open[s.finish+1:]...)
	}
	w.worker.refuse = s.busy && s.request.Tier < seawall.Critical
	r := s.request
	a := w.stack.Admit(context.Background(), &r)
	outcomes = w.seen.take()
	if serves(a, outcomes) {
		w.open = append(w.open, a)
	} else {
		a.Done(context.Background())
	}
	return a.Decision().Layer + ":" + a.Decision().Policy, outcomes
}

// firstRefusal returns the layer and policy of the first event with the outcome.
func firstRefusal(events []string, outcome string) string {
	for _, e := range events {
		var name, mode, got string
		_, _ = fmt.Sscanf(e, "%s %s %s", &name, &mode, &got)
		if got == outcome {
			return name
		}
	}
	return ":"
}

// TestLogOnlyDecidesAsEnforced runs the same traces with everything enforced and with everything log-only:
// request by request the same would be refused by the same policy. In log-only a refused request goes on to
// its handler, but it holds nothing, as in the enforced world where it never got there.
func TestLogOnlyDecidesAsEnforced(t *testing.T) {
	all := seawall.Fixed{
		"workershed": seawall.LogOnly, "ratelimit": seawall.LogOnly, "concurrency": seawall.LogOnly, "fleetshed": seawall.LogOnly,
	}
	refusals := 0
	for seed := range uint64(40) {
		enforced, dark := newWorld(t, nil), newWorld(t, all)
		for i, s := range steps(seed, 300) {
			want, _ := enforced.take(s, func(a *seawall.Admission, _ []string) bool { return !a.Decision().Denied })
			_, events := dark.take(s, func(_ *seawall.Admission, e []string) bool { return firstRefusal(e, "would_deny") == ":" })
			require.Equal(t, want, firstRefusal(events, "would_deny"), "seed %d, step %d", seed, i)
			require.Equal(t, ":", firstRefusal(events, "denied"))
			if want != ":" {
				refusals++
			}
		}
	}
	require.Greater(t, refusals, 1000, "the traces must refuse something")
}

// TestAdvisoryNeverChangesEnforced runs the same traces with some layers or policies log-only and with the
// same ones off: the enforced ones decide alike, request by request.
func TestAdvisoryNeverChangesEnforced(t *testing.T) {
	names := []string{"workershed", "ratelimit", "ratelimit:short", "ratelimit:long", "concurrency", "fleetshed"}
	for seed := range uint64(60) {
		dark, off := seawall.Fixed{}, seawall.Fixed{}
		for i, name := range names {
			if seed>>i&1 == 1 {
				dark[name], off[name] = seawall.LogOnly, seawall.Off
			}
		}
		a, b := newWorld(t, dark), newWorld(t, off)
		for i, s := range steps(seed, 200) {
			serve := func(a *seawall.Admission, _ []string) bool { return !a.Decision().Denied }
			want, _ := b.take(s, serve)
			got, events := a.take(s, serve)
			require.Equal(t, want, got, "seed %d, step %d, log-only %v", seed, i, dark)
			oneRefusalOfAKind(t, events)
		}
	}
}

// oneRefusalOfAKind asserts that at most one layer would deny, at most one denies, and that nothing is
// allowed behind a denial.
func oneRefusalOfAKind(t *testing.T, events []string) {
	t.Helper()
	counts := map[string]int{}
	for _, e := range events {
		var name, mode, outcome string
		_, _ = fmt.Sscanf(e, "%s %s %s", &name, &mode, &outcome)
		if counts["denied"] > 0 {
			require.Equal(t, "skipped", outcome, "%v", events)
		}
		counts[outcome]++
	}
	require.LessOrEqual(t, counts["denied"], 1, "%v", events)
	require.LessOrEqual(t, counts["would_deny"], 1, "%v", events)
}
