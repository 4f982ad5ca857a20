package store_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// The tests in this file are about requests of several checks.

// exhaustedAnd returns a cache that knows the limit "api" of caller "a" exhausted, what is told of it, and checks
// on that and on another limit and on slots of the caller.
func exhaustedAnd(t *testing.T) (d *denying, told seawall.Result, api, open, slot seawall.Check) {
	t.Helper()
	d = newDenying(t, store.DenyCacheConfig{})
	api = spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 1))
	open = spends(t, "open", ratelimit.TokenBucket(ratelimit.PerHour(1), 1000))
	return d, d.exhaust(t, api, 1), api, open, slotOf(t, "a", 5)
}

func TestOneDenialAnswersTheRequest(t *testing.T) {
	d, told, api, open, slot := exhaustedAnd(t)
	told.Repeated = true
	counted := api
	counted.Limit, counted.CountOnly = open.Limit, true
	for _, c := range []struct {
		checks []seawall.Check
		want   []seawall.Result
	}{
		{[]seawall.Check{api, open, slot}, []seawall.Result{told, unasked, unasked}},
		{[]seawall.Check{open, slot, api}, []seawall.Result{unasked, unasked, told}},
		{[]seawall.Check{counted, api, advisory(open)}, []seawall.Result{unasked, told, unasked}},
	} {
		before := []seawall.Result{{Limit: 99}}
		results, err := d.Apply(t.Context(), before, c.checks)
		require.NoError(t, err)
		assert.Equal(t, append(before, c.want...), results)
		for i := range c.checks {
			assert.Zero(t, c.checks[i].ID, "what was not asked has none to release")
		}
	}
	assert.EqualValues(t, 3, d.Saved())
	results, asked := d.ask(t, slot, open)
	assert.True(t, asked)
	assert.EqualValues(t, 4, results[0].Remaining, "nothing was taken")
	assert.EqualValues(t, 999, results[1].Remaining)
}

func TestAnAdvisoryCheckBeforeADenialIsAsked(t *testing.T) {
	d, told, api, open, _ := exhaustedAnd(t)
	for range 2 {
		results, asked := d.ask(t, advisory(open), api)
		assert.True(t, asked)
		assert.False(t, results[0].Fallback, "it is counted")
		assert.Equal(t, told, results[1])
	}
}

func TestAnAdvisoryDenialDecidesNothing(t *testing.T) {
	d, _, api, open, _ := exhaustedAnd(t)
	for range 2 {
		results, asked := d.ask(t, advisory(api), open)
		assert.True(t, asked)
		assert.False(t, results[0].Admitted)
		assert.True(t, results[1].Committed)
	}
}

func TestACheckThatOnlyCountsIsAsked(t *testing.T) {
	d, _, api, _, _ := exhaustedAnd(t)
	counted := api
	counted.CountOnly = true
	results, asked := d.ask(t, counted)
	assert.True(t, asked && results[0].Committed)
	results, asked = d.ask(t, api)
	assert.True(t, asked, "more is owed now")
	assert.False(t, results[0].Admitted)
}

func TestWhatAnAdvisoryCheckWasToldIsTrueOfAnEnforcedOne(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", perSecond(1))
	told := d.exhaust(t, advisory(c), 1)
	results, asked := d.ask(t, c)
	assert.False(t, asked)
	assert.Equal(t, told, results[0])
}

func TestALimitThatRefusedWithoutCommittingStaysKnown(t *testing.T) {
	d, _, api, open, _ := exhaustedAnd(t)
	full := costing(open, 2000)
	d.ask(t, full)
	d.ask(t, advisory(open), api) // admitted, and vetoed
	_, asked := d.ask(t, full)
	assert.False(t, asked)
}

func TestOfSeveralDenialsAllThatIsKnownIsTold(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	second, hour := spends(t, "second", perSecond(1)), spends(t, "hour", ratelimit.TokenBucket(ratelimit.PerHour(1), 1))
	require.True(t, must(d.ask(t, second, hour))[1].Committed)
	told, asked := d.ask(t, second, hour)
	require.True(t, asked)
	again, asked := d.ask(t, second, hour)
	assert.False(t, asked)
	assert.Equal(t, told, again, "the longest wait counts")
	d.Advance(999_999 * time.Microsecond)
	again, asked = d.ask(t, second, hour)
	assert.False(t, asked)
	assert.Equal(t, later(told[0], 999_999*time.Microsecond), again[0])
}

func must(results []seawall.Result, _ bool) []seawall.Result { return results }

// blocked is a rule that refuses everybody.
type blocked struct{ seawall.Rule }

func (blocked) Answer() seawall.Result { return seawall.Result{RetryAfter: seawall.Never} }

func TestWhatIsConstantIsToldAndNotKept(t *testing.T) {
	d, told, api, open, _ := exhaustedAnd(t)
	open.Rule = blocked{}
	results, asked := d.ask(t, open, api)
	assert.False(t, asked)
	assert.Equal(t, []seawall.Result{{RetryAfter: seawall.Never}, told}, results)
	counted := open
	counted.CountOnly = true
	results, _ = d.ask(t, counted, api)
	assert.Equal(t, unasked, results[0])

	d.behind = func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
		return append(dst, blocked{}.Answer()), nil
	}
	for range 2 {
		_, asked = d.ask(t, open)
		assert.True(t, asked)
	}
}

func TestAPeekIsAnsweredIfItIsKnown(t *testing.T) {
	d, told, api, open, slot := exhaustedAnd(t)
	peek := func(c seawall.Check) seawall.Check { return doing(c, seawall.Peek) }
	results, asked := d.ask(t, peek(api))
	assert.False(t, asked)
	assert.Equal(t, told, results[0])
	for _, c := range [][]seawall.Check{
		{peek(api), open},        // it does not deny
		{peek(api), peek(open)},  // the other wants numbers
		{api, peek(slot)},        // the same
		{peek(open), slot},       //
		{peek(advisory(open))},   //
		{open, peek(api), slot},  //
		{advisory(open), api},    //
		{peek(open), peek(slot)}, //
	} {
		results, asked := d.ask(t, c...)
		assert.True(t, asked)
		for _, r := range results {
			assert.False(t, r.Fallback)
		}
	}
	results, asked = d.ask(t, peek(advisory(api)), api)
	assert.False(t, asked)
	assert.Equal(t, []seawall.Result{told, told}, results)

	seen := newDenying(t, store.DenyCacheConfig{}) // what a peek was told is true of who spends
	require.True(t, must(seen.ask(t, api))[0].Committed)
	seen.ask(t, peek(api))
	_, asked = seen.ask(t, api)
	assert.False(t, asked)
}

func TestNoChecksAreAsked(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	_, asked := d.ask(t)
	assert.True(t, asked)
}

// TestTheEngineOnADenyCache has a whole stack, with slots before the exhausted limit and another policy behind.
func TestTheEngineOnADenyCache(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 5})
	require.NoError(t, err)
	rates, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "hourly", Quota: ratelimit.TokenBucket(ratelimit.PerHour(10), 10)},
		{Name: "burst", Quota: perSecond(1), OnFailure: seawall.FailClosed},
		{Name: "daily", Quota: ratelimit.TokenBucket(ratelimit.PerDay(10), 10)},
	}})
	require.NoError(t, err)
	var seen seawalltest.Recorder
	stack, err := seawall.New(seawall.Config{Store: noRelease{d, t}, Observer: &seen}, slots, rates)
	require.NoError(t, err)
	e := echo.New()
	mw, err := middleware.StackConfig{Stack: stack, Config: middleware.Config{
		Identify: func(c identity.Call, r *seawall.Request) error { r.Key = seawall.NewKey("192.0.2.1"); return nil },
	}}.ToMiddleware()
	require.NoError(t, err)
	e.Use(mw)
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		return w
	}
	require.Equal(t, http.StatusNoContent, get().Code)
	asked, fromMemory := get(), get()
	require.Equal(t, 2, d.calls())
	require.EqualValues(t, 1, d.Saved())

	assert.Equal(t, asked.Code, fromMemory.Code)
	assert.Equal(t, asked.Body.String(), fromMemory.Body.String())
	assert.Equal(t, "1", fromMemory.Header().Get("Retry-After"))
	assert.Equal(t, `"burst";q=1;w=1`, fromMemory.Header().Get("RateLimit-Policy"), "no numbers of what was not asked")
	assert.Equal(t, `"burst";r=0;t=1`, fromMemory.Header().Get("RateLimit"))
	assert.Equal(t, []string{"allowed", "allowed", "allowed"}, seen.Outcomes("concurrency"))
	assert.Equal(t, []string{"denied", "denied"}, seen.Outcomes("ratelimit:burst"))
	assert.Empty(t, seen.Fallbacks())
	assert.Empty(t, seen.Failures())

	behind, err := seawall.New(seawall.Config{Store: noRelease{d, t}, Observer: &seen}, rates, slots)
	require.NoError(t, err)
	seen.Reset()
	a := behind.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("192.0.2.1")})
	defer a.Done(t.Context())
	assert.Equal(t, seawall.Decision{Denied: true, Layer: "ratelimit", Policy: "burst", Cause: seawall.CauseQuota, RetryAfter: time.Second}, a.Decision())
	assert.Equal(t, []string{"skipped"}, seen.Outcomes("concurrency"))
	assert.EqualValues(t, 2, d.Saved())
}

// noRelease is a cache that nothing may be released of but what it granted: the first request's slot.
type noRelease struct {
	*denying
	t *testing.T
}

func (n noRelease) Release(ctx context.Context, leases ...seawall.Lease) error {
	assert.Equal(n.t, 1, n.calls(), "what was not taken is released")
	return n.denying.Release(ctx, leases...)
}
