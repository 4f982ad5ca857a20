package ratelimit_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

func policy(name string) ratelimit.Policy {
	return ratelimit.Policy{Name: name, Quota: ratelimit.TokenBucket(ratelimit.PerSecond(10), 20)}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	change := func(f func(*ratelimit.Policy)) []ratelimit.Policy {
		p := policy("api")
		f(&p)
		return []ratelimit.Policy{p}
	}
	quota := func(q ratelimit.Quota) []ratelimit.Policy {
		return change(func(p *ratelimit.Policy) { p.Quota = q })
	}
	plans := func(all map[string]ratelimit.Quota) []ratelimit.Policy {
		return change(func(p *ratelimit.Policy) {
			p.Plans, p.Plan = all, func(*seawall.Request) string { return "" }
		})
	}
	gold := ratelimit.TokenBucket(ratelimit.PerSecond(1), 1)
	for want, policies := range map[string][]ratelimit.Policy{
		"Policies is empty":                               nil,
		`policy "api" is given twice`:                     {policy("api"), policy("other"), policy("api")},
		`policy name ""`:                                  change(func(p *ratelimit.Policy) { p.Name = "" }),
		`policy name "A b"`:                               change(func(p *ratelimit.Policy) { p.Name = "A b" }),
		`policy name "` + strings.Repeat("a", 33):         change(func(p *ratelimit.Policy) { p.Name = strings.Repeat("a", 33) }),
		`policy "api": Quota: quota is empty`:             change(func(p *ratelimit.Policy) { p.Quota = ratelimit.Quota{} }),
		`policy "api": Quota: rate 0 per 0s: Count`:       quota(ratelimit.TokenBucket(ratelimit.Rate{}, 1)),
		`policy "api": Quota: rate 1000001 per 1s`:        quota(ratelimit.TokenBucket(ratelimit.PerSecond(1_000_001), 1)),
		`policy "api": Quota: burst is 0`:                 quota(ratelimit.TokenBucket(ratelimit.PerSecond(1), 0)),
		`policy "api": Quota: burst is -1`:                quota(ratelimit.TokenBucket(ratelimit.PerSecond(1), -1)),
		`Quota: limit is 0; want 1 to 1000000000`:         quota(ratelimit.SlidingLog(0, time.Second)),
		`Quota: limit is -5; want`:                        quota(ratelimit.SlidingCounter(-5, time.Second)),
		`Quota: limit is 1000000001; want`:                quota(ratelimit.FixedWindow(1_000_000_001, ratelimit.Daily())),
		`Quota: window is 0s; want whole milliseconds`:    quota(ratelimit.SlidingLog(1, 0)),
		`Quota: window is 1µs; want whole milliseconds`:   quota(ratelimit.SlidingLog(1, time.Microsecond)),
		`Quota: window is 8808h0m0s; want at most 366`:    quota(ratelimit.SlidingLog(1, 367*24*time.Hour)),
		`Quota: window is 500ms; want whole seconds`:      quota(ratelimit.SlidingCounter(1, time.Second/2)),
		`Quota: window is -1s; want whole seconds`:        quota(ratelimit.SlidingCounter(1, -time.Second)),
		`Quota: calendar is empty; want Every`:            quota(ratelimit.FixedWindow(1, ratelimit.Calendar{})),
		`Quota: calendar: every 0s; want whole seconds`:   quota(ratelimit.FixedWindow(1, ratelimit.Every(0))),
		`Quota: calendar: every 1.5s; want whole seconds`: quota(ratelimit.FixedWindow(1, ratelimit.Every(1500*time.Millisecond))),
		`calendar: every 1h0m0s has no time of day`:       quota(ratelimit.FixedWindow(1, ratelimit.Every(time.Hour).In(time.UTC))),
		`calendar: From 2026-01-01`:                       quota(ratelimit.FixedWindow(1, ratelimit.Daily().From(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))),
		`calendar: weekday is 7; want Sunday`:             quota(ratelimit.FixedWindow(1, ratelimit.Weekly(7))),
		`calendar: day of the month is 0; want 1 to 31`:   quota(ratelimit.FixedWindow(1, ratelimit.Monthly(0))),
		`calendar: day of the month is 32; want 1 to 31`:  quota(ratelimit.FixedWindow(1, ratelimit.Monthly(32))),
		`calendar: time of day is 24h0m0s; want`:          quota(ratelimit.FixedWindow(1, ratelimit.Daily().At(24*time.Hour))),
		`calendar: time of day is -1s; want`:              quota(ratelimit.FixedWindow(1, ratelimit.Daily().At(-time.Second))),
		`policy "api": Callers is 3; want Everyone`:       change(func(p *ratelimit.Policy) { p.Callers = 3 }),
		`policy "api": Routes[1] is ""; want a path`:      change(func(p *ratelimit.Policy) { p.Routes = []string{"/a", ""} }),
		`policy "api": Routes[0] is "v1/a"; want`:         change(func(p *ratelimit.Policy) { p.Routes = []string{"v1/a"} }),
		`policy "api": Routes[0] is "/a*b"; want`:         change(func(p *ratelimit.Policy) { p.Routes = []string{"/a*b"} }),
		`policy "api": Plans has "block"`:                 plans(map[string]ratelimit.Quota{"block": gold}),
		`policy "api": Plans["gold"]: burst is 0`:         plans(map[string]ratelimit.Quota{"gold": ratelimit.TokenBucket(ratelimit.PerSecond(1), 0)}),
		`policy "api": seawall: plan name "Gold"`:         plans(map[string]ratelimit.Quota{"Gold": gold}),
		`policy "api": OnFailure is 3`:                    change(func(p *ratelimit.Policy) { p.OnFailure = 3 }),
	} {
		_, err := ratelimit.New(ratelimit.Config{Policies: policies})
		require.ErrorContains(t, err, "ratelimit: ")
		assert.ErrorContains(t, err, want)
	}
}

func TestPlan(t *testing.T) {
	account := seawall.NewKey("account")
	first, login, odd := policy("first"), policy("login"), policy("odd")
	login.Match = func(r *seawall.Request) bool { return r.Route == "/login" }
	login.Key = func(r *seawall.Request) seawall.Key {
		if len(r.More) == 0 {
			return seawall.Key{}
		}
		return r.More[0]
	}
	odd.Cost = func(r *seawall.Request) int64 { return r.Cost * 2 }
	given := []ratelimit.Policy{first, login, odd}
	l, err := ratelimit.New(ratelimit.Config{Policies: given})
	require.NoError(t, err)
	given[0].Match = func(*seawall.Request) bool { return false } // it has a copy

	type planned struct {
		policy string
		key    seawall.Key
		cost   int64
	}
	caller := seawall.NewKey("caller")
	for name, c := range map[string]struct {
		request seawall.Request
		want    []planned
	}{
		"usual":             {seawall.Request{Key: caller}, []planned{{"first", caller, 1}, {"odd", caller, 1}}},
		"cost":              {seawall.Request{Key: caller, Cost: 3}, []planned{{"first", caller, 3}, {"odd", caller, 6}}},
		"negative cost":     {seawall.Request{Key: caller, Cost: -3}, []planned{{"first", caller, 1}, {"odd", caller, 1}}},
		"least cost":        {seawall.Request{Key: caller, Cost: math.MinInt64}, []planned{{"first", caller, 1}, {"odd", caller, 1}}},
		"nobody":            {seawall.Request{}, nil},
		"matched":           {seawall.Request{Key: caller, Route: "/login", More: []seawall.Key{account}}, []planned{{"first", caller, 1}, {"login", account, 1}, {"odd", caller, 1}}},
		"matched, no key":   {seawall.Request{Key: caller, Route: "/login"}, []planned{{"first", caller, 1}, {"odd", caller, 1}}},
		"nobody, other key": {seawall.Request{Route: "/login", More: []seawall.Key{account}}, []planned{{"login", account, 1}}},
	} {
		before := []seawall.Check{{Cost: 99}}
		got := l.Plan(before, &c.request)
		require.Equal(t, before[0], got[0], name)
		var plan []planned
		for _, check := range got[1:] {
			assert.Equal(t, ratelimit.Name, check.Limit.Layer())
			assert.False(t, check.Advisory || check.CountOnly)
			plan = append(plan, planned{check.Limit.Policy(), check.Key, check.Cost})
		}
		assert.Equal(t, c.want, plan, name)
	}
	assert.Len(t, l.Limits(), 3)
	assert.Equal(t, seawall.CauseQuota, l.Cause())
}

// scaled returns a limiter whose scale can be set, and a function that returns the bucket it plans.
func scaled(t *testing.T, p ratelimit.Policy) (set func(float64), rule func() ratelimit.Rule, l *ratelimit.Limiter) {
	var scale atomic.Uint64
	set = func(f float64) { scale.Store(math.Float64bits(f)) }
	set(1)
	l, err := ratelimit.New(ratelimit.Config{
		Policies: []ratelimit.Policy{p}, Scale: func() float64 { return math.Float64frombits(scale.Load()) },
	})
	require.NoError(t, err)
	return set, func() ratelimit.Rule {
		return l.Plan(nil, &seawall.Request{Key: seawall.NewKey("a")})[0].Rule.(ratelimit.Rule)
	}, l
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		rate          ratelimit.Rate
		burst         int64
		scale         float64
		wantBurst     int64
		wantTokenTime time.Duration
	}{
		{ratelimit.PerSecond(10), 20, 1, 20, 100 * time.Millisecond},
		{ratelimit.PerSecond(10), 20, 2, 40, 50 * time.Millisecond},
		{ratelimit.PerSecond(10), 20, 0.5, 10, 200 * time.Millisecond},
		{ratelimit.PerSecond(10), 20, 0.001, 1, 100 * time.Second},
		{ratelimit.PerSecond(10), 20, 1e9, 1_000_000_000, time.Microsecond},
		{ratelimit.PerSecond(10), 20, math.MaxFloat64, 1_000_000_000, time.Microsecond},
		{ratelimit.PerSecond(10), 20, 1e-9, 1, 30 * 24 * time.Hour},
		{ratelimit.PerSecond(10), 20, math.SmallestNonzeroFloat64, 1, 30 * 24 * time.Hour},
		{ratelimit.PerSecond(10), 20, 0, 20, 100 * time.Millisecond},
		{ratelimit.PerSecond(10), 20, -2, 20, 100 * time.Millisecond},
		{ratelimit.PerSecond(10), 20, math.NaN(), 20, 100 * time.Millisecond},
		{ratelimit.PerSecond(10), 20, math.Inf(1), 20, 100 * time.Millisecond},
		{ratelimit.PerSecond(10), 20, math.Inf(-1), 20, 100 * time.Millisecond},
		// A century's burst stays within it, however the rate is rounded.
		{ratelimit.PerDay(1), 36_525, 7, 255_674, 12_342_857_142_858},
		{ratelimit.PerDay(1), 36_525, 0.01, 365, 30 * 24 * time.Hour},
		{ratelimit.PerDay(10), 365_250, 0.001, 365, 30 * 24 * time.Hour},
		{ratelimit.PerSecond(1), 1_000_000_000, 1e-6, 1000, 1_000_000 * time.Second},
	} {
		p := policy("api")
		p.Quota = ratelimit.TokenBucket(c.rate, c.burst)
		set, rule, _ := scaled(t, p)
		for range 2 { // from 1, and from somewhere else: the way does not matter
			set(c.scale)
			b := rule()
			assert.Equal(t, c.wantBurst, b.Limit(), "%v × %v", c.rate, c.scale)
			assert.InDelta(t, float64(c.wantTokenTime), float64(b.Window())/float64(b.Limit()), 1, "%v × %v", c.rate, c.scale)
			assert.Same(t, b, rule(), "%v × %v is reckoned once", c.rate, c.scale)
			set(1)
			assert.Equal(t, c.burst, rule().Limit())
			set(1000)
			rule()
		}
	}
}

func TestScaleKeepsTheDebtInTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	store := memstore.New(memstore.Config{Now: func() time.Time { return now }})
	t.Cleanup(func() { assert.NoError(t, store.Close(context.Background())) })
	set, _, l := scaled(t, policy("api")) // 20 tokens in 2 s
	ask := func() seawall.Result {
		res, err := store.Apply(t.Context(), nil, l.Plan(nil, &seawall.Request{Key: seawall.NewKey("a")}))
		require.NoError(t, err)
		return res[0]
	}
	for range 10 {
		require.True(t, ask().Admitted)
	}
	set(2) // 40 tokens in 2 s: one second of debt is 20 of them
	assert.Equal(t, seawall.Result{
		Admitted: true, Committed: true, Limit: 40, Remaining: 19, NextAfter: 50 * time.Millisecond, ResetAfter: 1050 * time.Millisecond,
	}, ask())
	set(0.1) // 2 tokens in 2 s
	assert.False(t, ask().Admitted, "1.05 s of debt leave no whole token")
	set(1)
	assert.EqualValues(t, 8, ask().Remaining)
}

func TestScaleIsSafeForConcurrentUse(t *testing.T) {
	set, rule, _ := scaled(t, policy("api"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				switch i {
				case 0:
					set(float64(n%5) - 1)
				default:
					b := rule()
					assert.Contains(t, []int64{20, 40, 60}, b.Limit())
					assert.Equal(t, 2*time.Second, b.Window().Round(time.Microsecond))
				}
			}
		})
	}
	all.Wait()
}

func TestGarbageScaleCostsNothing(t *testing.T) {
	set, _, l := scaled(t, policy("api"))
	set(math.NaN())
	dst, request := make([]seawall.Check, 0, 4), &seawall.Request{Key: seawall.NewKey("a")}
	assert.Zero(t, testing.AllocsPerRun(100, func() { dst = l.Plan(dst[:0], request) }))
}

// TestTheRequestsPlanCounts is about policies that do not say who has which plan.
func TestTheRequestsPlanCounts(t *testing.T) {
	l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.FixedWindow(1, ratelimit.Every(time.Hour)), Plans: map[string]ratelimit.Quota{"gold": ratelimit.FixedWindow(9, ratelimit.Every(time.Hour))}},
		{Name: "own", Quota: ratelimit.FixedWindow(2, ratelimit.Every(time.Hour)), Plan: func(*seawall.Request) string { return "" }},
	}})
	require.NoError(t, err)
	for plan, want := range map[string][]string{
		"": {"api 1", "own 2"}, "gold": {"api 9", "own 2"}, "unknown": {"api 1", "own 2"}, ratelimit.PlanAllow: {"own 2"}, ratelimit.PlanBlock: {"api blocked", "own 2"},
	} {
		var got []string
		for _, c := range l.Plan(nil, &seawall.Request{Key: seawall.NewKey("a"), Plan: plan}) {
			limit := "blocked"
			if rule, ok := c.Rule.(ratelimit.Rule); ok {
				limit = fmt.Sprint(rule.Limit())
			}
			got = append(got, c.Limit.Policy()+" "+limit)
		}
		assert.Equal(t, want, got, plan)
	}
}
