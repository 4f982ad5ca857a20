package middleware_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// drained is an API whose next answer is a refusal.
func drained(t *testing.T, cfg middleware.Config) *echo.Echo {
	t.Helper()
	e := serving(mounted(fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1))), cfg))
	require.Equal(t, http.StatusOK, get(e).Code)
	return e
}

func TestADenyHandlerAnswersAsItLikes(t *testing.T) {
	for name, c := range map[string]struct {
		deny        func(c echo.Context, refusal *guard.Refusal) error
		status      int
		contentType string
		body        string
	}{
		"writes": {func(c echo.Context, refusal *guard.Refusal) error {
			return c.String(http.StatusTeapot, refusal.Decision.Policy)
		}, 418, "text/plain; charset=UTF-8", "api"},
		"writes JSON": {func(c echo.Context, refusal *guard.Refusal) error {
			return c.JSON(refusal.StatusCode(), echo.Map{"error": "slow down"})
		}, 429, "application/json", `{"error":"slow down"}`},
		"does nothing": {func(echo.Context, *guard.Refusal) error { return nil }, 429, "application/problem+json", ""},
		"returns an error": {func(echo.Context, *guard.Refusal) error {
			return echo.NewHTTPError(http.StatusTooManyRequests, "slow down")
		}, 429, "application/json", `{"message":"slow down"}`},
		"adds a header": {func(c echo.Context, refusal *guard.Refusal) error {
			c.Response().Header().Set("X-Docs", "limits")
			return middleware.Deny(c, refusal)
		}, 429, "application/problem+json", ""},
		"shows the problem": {func(c echo.Context, refusal *guard.Refusal) error {
			c.Response().Header().Set(echo.HeaderContentType, guard.MediaType)
			return c.JSON(refusal.StatusCode(), refusal)
		}, 429, "application/problem+json", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := drained(t, middleware.Config{DenyHandler: c.deny})
			w := get(e)
			assert.Equal(t, c.status, w.Code)
			assert.Equal(t, c.contentType, w.Header().Get("Content-Type"))
			assert.Equal(t, "1", w.Header().Get("Retry-After"), "the headers are there, whoever answers")
			assert.Equal(t, `"api";r=0;t=1`, w.Header().Get("RateLimit"))
			if c.body != "" {
				assert.Equal(t, c.body, strings.TrimSpace(w.Body.String()))
			} else {
				assert.Equal(t, "api", problemOf(t, w).Policy)
			}
		})
	}
}

func TestAnErrorHandlerAnswersForTheUnidentified(t *testing.T) {
	odd := errors.New("odd")
	for name, c := range map[string]struct {
		identify func(c identity.Call, r *seawall.Request) error
		handler  func(c echo.Context, err error) error
		status   int
		body     string
	}{
		"an identity.Error": {func(identity.Call, *seawall.Request) error {
			return &identity.Error{Status: 413, Detail: "Too long."}
		}, nil, 413, `{"type":"about:blank","title":"Request Entity Too Large","status":413,"detail":"Too long."}`},
		"Echo's":            {func(identity.Call, *seawall.Request) error { return echo.ErrUnauthorized }, nil, 401, `{"message":"Unauthorized"}`},
		"odd":               {func(identity.Call, *seawall.Request) error { return odd }, nil, 500, `{"message":"Internal Server Error"}`},
		"handled by nobody": {func(identity.Call, *seawall.Request) error { return odd }, func(echo.Context, error) error { return nil }, 500, `{"message":"Internal Server Error"}`},
		"without a status": {func(identity.Call, *seawall.Request) error {
			return &identity.Error{Detail: "Odd."}
		}, nil, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"Odd."}`},
		"handled": {func(identity.Call, *seawall.Request) error { return odd }, func(c echo.Context, err error) error {
			return c.String(http.StatusForbidden, err.Error())
		}, 403, "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			store := &counting{Store: fixture.Memory(t, nil)}
			e := serving(mounted(fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1))),
				middleware.Config{Identify: c.identify, ErrorHandler: c.handler}))
			w := get(e)
			assert.Equal(t, c.status, w.Code)
			assert.Equal(t, c.body, strings.TrimSpace(w.Body.String()))
			if strings.HasPrefix(c.body, `{"type"`) {
				assert.Equal(t, guard.MediaType, w.Header().Get("Content-Type"))
			}
			assert.Zero(t, store.asked.Load())
		})
	}
}

// TestAnErrorHandlerOfTheApplicationIsGivenNoContentType is about handlers that render refusals like everything else.
func TestAnErrorHandlerOfTheApplicationIsGivenNoContentType(t *testing.T) {
	e := drained(t, middleware.Config{})
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		code := http.StatusInternalServerError
		if he, ok := errors.AsType[*echo.HTTPError](err); ok {
			code = he.Code
		}
		_ = c.JSON(code, echo.Map{"error": http.StatusText(code)})
	}
	w := get(e)
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	assert.JSONEq(t, `{"error":"Too Many Requests"}`, w.Body.String())
}

func TestStylesOfHeaders(t *testing.T) {
	for style, want := range map[guard.Headers][2]map[string]string{
		guard.Draft11: {
			{"RateLimit-Policy": `"second";q=2;w=2, "minute";q=3;w=3`, "RateLimit": `"second";r=1;t=1, "minute";r=2;t=1`},
			{"RateLimit-Policy": `"second";q=2;w=2, "minute";q=3;w=3`, "RateLimit": `"second";r=0;t=1, "minute";r=1;t=1`},
		},
		guard.Draft07: {
			{"RateLimit-Policy": "2;w=2", "RateLimit": "limit=2, remaining=1, reset=1"},
			{"RateLimit-Policy": "2;w=2", "RateLimit": "limit=2, remaining=0, reset=1"},
		},
		guard.XRateLimit: {
			{"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1"},
			{"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"},
		},
		guard.NoHeaders: {},
	} {
		e := serving(mounted(fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("second", 2), fixture.Policy("minute", 3))),
			middleware.Config{Headers: style}))
		for i, status := range []int{200, 200, 429} {
			w := get(e)
			require.Equal(t, status, w.Code)
			got := map[string]string{}
			for _, name := range []string{"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				if v := w.Header().Values(name); len(v) > 0 {
					require.Len(t, v, 1)
					got[name] = v[0]
				}
			}
			if fields := want[min(i, 1)]; fields == nil {
				assert.Empty(t, got)
			} else {
				assert.Equal(t, fields, got, "style %d, answer %d", style, i)
			}
			assert.Equal(t, status == 429, w.Header().Get("Retry-After") != "")
			for name := range w.Header() {
				if name != "Content-Type" && name != "Cache-Control" && (name != "Retry-After" || status == 429) {
					assert.Contains(t, strings.ToLower(strings.Join(style.Names(), " ")), strings.ToLower(name), "exposed to scripts")
				}
			}
		}
	}
}

// TestOneFieldShowsTheTightestOfSeveralMiddlewares is about the styles that have one field for all.
func TestOneFieldShowsTheTightestOfSeveralMiddlewares(t *testing.T) {
	for _, limits := range [][]int64{{9, 5}, {5, 9}} {
		for style, field := range map[guard.Headers]string{guard.Draft07: "RateLimit", guard.XRateLimit: "X-RateLimit-Limit"} {
			store := fixture.Memory(t, nil)
			var mws []echo.MiddlewareFunc
			for i, limit := range limits {
				mws = append(mws, mounted(fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy([]string{"first", "second"}[i], limit))), middleware.Config{Headers: style}))
			}
			w := get(serving(mws...))
			assert.Equal(t, map[string]string{"RateLimit": "limit=5, remaining=4, reset=1", "X-RateLimit-Limit": "5"}[field], w.Header().Get(field))
			assert.Len(t, w.Header().Values(field), 1)
		}
	}
}

func TestSeveralRefusalsAreAllNamed(t *testing.T) {
	s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil), Modes: seawall.Fixed{"ratelimit:dark": seawall.LogOnly}},
		fixture.Rate(t, fixture.Policy("second", 1), fixture.Policy("dark", 1), fixture.Policy("minute", 1)), fixture.Slots(t, 1))
	hold(t, s, client())
	var body struct {
		Limiter, Policy string
		Violated        []string `json:"violated-policies"`
	}
	require.NoError(t, json.Unmarshal(get(serving(mounted(s, middleware.Config{}))).Body.Bytes(), &body))
	assert.Equal(t, "ratelimit second", body.Limiter+" "+body.Policy)
	assert.Equal(t, []string{"second", "minute", "in-flight"}, body.Violated)
}

func TestHealthProbesAreSkippedByDefault(t *testing.T) {
	store := &counting{Store: fixture.Memory(t, nil)}
	s := fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1)))
	e := serving(middleware.Stack(s))
	e.GET("/healthz", ok)
	e.HEAD("/livez", ok)
	e.POST("/readyz", ok)
	for range 3 {
		assert.Equal(t, http.StatusOK, send(e, http.MethodGet, "/healthz").Code)
		assert.Equal(t, http.StatusOK, send(e, http.MethodHead, "/livez").Code)
	}
	assert.Zero(t, store.asked.Load())
	assert.Equal(t, http.StatusOK, send(e, http.MethodPost, "/readyz").Code)
	assert.Equal(t, http.StatusTooManyRequests, send(e, http.MethodPost, "/readyz").Code, "no probe")
	assert.Equal(t, http.StatusTooManyRequests, send(e, http.MethodGet, "/healthz/../x").Code)
	assert.Equal(t, http.StatusTooManyRequests, send(serving(middleware.Stack(s)), http.MethodGet, "/healthz").Code, "no route")
	none := serving(middleware.StackWithConfig(middleware.StackConfig{Stack: s, Config: middleware.Config{
		CountProbes: true,
	}}))
	none.GET("/healthz", ok)
	assert.Equal(t, http.StatusTooManyRequests, send(none, http.MethodGet, "/healthz").Code)
}

// TestACallerIsTheSameOnEveryPath is about spellings of a route, methods and noise: none of it is another bucket.
func TestACallerIsTheSameOnEveryPath(t *testing.T) {
	for _, target := range []string{
		"GET /v1/charges", "GET /V1/CHARGES", "GET //v1/charges", "GET /v1//charges", "GET /v1/charges/", "GET /v1%2fcharges", "GET /v1/charges%00",
		"HEAD /v1/charges", "DELETE /v1/charges", "GET /v1/charges?x=1", "GET /v1/charges;x", "GET /nothing", "GET /v1/nothing/1", "BREW /v1/charges",
		"POST /v1/charges", "GET /v1/./charges", "GET /v1/charges/4711", "GET /v1/charges/4712",
	} {
		e := echo.New()
		e.Pre(echomw.MethodOverride())
		e.Use(limited(t))
		e.Group("/v1").GET("/charges", ok)
		e.GET("/v1/charges/:id", ok)
		method, path, _ := strings.Cut(target, " ")
		r := httptest.NewRequest(method, "/", http.NoBody)
		u, err := r.URL.Parse("http://api.example" + path)
		require.NoError(t, err)
		r.URL, r.RequestURI = u, path
		r.Header.Set("X-HTTP-Method-Override", "PUT")
		require.NotEqual(t, http.StatusTooManyRequests, do(e, r).Code, target)
		assert.Equal(t, http.StatusTooManyRequests, send(e, http.MethodGet, "/v1/charges").Code, "%s is the same caller's", target)
	}
}

// TestRoutesThatAreNotThereAreToldOnce is about misspelt ones.
func TestRoutesThatAreNotThereAreToldOnce(t *testing.T) {
	var log bytes.Buffer
	s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Slots(t, 1))
	e := serving(mounted(s, middleware.Config{
		Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		Tiers:     map[string]seawall.Tier{"GET /": seawall.Critical, "POST /v1/chargs": seawall.Critical, "* /v1/any": seawall.Read},
		LongLived: []string{"HEAD /", "POTS /"},
	}))
	e.Any("/v1/any", ok)
	for range 3 {
		get(e)
	}
	assert.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	assert.Contains(t, log.String(), `route="POST /v1/chargs"`)
	assert.Contains(t, log.String(), `route="POTS /"`)
}

// TestARenderingIsNobodysButTheAnswers has others look at a refusal meanwhile, as logs do.
func TestARenderingIsNobodysButTheAnswers(t *testing.T) {
	e := drained(t, middleware.Config{})
	var all sync.WaitGroup
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		all.Go(func() { _, _ = json.Marshal(err) }) // another goroutine's header would be written here
		e.DefaultHTTPErrorHandler(err, c)
	}
	for range 20 {
		assert.Equal(t, guard.MediaType, get(e).Header().Get("Content-Type"))
	}
	all.Wait()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		he, _ := errors.AsType[*echo.HTTPError](err)
		_ = c.JSON(he.Code, echo.Map{"error": "slow down"})
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		assert.Equal(t, "application/json", send(e, method, "/").Header().Get("Content-Type"), method)
	}
}
