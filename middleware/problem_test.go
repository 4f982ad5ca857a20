package middleware_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/ratelimit"
)

// problem is what a client reads of a refusal.
type problem struct {
	Type, Title, Detail, Limiter, Policy string
	Status                               int
	RetryAfter                           int64    `json:"retry_after"`
	Violated                             []string `json:"violated-policies"`
}

func problemOf(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	var p problem
	require.NoError(t, d.Decode(&p))
	return p
}

const (
	quota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	capacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// refused are APIs that refuse GET /, by the cause.
func refused(t *testing.T) map[string]*echo.Echo {
	t.Helper()
	mounted := func(s *seawall.Stack) *echo.Echo { return serving(mounted(s, middleware.Config{})) }
	all := map[string]*echo.Echo{}

	all["ratelimit"] = behind(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1)))
	require.Equal(t, http.StatusOK, get(all["ratelimit"]).Code)

	s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Slots(t, 1))
	hold(t, s, client())
	all["concurrency"] = mounted(s)

	s = fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Fleet(t, 1))
	hold(t, s, seawall.NewKey("somebody"))
	all["fleetshed"] = mounted(s)

	w := fixture.Workers(t, 1)
	fixture.Drown(t, w, 1)
	all["workershed"] = behind(t, seawall.Config{}, w)

	closed := fixture.Policy("login", 1)
	closed.OnFailure = seawall.FailClosed
	all["unavailable"] = behind(t, seawall.Config{Store: fixture.Broken{Err: errors.New("gone")}}, fixture.Rate(t, closed))
	return all
}

func TestRefusalsAreProblems(t *testing.T) {
	apis := refused(t)
	for cause, want := range map[string]problem{
		"ratelimit":   {Type: quota, Title: "Too many requests", Status: 429, Limiter: "ratelimit", Policy: "api", Violated: []string{"api"}},
		"concurrency": {Type: quota, Title: "Too many requests", Status: 429, Limiter: "concurrency", Policy: "in-flight", Violated: []string{"in-flight"}},
		"fleetshed":   {Type: capacity, Title: "Temporarily reduced capacity", Status: 503, Limiter: "fleetshed", Policy: "ordinary"},
		"workershed":  {Type: capacity, Title: "Temporarily reduced capacity", Status: 503, Limiter: "workershed", Policy: "utilization"},
		"unavailable": {Type: capacity, Title: "Temporarily reduced capacity", Status: 503, Limiter: "ratelimit", Policy: "login"},
	} {
		t.Run(cause, func(t *testing.T) {
			w := get(apis[cause])
			assert.Equal(t, want.Status, w.Code)
			assert.Equal(t, []string{"application/problem+json"}, w.Header()["Content-Type"])
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"), "RFC 6585: a 429 is not cached")
			p := problemOf(t, w)
			assert.Equal(t, []string{strconv.FormatInt(p.RetryAfter, 10)}, w.Header()["Retry-After"])
			assert.GreaterOrEqual(t, p.RetryAfter, int64(1))
			assert.LessOrEqual(t, p.RetryAfter, int64(2), "all of these wait a second, and shedders spread")
			assert.Contains(t, p.Detail, "Retry after "+strconv.FormatInt(p.RetryAfter, 10)+" s.")
			want.Detail, want.RetryAfter = p.Detail, p.RetryAfter
			assert.Equal(t, want, p)
		})
	}
}

func TestEveryCauseSaysWhatToDo(t *testing.T) {
	details := map[string]string{}
	for cause, api := range refused(t) {
		d := problemOf(t, get(api)).Detail
		assert.NotContains(t, details, d, "the same advice for two causes")
		details[d] = cause
	}
}

func TestTheWaitIsRoundedUp(t *testing.T) {
	c := new(fixture.Clock)
	slow := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.Rate{Count: 2, Per: 5e9}, 1)} // a token in 2.5 s
	e := behind(t, seawall.Config{Store: fixture.Memory(t, c)}, fixture.Rate(t, slow))
	get(e)
	for _, step := range []struct {
		after int64
		wait  string
	}{{0, "3"}, {499_999_000, "3"}, {1000, "2"}, {1_999_000_000, "1"}} {
		c.Step(time.Duration(step.after))
		w := get(e)
		assert.Equal(t, http.StatusTooManyRequests, w.Code)
		assert.Equal(t, step.wait, w.Header().Get("Retry-After"))
	}
	c.Step(1e6)
	assert.Equal(t, http.StatusOK, get(e).Code)
}

func TestACostThatNeverFitsHasNoRetryAfter(t *testing.T) {
	heavy := fixture.Policy("api", 3)
	heavy.Cost = func(*seawall.Request) int64 { return 4 }
	e := behind(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, heavy))
	w := get(e)
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.NotContains(t, w.Header(), "Retry-After")
	var body map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	assert.NotContains(t, body, "retry_after")
	assert.Contains(t, body["detail"], "Do not repeat it")
}

func TestWaitsForCapacityAreSpread(t *testing.T) {
	e := refused(t)["fleetshed"]
	waits := map[string]int{}
	for range 64 {
		waits[get(e).Header().Get("Retry-After")]++
	}
	assert.Len(t, waits, 2, "1 s and 2 s: %v", waits) // one of both alone: 2 in 2^64
}

func TestARefusedHEADHasNoBody(t *testing.T) {
	for cause, e := range refused(t) {
		w := send(e, http.MethodHead, "/")
		assert.Contains(t, []int{429, 503}, w.Code, cause)
		assert.NotEmpty(t, w.Header().Get("Retry-After"), cause)
		assert.Zero(t, w.Body.Len(), cause)
	}
}

func TestRefusalsInDebugModeAreTheSame(t *testing.T) {
	e := refused(t)["ratelimit"]
	e.Debug = true
	w := get(e)
	assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	assert.Equal(t, "ratelimit", problemOf(t, w).Limiter)
}
