package ratelimit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// policiesOf returns which policies are about a request.
func policiesOf(l *ratelimit.Limiter, r *seawall.Request) []string {
	var names []string
	for _, c := range l.Plan(nil, r) {
		names = append(names, c.Limit.Policy())
	}
	return names
}

func limiter(t testing.TB, policies ...ratelimit.Policy) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	return l
}

func TestPoliciesOfRoutesAndCallers(t *testing.T) {
	search, list, odd := policy("search"), policy("list"), policy("odd")
	search.Routes = []string{"/v1/search", "/v1/find/*"}
	list.Routes = []string{"/v1/*"}
	odd.Routes, odd.Match = []string{"/v1/list"}, func(r *seawall.Request) bool { return r.Tier == seawall.Write }
	l := limiter(t, search, list, odd, ratelimit.Authenticated(), ratelimit.Guest())
	caller := seawall.NewKey("caller")
	for name, c := range map[string]struct {
		request seawall.Request
		want    []string
	}{
		"a search":         {seawall.Request{Route: "/v1/search"}, []string{"search", "list", "guest"}},
		"below a pattern":  {seawall.Request{Route: "/v1/find/:id"}, []string{"search", "list", "guest"}},
		"the pattern":      {seawall.Request{Route: "/v1/find/*"}, []string{"search", "list", "guest"}},
		"no prefix":        {seawall.Request{Route: "/v1/searches"}, []string{"list", "guest"}},
		"elsewhere":        {seawall.Request{Route: "/v2/search"}, []string{"guest"}},
		"unmatched":        {seawall.Request{}, []string{"guest"}},
		"Match and Routes": {seawall.Request{Route: "/v1/list", Tier: seawall.Write}, []string{"list", "odd", "guest"}},
		"Match alone":      {seawall.Request{Route: "/v2", Tier: seawall.Write}, []string{"guest"}},
		"signed in":        {seawall.Request{Route: "/v2", Authenticated: true}, []string{"authenticated"}},
	} {
		c.request.Key = caller
		assert.Equal(t, c.want, policiesOf(l, &c.request), name)
	}
}

func TestPresets(t *testing.T) {
	for _, c := range []struct {
		policy ratelimit.Policy
		burst  int64
		window time.Duration
	}{{ratelimit.Authenticated(), 50, 5 * time.Second}, {ratelimit.Guest(), 5, 5 * time.Second}} {
		rule, err := c.policy.Quota.Rule()
		require.NoError(t, err)
		assert.Equal(t, c.burst, rule.Limit())
		assert.Equal(t, c.window, rule.Window())
	}
}

// TestPlanCountsFromTheNextDecisionOn moves one caller between plans.
func TestPlanCountsFromTheNextDecisionOn(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	store := memstore.New(memstore.Config{Now: func() time.Time { return now }})
	t.Cleanup(func() { assert.NoError(t, store.Close(context.Background())) })
	plan := ""
	p := quota("api", ratelimit.TokenBucket(ratelimit.PerSecond(1), 10))
	p.Plans = map[string]ratelimit.Quota{
		"gold": ratelimit.TokenBucket(ratelimit.PerSecond(10), 50),
		"tiny": ratelimit.TokenBucket(ratelimit.PerSecond(1), 2),
	}
	p.Plan = func(*seawall.Request) string { return plan }
	b, err := ratelimit.NewBudget(store, limiter(t, p))
	require.NoError(t, err)
	for range 10 {
		require.True(t, allow(t, b, 1).Admitted)
	}
	require.False(t, allow(t, b, 1).Admitted)

	plan = "gold"
	a := allow(t, b, 1)
	assert.False(t, a.Admitted, "ten seconds of debt are more than gold takes to refill")
	assert.Equal(t, 100*time.Millisecond, a.RetryAfter, "so they are cut to its burst")
	now = now.Add(2500 * time.Millisecond)
	assert.Equal(t, int64(24), allow(t, b, 1).Remaining)

	plan = ratelimit.PlanBlock
	a = allow(t, b, 1)
	assert.False(t, a.Admitted)
	assert.Equal(t, seawall.Never, a.RetryAfter)

	plan = ratelimit.PlanAllow
	for range 100 {
		require.True(t, allow(t, b, 1).Admitted)
	}

	plan = "gold"
	assert.Equal(t, int64(23), allow(t, b, 1).Remaining, "neither being blocked nor being allowed cost anything")

	plan = "tiny"
	assert.False(t, allow(t, b, 1).Admitted)
	plan = "unheard of"
	assert.Equal(t, int64(7), allow(t, b, 1).Remaining, "the policy's own, with 2 s of debt")
}

// gone is a store that cannot be asked.
type gone struct{ seawall.Store }

func (gone) Apply(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	return dst, errors.New("gone")
}

func TestBlockStandsWhenTheStoreIsGone(t *testing.T) {
	for name, failure := range map[string]seawall.Failure{"local": seawall.FailLocal, "open": seawall.FailOpen, "closed": seawall.FailClosed} {
		p := policy("api")
		p.OnFailure = failure
		p.Plan = func(r *seawall.Request) string {
			if r.Key == account {
				return ratelimit.PlanBlock
			}
			return ""
		}
		s, err := seawall.New(seawall.Config{Store: gone{}}, limiter(t, p))
		require.NoError(t, err)
		blocked := s.Admit(t.Context(), spend(1))
		assert.Equal(t, seawall.Decision{
			Denied: true, Layer: ratelimit.Name, Policy: "api", Cause: seawall.CauseBlocked, RetryAfter: seawall.Never,
		}, blocked.Decision(), name)
		blocked.Done(t.Context())
		other := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("other")})
		assert.Equal(t, failure == seawall.FailClosed, other.Decision().Denied, name)
		other.Done(t.Context())
	}
}

func TestReloadKeepsWhatIsUnchanged(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	store := memstore.New(memstore.Config{Now: func() time.Time { return now }})
	t.Cleanup(func() { assert.NoError(t, store.Close(context.Background())) })
	day := quota("day", ratelimit.FixedWindow(100, ratelimit.Daily()))
	l := limiter(t, policy("api"), day)
	b, err := ratelimit.NewBudget(store, l)
	require.NoError(t, err)
	require.True(t, allow(t, b, 10).Admitted)
	before := l.Limits()

	bad := policy("api")
	bad.Name = "Bad"
	require.ErrorContains(t, l.Reload([]ratelimit.Policy{bad}), `"Bad"`)
	assert.Equal(t, before, l.Limits(), "an error changes nothing")

	require.NoError(t, l.Reload([]ratelimit.Policy{day, quota("api", ratelimit.TokenBucket(ratelimit.PerSecond(5), 20)), policy("new")}))
	after := l.Limits()
	assert.Same(t, before[0], after[1])
	assert.Same(t, before[1], after[0])
	request := spend(1)
	checks := l.Plan(nil, request)
	results, err := store.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	assert.Equal(t, int64(89), results[0].Remaining, "of the day, ten and one are spent")
	assert.Equal(t, int64(14), results[1].Remaining, "a second of debt is five tokens now")
	assert.Equal(t, int64(19), results[2].Remaining)

	day.OnFailure = seawall.FailClosed
	require.NoError(t, l.Reload([]ratelimit.Policy{day}))
	assert.Equal(t, seawall.FailClosed, l.Limits()[0].OnFailure())
	assert.Equal(t, int64(88), allow(t, b, 1).Remaining, "and the state is the same")
}

// modes count how often they are asked for a gate, and have one policy in log-only mode.
type modes struct {
	asked atomic.Int64
}

func (m *modes) Gate(_, policy string) seawall.Gate {
	m.asked.Add(1)
	if policy != "new" {
		return nil
	}
	return func(*seawall.Request) seawall.Mode { return seawall.LogOnly }
}

func TestReloadedPolicyHasItsMode(t *testing.T) {
	l := limiter(t, policy("api"))
	m := &modes{}
	store := memstore.New(memstore.Config{Now: time.Now})
	s, err := seawall.New(seawall.Config{Store: store, Modes: m}, l)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	assert.EqualValues(t, 2, m.asked.Load(), "for the layer and for its policy")
	require.NoError(t, l.Reload([]ratelimit.Policy{policy("api"), quota("new", ratelimit.SlidingLog(1, time.Hour))}))
	require.EqualValues(t, 3, m.asked.Load(), "by the reload: no request waits for a flag")
	for range 5 {
		a := s.Admit(t.Context(), spend(1))
		assert.False(t, a.Decision().Denied, "it is a dark launch")
		assert.True(t, a.Checks()[1].Advisory)
		a.Done(t.Context())
	}
	assert.EqualValues(t, 3, m.asked.Load(), "once for the new one")
}

func TestPlansAreCopied(t *testing.T) {
	p := policy("api")
	p.Routes = []string{"/a"}
	p.Plans = map[string]ratelimit.Quota{"gold": ratelimit.TokenBucket(ratelimit.PerSecond(1), 77)}
	p.Plan = func(*seawall.Request) string { return "gold" }
	l := limiter(t, p)
	p.Routes[0] = "/b"
	delete(p.Plans, "gold")
	checks := l.Plan(nil, &seawall.Request{Key: account, Route: "/a"})
	require.Len(t, checks, 1)
	assert.EqualValues(t, 77, checks[0].Rule.(ratelimit.Rule).Limit())
}

func TestPlanningDoesNotAllocate(t *testing.T) {
	p := policy("api")
	p.Routes, p.Callers = []string{"/v1/*"}, ratelimit.Anonymous
	p.Plans = map[string]ratelimit.Quota{"gold": p.Quota}
	p.Plan = func(*seawall.Request) string { return "gold" }
	l := limiter(t, p)
	dst, r := make([]seawall.Check, 0, 4), &seawall.Request{Key: account, Route: "/v1/a"}
	assert.Zero(t, testing.AllocsPerRun(100, func() { dst = l.Plan(dst[:0], r) }))
	assert.Len(t, dst, 1)
}

func TestAReloadedPlanThatPanicsFailsAsItsPoliciesSay(t *testing.T) {
	l := limiter(t, policy("api"))
	s, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{Now: time.Now})}, l)
	require.NoError(t, err)
	login := policy("login")
	login.OnFailure = seawall.FailClosed
	login.Match = func(*seawall.Request) bool { panic("no match") }
	require.NoError(t, l.Reload([]ratelimit.Policy{login}))
	a := s.Admit(t.Context(), spend(1))
	defer a.Done(t.Context())
	assert.True(t, a.Decision().Denied)
	assert.Equal(t, seawall.CauseUnavailable, a.Decision().Cause)
}
