package middleware_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
)

const (
	policyField = "Ratelimit-Policy"
	limitField  = "Ratelimit"
)

// quotas parses a structured field's list of named items, in order.
func quotas(t *testing.T, w *httptest.ResponseRecorder, field string) (names []string, params []map[string]int64) {
	t.Helper()
	list, err := httpsfv.UnmarshalList(w.Header().Values(field))
	require.NoError(t, err, "%s: %q", field, w.Header().Values(field))
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		require.True(t, ok)
		name, ok := item.Value.(string)
		require.True(t, ok, "a string, not a token")
		ints := map[string]int64{}
		for _, k := range item.Params.Names() {
			v, _ := item.Params.Get(k)
			n, ok := v.(int64)
			require.True(t, ok, "%s of %s", k, name)
			ints[k] = n
		}
		names, params = append(names, name), append(params, ints)
	}
	return names, params
}

func assertNoQuota(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	assert.NotContains(t, w.Header(), policyField)
	assert.NotContains(t, w.Header(), limitField)
}

func TestQuotaHeadersDescribeTheStateAfterSpending(t *testing.T) {
	c := new(fixture.Clock)
	p := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(10), 25)} // full in 2.5 s
	e := behind(t, seawall.Config{Store: fixture.Memory(t, c)}, fixture.Rate(t, p))
	for left := int64(24); left >= 0; left-- {
		w := get(e)
		require.Equal(t, http.StatusOK, w.Code)
		names, policies := quotas(t, w, policyField)
		assert.Equal(t, []string{"api"}, names)
		assert.Equal(t, []map[string]int64{{"q": 25, "w": 3}}, policies)
		names, limits := quotas(t, w, limitField)
		assert.Equal(t, []string{"api"}, names)
		assert.Equal(t, []map[string]int64{{"r": left, "t": 1}}, limits)
	}
	w := get(e)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	_, policies := quotas(t, w, policyField)
	assert.Equal(t, []map[string]int64{{"q": 25, "w": 3}}, policies)
	_, limits := quotas(t, w, limitField)
	assert.Equal(t, []map[string]int64{{"r": 0, "t": 1}}, limits)

	c.Step(time.Hour)
	_, limits = quotas(t, get(e), limitField)
	assert.Equal(t, int64(24), limits[0]["r"])
}

func TestTheWindowEndsBeforeRetryAfter(t *testing.T) {
	c := new(fixture.Clock)
	for _, per := range []time.Duration{time.Millisecond, 700 * time.Millisecond, 1700 * time.Millisecond, time.Minute} {
		p := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: per}, 5)}
		p.Cost = func(*seawall.Request) int64 { return 3 }
		e := behind(t, seawall.Config{Store: fixture.Memory(t, c)}, fixture.Rate(t, p))
		require.Equal(t, http.StatusOK, get(e).Code)
		for range 4 {
			w := get(e) // 2 tokens are left, 3 are wanted
			require.Equal(t, http.StatusTooManyRequests, w.Code)
			_, limits := quotas(t, w, limitField)
			assert.Equal(t, int64(2), limits[0]["r"])
			wait, err := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, limits[0]["t"], int64(1))
			assert.LessOrEqual(t, limits[0]["t"], wait)
			c.Step(per / 5)
		}
	}
}

func TestWindowsAreWholeSecondsRoundedUp(t *testing.T) {
	for _, c := range []struct {
		rate   ratelimit.Rate
		burst  int64
		window int64
	}{
		{ratelimit.PerSecond(1000), 1, 1},
		{ratelimit.PerSecond(10), 10, 1},
		{ratelimit.PerSecond(10), 11, 2},
		{ratelimit.PerMinute(1), 5, 300},
		{ratelimit.PerDay(1), 30, 30 * 86400},
	} {
		e := behind(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(c.rate, c.burst)}))
		w := get(e)
		_, policies := quotas(t, w, policyField)
		assert.Equal(t, map[string]int64{"q": c.burst, "w": c.window}, policies[0], "%v, %d", c.rate, c.burst)
	}
}

func TestSeveralPoliciesAreOneList(t *testing.T) {
	e := behind(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("second", 2), fixture.Policy("minute", 3)))
	for _, left := range []int64{1, 0, 0} { // the refused request spends nothing anywhere
		w := get(e)
		assert.Len(t, w.Header().Values(policyField), 1)
		names, policies := quotas(t, w, policyField)
		assert.Equal(t, []string{"second", "minute"}, names)
		assert.Equal(t, []map[string]int64{{"q": 2, "w": 2}, {"q": 3, "w": 3}}, policies)
		assert.Len(t, w.Header().Values(limitField), 1)
		names, limits := quotas(t, w, limitField)
		assert.Equal(t, []string{"second", "minute"}, names)
		assert.Equal(t, left, limits[0]["r"])
		assert.Equal(t, left+1, limits[1]["r"])
	}
}

func TestMiddlewaresMountedOneByOneAddToOneList(t *testing.T) {
	cfg := seawall.Config{Store: fixture.Memory(t, nil)}
	e := serving(alone(t, cfg, fixture.Rate(t, fixture.Policy("first", 9))), alone(t, cfg, fixture.Rate(t, fixture.Policy("second", 9))))
	names, _ := quotas(t, get(e), limitField)
	assert.Equal(t, []string{"first", "second"}, names)
	names, _ = quotas(t, get(e), policyField)
	assert.Equal(t, []string{"first", "second"}, names)
}

func TestOtherLayersRefusalsCarryTheQuotaUnspent(t *testing.T) {
	s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 9)), fixture.Slots(t, 1))
	hold(t, s, client())
	w := get(serving(mounted(s, middleware.Config{})))
	require.Equal(t, "concurrency", problemOf(t, w).Limiter)
	_, limits := quotas(t, w, limitField)
	assert.Equal(t, int64(8), limits[0]["r"], "only the request in flight has spent")
}

func TestLogOnlyPoliciesAreNotShown(t *testing.T) {
	l := fixture.Rate(t, fixture.Policy("shown", 9), fixture.Policy("dark", 1))
	e := behind(t, seawall.Config{Store: fixture.Memory(t, nil), Modes: seawall.Fixed{"ratelimit:dark": seawall.LogOnly}}, l)
	for range 3 {
		w := get(e)
		assert.Equal(t, http.StatusOK, w.Code)
		names, _ := quotas(t, w, policyField)
		assert.Equal(t, []string{"shown"}, names)
		names, _ = quotas(t, w, limitField)
		assert.Equal(t, []string{"shown"}, names)
	}
	for _, m := range []seawall.Mode{seawall.LogOnly, seawall.Off} {
		assertNoQuota(t, get(behind(t, seawall.Config{Store: fixture.Memory(t, nil), Modes: seawall.Fixed{"ratelimit": m}}, l)))
	}
}

func TestNobodyIsToldNumbersThatTheStoreDidNotGive(t *testing.T) {
	closed := fixture.Policy("login", 1)
	closed.OnFailure = seawall.FailClosed
	cfg := seawall.Config{Store: fixture.Broken{Err: errors.New("gone")}}
	w := get(behind(t, cfg, fixture.Rate(t, fixture.Policy("api", 1))))
	assert.Equal(t, http.StatusOK, w.Code)
	assertNoQuota(t, w)
	w = get(behind(t, cfg, fixture.Rate(t, fixture.Policy("api", 1), closed)))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assertNoQuota(t, w)

	shedder := fixture.Workers(t, 1)
	fixture.Drown(t, shedder, 1)
	w = get(behind(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1)), shedder))
	assert.Equal(t, "workershed", problemOf(t, w).Limiter)
	assertNoQuota(t, w)
}

func TestACallerCannotWriteIntoTheHeaders(t *testing.T) {
	e := echo1(t, middleware.Config{Identify: hasher().ByAPIKey(identity.APIKey{})})
	plain := headersOf(get(e))
	for i, evil := range []string{
		"x\r\nSet-Cookie: a=b", `x";q=9`, "x, \"other\";r=1", "\x00", "é", `\`, fmt.Sprint(make([]int, 4000)),
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["Authorization"] = []string{"Bearer " + evil}
		r.Header["X-Forwarded-For"] = []string{evil}
		r.RemoteAddr = evil
		r.URL.RawQuery = "q=" + strconv.Itoa(i)
		assert.Equal(t, plain, headersOf(do(e, r)), "%q", evil)
	}
	for _, name := range []string{"", `a"`, "a;b", "a b", "a,b", "a\r\nb", "ä"} {
		_, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{fixture.Policy(name, 1)}})
		require.Error(t, err, "policy %q would be written into headers", name)
	}
}
