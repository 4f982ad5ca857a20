package report_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/middleware/report"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// arrival is one request of a trace.
type arrival struct {
	after time.Duration // the one before
	cost  int64
}

// traffic alternates between bursts, a steady stream about the rate of one a second, and silence.
func traffic(rnd *rand.Rand) []arrival {
	var trace []arrival
	for range 1 + rnd.IntN(6) {
		pace := []time.Duration{0, 30 * time.Millisecond, 900 * time.Millisecond, 1100 * time.Millisecond, 7 * time.Second}[rnd.IntN(5)]
		for range 1 + rnd.IntN(25) {
			trace = append(trace, arrival{
				after: pace/2 + time.Duration(rnd.Int64N(int64(pace)/1000+1))*time.Microsecond, cost: 1 + rnd.Int64N(2),
			})
		}
		trace = append(trace, arrival{after: time.Duration(rnd.IntN(40)) * time.Second, cost: 1})
	}
	return trace
}

// smallest finds, by trying, the smallest limit under which a quota admits the whole trace.
func smallest(t *testing.T, trace []arrival, quota func(limit int64) ratelimit.Quota) int64 {
	t.Helper()
	return int64(1 + sort.Search(1000, func(n int) bool {
		w := newWorld(t, report.Config{}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: quota(int64(n) + 1)}))
		for _, a := range trace {
			w.now = w.now.Add(a.after)
			w.ask("a", a.cost)
		}
		return policy(t, w.recorder.Report(), "ratelimit", "api").WouldRefuse == 0
	}))
}

func TestEnoughIsTheSmallestLimitThatLetsEverythingThrough(t *testing.T) {
	t.Parallel()
	for name, quota := range map[string]func(limit int64) ratelimit.Quota{
		"token bucket": func(limit int64) ratelimit.Quota { return ratelimit.TokenBucket(ratelimit.PerSecond(1), limit) },
		"fixed window": func(limit int64) ratelimit.Quota { return ratelimit.FixedWindow(limit, ratelimit.Every(time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			short := 0
			for seed := range uint64(30) {
				trace := traffic(rand.New(rand.NewPCG(seed, 7)))
				w := newWorld(t, report.Config{}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: quota(5)}))
				for i, a := range trace {
					w.now = w.now.Add(a.after)
					w.ask("a", a.cost)
					if i%3 == 0 {
						w.ask(fmt.Sprint("another", i%5), 1) // is another's business
					}
				}
				p := policy(t, w.recorder.Report(), "ratelimit", "api")
				want := smallest(t, trace, quota)
				if p.WouldRefuse == 0 {
					require.LessOrEqual(t, want, int64(5))
					continue
				}
				short++
				c := listed(t, p, id("a"))
				require.Equal(t, want, c.Enough, "seed %d", seed)
				require.EqualValues(t, 5, c.Limit)
			}
			require.Greater(t, short, 15, "the traces must refuse something")
		})
	}
}

func TestEnoughSlots(t *testing.T) {
	t.Parallel()
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 3})
	require.NoError(t, err)
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		w := newWorld(t, report.Config{}, seawall.Fixed{"concurrency": seawall.LogOnly}, slots)
		var open []*seawall.Admission
		most := 0
		for range 100 {
			if len(open) > 0 && rnd.IntN(10) < 4 {
				i := rnd.IntN(len(open))
				open[i].Done(context.Background())
				open = append(open[:i], open[i+1:]...)
			} else {
				open = append(open, w.Admit(context.Background(), &seawall.Request{Key: seawall.NewKey("a")}))
			}
			most = max(most, len(open))
		}
		for _, a := range open {
			a.Done(context.Background())
		}
		p := policy(t, w.recorder.Report(), "concurrency", "in-flight")
		require.Greater(t, most, 3)
		c := listed(t, p, id("a"))
		require.EqualValues(t, most, c.Enough, "seed %d", seed)
		require.EqualValues(t, 3, c.Limit)
	}
}

// What another limit refuses, too, would not be let through by a greater one.
func TestWhatOthersRefuseIsNotNeeded(t *testing.T) {
	t.Parallel()
	api := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5)}
	day := ratelimit.Policy{Name: "day", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 8)}
	w := newWorld(t, report.Config{}, nil, rate(t, api, day))
	for range 20 {
		w.ask("a", 1)
	}
	r := w.recorder.Report()
	c := listed(t, policy(t, r, "ratelimit", "api"), id("a"))
	assert.EqualValues(t, 15, c.WouldRefuse)
	assert.EqualValues(t, 20, c.Enough, "day has not been exhausted: what api refuses is not charged to it")
	assert.Empty(t, policy(t, r, "ratelimit", "day").Callers)

	w = newWorld(t, report.Config{}, seawall.Fixed{"ratelimit:api": seawall.LogOnly}, rate(t, api, day))
	for range 20 {
		w.ask("a", 1)
	}
	c = listed(t, policy(t, w.recorder.Report(), "ratelimit", "api"), id("a"))
	assert.EqualValues(t, 3, c.WouldRefuse, "the other 12 are refused in earnest")
	assert.EqualValues(t, 8, c.Enough, "day, which is enforced, lets 8 through in all")
}

func TestAChangedLimitIsAnotherQuestion(t *testing.T) {
	t.Parallel()
	scale := 1.0
	l, err := ratelimit.New(ratelimit.Config{
		Scale:    func() float64 { return scale },
		Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 4)}},
	})
	require.NoError(t, err)
	w := newWorld(t, report.Config{}, nil, l)
	for range 10 {
		w.ask("a", 1)
	}
	assert.EqualValues(t, 10, listed(t, policy(t, w.recorder.Report(), "ratelimit", "api"), id("a")).Enough)
	scale = 2
	w.now = w.now.Add(time.Hour)
	for range 9 {
		w.ask("a", 1)
	}
	c := listed(t, policy(t, w.recorder.Report(), "ratelimit", "api"), id("a"))
	assert.EqualValues(t, 8, c.Limit)
	assert.EqualValues(t, 9, c.Enough)
}

// Two instances each see every other request of a caller, on one store.
func TestEnoughOfSeveralInstances(t *testing.T) {
	t.Parallel()
	now := at()
	clock := func() time.Time { return now }
	store := memstore.New(memstore.Config{Now: clock})
	var recorders []*report.Recorder
	var stacks []*seawall.Stack
	for range 2 {
		r, err := report.New(report.Config{Now: clock, CallerID: secret().CallerID})
		require.NoError(t, err)
		s, err := seawall.New(seawall.Config{Store: store, Observer: r, Modes: seawall.Fixed{"ratelimit": seawall.LogOnly}},
			rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 10)}))
		require.NoError(t, err)
		recorders, stacks = append(recorders, r), append(stacks, s)
	}
	for i := range 60 {
		now = now.Add(250 * time.Millisecond)
		stacks[i%2].Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")}).Done(t.Context())
	}
	// 60 requests in 14.75 s, of which the rate alone carries 14.75.
	merged := report.Merge(recorders[0].Report(), recorders[1].Report())
	c := listed(t, policy(t, merged, "ratelimit", "api"), id("a"))
	assert.LessOrEqual(t, c.Enough, int64(46))
	assert.EqualValues(t, 46, c.EnoughAtWorst)
	assert.EqualValues(t, 60-10-14, c.WouldRefuse)
	require.NoError(t, store.Close(t.Context()))
}

// Requests of cost 3 leave something of the limit unused, which must not be taken for used.
func TestEnoughOfSeveralInstancesBoundsAnyCost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 10))
		now := at()
		clock := func() time.Time { return now }
		store := memstore.New(memstore.Config{Now: clock})
		quota := func(limit int64) ratelimit.Quota { return ratelimit.TokenBucket(ratelimit.PerSecond(1), limit) }
		var recorders []*report.Recorder
		var stacks []*seawall.Stack
		for range 4 {
			r, err := report.New(report.Config{Now: clock, CallerID: secret().CallerID})
			require.NoError(t, err)
			s, err := seawall.New(seawall.Config{Store: store, Observer: r, Modes: seawall.Fixed{"ratelimit": seawall.LogOnly}},
				rate(t, ratelimit.Policy{Name: "api", Quota: quota(8)}))
			require.NoError(t, err)
			recorders, stacks = append(recorders, r), append(stacks, s)
		}
		var trace []arrival
		for i := range 80 {
			a := arrival{time.Duration(rnd.IntN(1500)) * time.Millisecond, 1 + rnd.Int64N(3)}
			trace = append(trace, a)
			now = now.Add(a.after)
			stacks[i%4].Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a"), Cost: a.cost}).Done(t.Context())
		}
		var parts []report.Report
		for _, r := range recorders {
			parts = append(parts, r.Report())
		}
		c := listed(t, policy(t, report.Merge(parts...), "ratelimit", "api"), id("a"))
		want := smallest(t, trace, quota)
		require.LessOrEqual(t, c.Enough, want, "seed %d", seed)
		require.GreaterOrEqual(t, c.EnoughAtWorst, want, "seed %d", seed)
		require.NoError(t, store.Close(t.Context()))
	}
}

// Rules of the same terms are one limit, whoever made them and whenever.
func TestARuleMadeAnewIsTheSameLimit(t *testing.T) {
	t.Parallel()
	policies := func() []ratelimit.Policy {
		return []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 4)}}
	}
	l, err := ratelimit.New(ratelimit.Config{Policies: policies()})
	require.NoError(t, err)
	w := newWorld(t, report.Config{}, nil, l)
	for range 4 {
		for range 5 {
			w.ask("a", 1)
		}
		require.NoError(t, l.Reload(policies()))
	}
	assert.EqualValues(t, 20, listed(t, policy(t, w.recorder.Report(), "ratelimit", "api"), id("a")).Enough)
}

// late is a store whose answers take their time to arrive, by the clock of whoever asked.
type late struct {
	seawall.Store
	w  *world
	by func() time.Duration
}

func (s late) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	dst, err := s.Store.Apply(ctx, dst, checks)
	s.w.late = s.by()
	return dst, err
}

// TestEnoughIfAnswersAreLate: the end of a fixed window is known from answers, which arrive sooner or later.
func TestEnoughIfAnswersAreLate(t *testing.T) {
	t.Parallel()
	quota := func(limit int64) ratelimit.Quota {
		return ratelimit.FixedWindow(limit, ratelimit.Every(10*time.Second))
	}
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		trace := traffic(rnd)
		w := newWorldBehind(t, func(w *world, s seawall.Store) seawall.Store {
			return late{s, w, func() time.Duration { return time.Duration(rnd.IntN(100)) * time.Millisecond }}
		}, report.Config{}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: quota(3)}))
		for _, a := range trace {
			w.now = w.now.Add(a.after)
			w.ask("a", a.cost)
		}
		if p := policy(t, w.recorder.Report(), "ratelimit", "api"); p.WouldRefuse > 0 {
			require.Equal(t, smallest(t, trace, quota), listed(t, p, id("a")).Enough, "seed %d", seed)
		}
	}
}

func TestAbsurdCosts(t *testing.T) {
	t.Parallel()
	for _, cost := range []int64{1 << 20, 1 << 40, math.MaxInt64} {
		w := newWorld(t, report.Config{}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 4)}))
		for range 3 {
			w.ask("a", cost)
		}
		c := listed(t, policy(t, w.recorder.Report(), "ratelimit", "api"), id("a"))
		assert.Greater(t, c.Enough, int64(4))
		assert.Positive(t, c.Cost)
	}
	w := newWorld(t, report.Config{}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.FixedWindow(5, ratelimit.Daily())}))
	w.ask("a", 7)
	assert.EqualValues(t, 7, listed(t, policy(t, w.recorder.Report(), "ratelimit", "api"), id("a")).Enough)
}

// A rate whose token takes no whole number of microseconds.
func TestEnoughOfThirds(t *testing.T) {
	t.Parallel()
	for _, r := range []ratelimit.Rate{ratelimit.PerSecond(3), ratelimit.PerSecond(7), ratelimit.PerMinute(70)} {
		w := newWorld(t, report.Config{}, nil, rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(r, 5)}))
		for range 12 {
			w.ask("a", 1)
		}
		assert.EqualValues(t, 12, listed(t, policy(t, w.recorder.Report(), "ratelimit", "api"), id("a")).Enough)
	}
}
