package report_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/report"
	"github.com/seawall-go/seawall/ratelimit"
)

// refusing is a world that would refuse all requests but the first of each caller.
func refusing(t testing.TB, cfg report.Config) *world {
	return newWorld(t, cfg, nil, rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}))
}

// skewed draws callers of whom few ask for most.
func skewed(seed uint64, callers int) func() string {
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 9)), 1.1, 4, uint64(callers-1))
	return func() string { return fmt.Sprint("caller", z.Uint64()) }
}

// within asserts what a policy's report promises, against the true counts.
func within(t *testing.T, p report.Policy, truth map[string]int64, places int64) {
	t.Helper()
	names := map[string]string{}
	for name := range truth {
		names[id(name)] = name
	}
	all := map[string]bool{}
	for _, c := range p.Callers {
		n := truth[names[c.ID]]
		all[names[c.ID]] = true
		require.LessOrEqual(t, n, c.Count)
		require.GreaterOrEqual(t, n, c.Count-c.Error)
		require.Equal(t, c.WouldRefuse+c.Refused, c.Count-c.Error, "what was seen is the lower bound")
	}
	require.LessOrEqual(t, p.UnlistedAtMost, (p.Refused+p.WouldRefuse)/places)
	for name, n := range truth {
		if !all[name] {
			require.LessOrEqual(t, n, p.UnlistedAtMost, name)
		}
	}
}

func TestTopCallersWithinTheStatedError(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		w := refusing(t, report.Config{Callers: 32})
		next, truth, first := skewed(seed, 2000), map[string]int64{}, map[string]bool{}
		for range 20_000 {
			name := next()
			if w.ask(name, 1); first[name] {
				truth[name]++
			}
			first[name] = true
		}
		p := policy(t, w.recorder.Report(), "ratelimit", "api")
		require.Len(t, p.Callers, 32)
		within(t, p, truth, 32)
		assert.Equal(t, id("caller0"), p.Callers[0].ID, "the most refused")
	}
}

func TestFewCallersAreCountedExactly(t *testing.T) {
	t.Parallel()
	w := refusing(t, report.Config{Callers: 32})
	for i := range 32 {
		for range i + 2 {
			w.ask(fmt.Sprint("caller", i), 1)
		}
	}
	p := policy(t, w.recorder.Report(), "ratelimit", "api")
	require.Len(t, p.Callers, 32)
	for i, c := range p.Callers {
		assert.Equal(t, id(fmt.Sprint("caller", 31-i)), c.ID)
		assert.EqualValues(t, 32-i, c.Count)
		assert.Zero(t, c.Error)
	}
}

func TestMergedReportsStayWithinTheStatedError(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		truth := map[string]int64{}
		var parts []report.Report
		for i := range 4 {
			w, first := refusing(t, report.Config{Callers: 32}), map[string]bool{}
			next := skewed(seed*4+uint64(i), 500)
			for range 5000 / (i + 1) {
				name := next()
				if w.ask(name, 1); first[name] {
					truth[name]++
				}
				first[name] = true
			}
			parts = append(parts, w.recorder.Report())
		}
		merged := report.Merge(parts...)
		p := policy(t, merged, "ratelimit", "api")
		require.Len(t, p.Callers, 32)
		for _, c := range p.Callers { // what each saw is no more than the lower bound
			require.LessOrEqual(t, c.WouldRefuse, c.Count)
		}
		names := map[string]int64{}
		for name, n := range truth {
			names[id(name)] = n
		}
		for _, c := range p.Callers {
			require.LessOrEqual(t, names[c.ID], c.Count)
			require.GreaterOrEqual(t, names[c.ID], c.Count-c.Error)
			delete(names, c.ID)
		}
		for _, n := range names {
			require.LessOrEqual(t, n, p.UnlistedAtMost)
		}
		assert.Equal(t, p.WouldRefuse, policy(t, report.Merge(report.Merge(parts[:2]...), report.Merge(parts[2:]...)), "ratelimit", "api").WouldRefuse)
	}
}

// A flood of callers, each refused, costs no more than its places.
func TestAFloodOfCallersIsBounded(t *testing.T) {
	w := refusing(t, report.Config{})
	limit, err := seawall.NewLimit("ratelimit", "flood", seawall.FailLocal)
	require.NoError(t, err)
	flood := func(n int) {
		for i := range n {
			r := &seawall.Request{Key: seawall.NewKey(fmt.Sprint(i)), Route: fmt.Sprint("/", i%1000)}
			c := []seawall.Check{{Limit: limit, Key: r.Key, Cost: 1}}
			w.recorder.Decided(context.Background(), r, seawall.Event{Layer: "ratelimit", Policy: "flood", Outcome: seawall.WouldDeny, Check: &c[0]})
			w.recorder.Checked(r, c, []seawall.Result{{}})
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	flood(10_000)
	before := heap()
	flood(100_000)
	assert.Less(t, int64(heap())-int64(before), int64(1<<20))
	p := policy(t, w.recorder.Report(), "ratelimit", "flood")
	assert.Len(t, p.Callers, report.DefaultCallers)
	assert.Len(t, p.Routes, 257)
	assert.Equal(t, "(others)", p.Routes[0].Route)
	var routes int64
	for _, r := range p.Routes {
		routes += r.WouldRefuse
	}
	assert.EqualValues(t, 110_000, routes)
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	w := refusing(t, report.Config{Callers: 4})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 500 {
				w.ask(fmt.Sprint("caller", (i+g)%8), 1)
				if i%50 == 0 {
					_, err := json.Marshal(w.recorder.Report())
					assert.NoError(t, err)
				}
			}
		})
	}
	all.Wait()
	p := policy(t, w.recorder.Report(), "ratelimit", "api")
	assert.EqualValues(t, 4000, p.Requests)
	assert.EqualValues(t, 4000-8, p.WouldRefuse)
	w.recorder.Reset()
	assert.Empty(t, w.recorder.Report().Policies)
}

// What is admitted of callers who are not listed costs a look at a table.
func TestAdmittedRequestsDoNotAllocate(t *testing.T) {
	r, err := report.New(report.Config{})
	require.NoError(t, err)
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	req := &seawall.Request{Key: seawall.NewKey("a")}
	checks, results := []seawall.Check{{Limit: limit, Key: req.Key, Cost: 1}}, []seawall.Result{{Admitted: true}}
	event := seawall.Event{Layer: "ratelimit", Policy: "api", Check: &checks[0], Result: results[0]}
	seen := func() {
		r.Decided(context.Background(), req, event)
		r.Checked(req, checks, results)
		r.Finished(req, checks, results)
	}
	seen()
	assert.Zero(t, testing.AllocsPerRun(100, seen))
	event.Outcome, results[0].Admitted = seawall.WouldDeny, false
	seen()
	assert.Zero(t, testing.AllocsPerRun(100, seen), "nor do those of callers who are")
}

func BenchmarkAdmitted(b *testing.B) {
	r, err := report.New(report.Config{})
	require.NoError(b, err)
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(b, err)
	req := &seawall.Request{Key: seawall.NewKey("a")}
	checks, results := []seawall.Check{{Limit: limit, Key: req.Key, Cost: 1}}, []seawall.Result{{Admitted: true}}
	for b.Loop() {
		r.Checked(req, checks, results)
	}
}

func BenchmarkRefused(b *testing.B) {
	r, err := report.New(report.Config{})
	require.NoError(b, err)
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(b, err)
	req := &seawall.Request{Key: seawall.NewKey("a")}
	checks, results := []seawall.Check{{Limit: limit, Key: req.Key, Cost: 1}}, []seawall.Result{{RetryAfter: time.Second}}
	event := seawall.Event{Layer: "ratelimit", Policy: "api", Check: &checks[0], Outcome: seawall.WouldDeny}
	for b.Loop() {
		r.Decided(context.Background(), req, event)
		r.Checked(req, checks, results)
	}
}
