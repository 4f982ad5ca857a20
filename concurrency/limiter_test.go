package concurrency_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	plan := func(*seawall.Request) string { return "" }
	with := func(p concurrency.Policy) concurrency.Config {
		return concurrency.Config{Policies: []concurrency.Policy{p}}
	}
	for want, cfg := range map[string]concurrency.Config{
		"MaxInFlight is 0 and Policies is empty":                {},
		"MaxInFlight is -1":                                     {MaxInFlight: -1},
		"MaxInFlight is -922":                                   {MaxInFlight: math.MinInt64},
		"MaxLongLived is -1":                                    {MaxInFlight: 1, MaxLongLived: -1},
		`policy "in-flight": TTL is 999ms`:                      {MaxInFlight: 1, TTL: 999 * time.Millisecond},
		"TTL is -1s":                                            {MaxInFlight: 1, TTL: -time.Second},
		"TTL is 1h0m0.001s":                                     {MaxInFlight: 1, TTL: time.Hour + time.Millisecond},
		"TTL is 1.0000001s":                                     {MaxInFlight: 1, TTL: time.Second + 100},
		"OnFailure is 7":                                        {MaxInFlight: 1, OnFailure: 7},
		`policy name "A"`:                                       with(concurrency.Policy{Name: "A", MaxInFlight: 1}),
		`policy "p": MaxInFlight is 0`:                          with(concurrency.Policy{Name: "p"}),
		`policy "p": Routes[1] is "GET /"`:                      with(concurrency.Policy{Name: "p", MaxInFlight: 1, Routes: []string{"/", "GET /"}}),
		`policy "p": Plans["big"] is -3; want at least 1`:       with(concurrency.Policy{Name: "p", MaxInFlight: 1, Plan: plan, Plans: map[string]int64{"big": -3}}),
		`policy "p": Plans has "allow", which every policy has`: with(concurrency.Policy{Name: "p", MaxInFlight: 1, Plan: plan, Plans: map[string]int64{"allow": 3}}),
		`plan name "B"`:                                         with(concurrency.Policy{Name: "p", MaxInFlight: 1, Plan: plan, Plans: map[string]int64{"B": 3}}),
		`policy "p": TTL is 2ms`:                                with(concurrency.Policy{Name: "p", MaxInFlight: 1, TTL: 2 * time.Millisecond}),
		`policy "in-flight" is given twice`:                     {MaxInFlight: 1, Policies: []concurrency.Policy{{Name: "in-flight", MaxInFlight: 1}}},
		"there are 18 policies; want at most 16":                {MaxInFlight: 1, Policies: make([]concurrency.Policy, 16)},
	} {
		_, err := concurrency.New(cfg)
		require.ErrorContains(t, err, "concurrency: ")
		require.ErrorContains(t, err, want)
	}
	for _, cfg := range []concurrency.Config{
		{MaxInFlight: 1},
		{MaxInFlight: math.MaxInt64, TTL: time.Hour},
		{MaxLongLived: 1, TTL: time.Second},
		with(concurrency.Policy{Name: "p", MaxInFlight: 1}),
	} {
		_, err := concurrency.New(cfg)
		assert.NoError(t, err)
	}
}

// policiesOf returns the policies of the checks that the limiter plans, and what each weighs and allows.
func policiesOf(l *concurrency.Limiter, r *seawall.Request) (planned []string) {
	for _, c := range l.Plan(nil, r) {
		limit := c.Rule.Result(seawall.Observation{}, true, false, seawall.Env{}, &c).Limit
		planned = append(planned, fmt.Sprintf("%s %s %d of %d", strings.TrimPrefix(c.Key.String(), "1."), c.Limit.Name(), c.Cost, limit))
	}
	return planned
}

func TestPlan(t *testing.T) {
	l, err := concurrency.New(concurrency.Config{MaxInFlight: 3, OnFailure: seawall.FailOpen})
	require.NoError(t, err)
	assert.Equal(t, seawall.CauseQuota, l.Cause())
	require.Len(t, l.Limits(), 2)
	for _, limit := range l.Limits() {
		assert.Equal(t, seawall.FailOpen, limit.OnFailure())
	}
	caller := seawall.NewKey("a")
	got := l.Plan(nil, &seawall.Request{Key: caller, Cost: 7})
	require.Len(t, got, 1)
	assert.Equal(t, concurrency.DefaultTTL, got[0].Rule.(seawall.Holder).TTL())
	assert.EqualValues(t, 1, got[0].Cost, "a request holds one slot, whatever it costs")
	assert.Equal(t, []string{"a concurrency:in-flight 1 of 3"}, policiesOf(l, &seawall.Request{Key: caller, Cost: 7}))
	assert.Equal(t, []string{"a concurrency:long-lived 1 of 3"}, policiesOf(l, &seawall.Request{Key: caller, LongLived: true}))
	assert.Empty(t, l.Plan(nil, &seawall.Request{}), "nobody's")
}

// TestPlanOfPolicies has groups of routes, weights, plans of callers and streams.
func TestPlanOfPolicies(t *testing.T) {
	plan := ""
	plans := map[string]int64{"big": 9}
	routes := []string{"/reports*", "/export"}
	l, err := concurrency.New(concurrency.Config{
		MaxInFlight: 4, MaxLongLived: 2, TTL: 3 * time.Second,
		Policies: []concurrency.Policy{
			{
				Name: "reports", MaxInFlight: 6, Routes: routes, Plans: plans, TTL: 7 * time.Second,
				Plan: func(*seawall.Request) string { return plan },
				Weight: func(r *seawall.Request) int64 {
					if r.Tier == seawall.Write {
						return 5
					}
					return -3
				},
			},
			{
				Name: "tenant", MaxInFlight: 50, Match: func(r *seawall.Request) bool { return len(r.More) > 0 },
				Key: func(r *seawall.Request) seawall.Key { return r.More[0] },
			},
			{Name: "events", MaxInFlight: 1, LongLived: true, Routes: []string{"/events"}},
		},
	})
	require.NoError(t, err)
	plans["big"], routes[0] = 1, "/" // what is changed later does not matter
	a := seawall.NewKey("a")
	for _, c := range []struct {
		plan string
		r    seawall.Request
		want []string
	}{
		{"", seawall.Request{Key: a, Route: "/"}, []string{"a concurrency:in-flight 1 of 4"}},
		{"", seawall.Request{Key: a, Route: "/reports/:id"}, []string{"a concurrency:in-flight 1 of 4", "a concurrency:reports 1 of 6"}},
		{"", seawall.Request{Key: a, Route: "/export", Tier: seawall.Write}, []string{"a concurrency:in-flight 1 of 4", "a concurrency:reports 5 of 6"}},
		{"big", seawall.Request{Key: a, Route: "/export"}, []string{"a concurrency:in-flight 1 of 4", "a concurrency:reports 1 of 9"}},
		{"unknown", seawall.Request{Key: a, Route: "/export"}, []string{"a concurrency:in-flight 1 of 4", "a concurrency:reports 1 of 6"}},
		{concurrency.PlanAllow, seawall.Request{Key: a, Route: "/export"}, []string{"a concurrency:in-flight 1 of 4"}},
		{"", seawall.Request{More: []seawall.Key{seawall.NewKey("t")}}, []string{"t concurrency:tenant 1 of 50"}},
		{"", seawall.Request{Key: a, More: []seawall.Key{{}}}, []string{"a concurrency:in-flight 1 of 4"}},
		{"", seawall.Request{Key: a, Route: "/events", LongLived: true}, []string{"a concurrency:long-lived 1 of 2", "a concurrency:events 1 of 1"}},
		{"", seawall.Request{Key: a, Route: "/reports", LongLived: true}, []string{"a concurrency:long-lived 1 of 2"}},
	} {
		plan = c.plan
		assert.Equal(t, c.want, policiesOf(l, &c.r), "%+v", c.r)
	}
	for _, c := range l.Plan(nil, &seawall.Request{Key: a, Route: "/export"}) {
		want := map[string]time.Duration{"in-flight": 3 * time.Second, "reports": 7 * time.Second}[c.Limit.Policy()]
		assert.Equal(t, want, c.Rule.(seawall.Holder).TTL())
	}
}

// TestLastSlots looks at when a release is worth waiting for: always where there is one slot.
func TestLastSlots(t *testing.T) {
	for _, c := range []struct {
		taken, slots    int64
		last            bool
		remaining       int64
		ok              bool
		retryAtLeastOne bool
	}{
		{0, 1, true, 0, true, false},
		{1, 1, false, 0, false, true},
		{0, 2, false, 1, true, false},
		{1, 2, true, 0, true, false},
		{14, 20, true, 5, true, false},
		{13, 20, false, 6, true, false},
		{25, 20, false, 0, false, true},
		{math.MaxInt64 - 1, math.MaxInt64, true, 0, true, false},
	} {
		r := concurrency.Describe(c.taken, c.slots, 1, c.ok, c.ok, &seawall.Check{})
		assert.Equal(t, c.last, r.Last, "%d of %d", c.taken, c.slots)
		assert.Equal(t, c.remaining, r.Remaining, "%d of %d", c.taken, c.slots)
		assert.Equal(t, c.retryAtLeastOne, r.RetryAfter >= time.Second)
	}
}

// TestSlotStates takes leases whose clock steps, with no store around them.
func TestSlotStates(t *testing.T) {
	l, err := concurrency.NewSlots(2, 10*time.Second)
	require.NoError(t, err)
	var s seawall.State
	at := func(d time.Duration) seawall.Env {
		return seawall.Env{Now: int64(1_800_000_000*time.Second) + int64(d)}
	}
	held := func(env seawall.Env) int64 {
		seen, ok := l.Check(&s, env, &seawall.Check{Cost: 1})
		assert.Equal(t, seen[0] < 2, ok)
		return seen[0]
	}
	assert.True(t, l.Idle(&s, at(0).Now))
	l.Release(&s, 1) // of a state never seen
	l.Commit(&s, at(0), &seawall.Check{ID: 1, Cost: 1})
	l.Commit(&s, at(time.Second), &seawall.Check{ID: 2, Cost: 1})
	assert.EqualValues(t, 2, held(at(10*time.Second-1)))
	assert.EqualValues(t, 1, held(at(10*time.Second)))
	assert.EqualValues(t, 0, held(at(11*time.Second)))
	assert.EqualValues(t, 2, held(at(-time.Hour)), "stepped back")
	assert.EqualValues(t, 0, held(at(-time.Hour+10*time.Second)), "locked out for one TTL at most")
	assert.Equal(t, at(time.Second+10*time.Second/3).Now, l.Renew(&s, at(4*time.Second)), "the other one is due a second later")
	assert.EqualValues(t, 1, held(at(14*time.Second-1)))
	assert.Equal(t, at(4*time.Second+10*time.Second/3).Now, l.Renew(&s, at(5*time.Second)))
	assert.EqualValues(t, 2, held(at(14*time.Second-1)), "one that had expired is there again")
	assert.False(t, l.Idle(&s, at(0).Now))
	l.Release(&s, 1)
	l.Release(&s, 1)
	assert.EqualValues(t, 1, held(at(0)))
	l.Release(&s, 2)
	assert.True(t, l.Idle(&s, at(0).Now))
}

// TestWeights takes several slots at a time, also of a share that is smaller than a check.
func TestWeights(t *testing.T) {
	plain, err := concurrency.NewSlots(7, 10*time.Second)
	require.NoError(t, err)
	weighted := plain.Weighted()
	env := seawall.Env{Now: int64(1_800_000_000 * time.Second)}
	var s seawall.State
	ask := func(rule seawall.Rule, id uint64, cost int64) seawall.Result {
		c := &seawall.Check{ID: id, Cost: cost}
		seen, ok := rule.Check(&s, env, c)
		if ok {
			rule.Commit(&s, env, c)
		}
		return rule.Result(seen, ok, ok, env, c)
	}
	assert.Equal(t, seawall.Result{Limit: 7, Remaining: 7, RetryAfter: seawall.Never}, ask(weighted, 1, 8))
	assert.Equal(t, seawall.Result{Admitted: true, Committed: true, Limit: 7, Remaining: 2}, ask(weighted, 1, 5))
	assert.Equal(t, seawall.Result{Limit: 7, Remaining: 2, RetryAfter: time.Second}, ask(weighted, 2, 3))
	assert.Equal(t, seawall.Result{Admitted: true, Committed: true, Limit: 7, Remaining: 5}, ask(plain, 3, 3), "counts leases, takes one")
	assert.EqualValues(t, 6, weighted.Held(&s, env))
	weighted.Release(&s, 3)
	assert.Equal(t, seawall.Result{Admitted: true, Committed: true, Last: true, Limit: 7}, ask(weighted, 4, 2))
	weighted.Release(&s, 4)
	weighted.Release(&s, 1)
	assert.True(t, weighted.Idle(&s, env.Now))

	var shares int64
	for i := range int64(3) {
		share := weighted.Share(i, 3)
		s = seawall.State{}
		assert.True(t, ask(share, 1, 7).Admitted, "what fits the whole")
		assert.Equal(t, time.Second, ask(share, 2, 7).RetryAfter)
		assert.Equal(t, seawall.Never, ask(share, 2, 8).RetryAfter)
		shares += ask(share, 2, 1).Limit
	}
	assert.EqualValues(t, 7, shares)
	s = seawall.State{}
	assert.False(t, ask(weighted.Share(8, 9), 1, 1).Admitted, "no share")
}

// TestTheRequestsPlanCounts is about policies that do not say who has which plan.
func TestTheRequestsPlanCounts(t *testing.T) {
	l, err := concurrency.New(concurrency.Config{Policies: []concurrency.Policy{{Name: "p", MaxInFlight: 1, Plans: map[string]int64{"big": 3}}}})
	require.NoError(t, err)
	for plan, want := range map[string]int64{"": 1, "big": 3, "unknown": 1} {
		checks := l.Plan(nil, &seawall.Request{Key: seawall.NewKey("a"), Plan: plan})
		require.Len(t, checks, 1)
		assert.Equal(t, want, checks[0].Rule.Result(seawall.Observation{}, true, true, seawall.Env{}, &checks[0]).Limit, plan)
	}
	assert.Empty(t, l.Plan(nil, &seawall.Request{Key: seawall.NewKey("a"), Plan: concurrency.PlanAllow}))
}
