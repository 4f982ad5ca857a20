package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/workershed"
)

// alone mounts one layer with the constructor of its own.
func alone(t testing.TB, sc seawall.Config, l seawall.Layer) echo.MiddlewareFunc {
	t.Helper()
	common := middleware.Config{Identify: hasher().ByAddress()}
	var mw echo.MiddlewareFunc
	var err error
	switch l := l.(type) {
	case *ratelimit.Limiter:
		mw, err = middleware.RateLimitConfig{Layer: l, Engine: sc, Config: common}.ToMiddleware()
	case *concurrency.Limiter:
		mw, err = middleware.ConcurrencyConfig{Layer: l, Engine: sc, Config: common}.ToMiddleware()
	case *fleetshed.Shedder:
		mw, err = middleware.FleetShedConfig{Layer: l, Engine: sc, Config: common}.ToMiddleware()
	case *workershed.Shedder:
		mw, err = middleware.WorkerShedConfig{Layer: l, Engine: sc, Config: common}.ToMiddleware()
	}
	require.NoError(t, err)
	return mw
}

// echo1 is an Echo behind a bucket with plenty for everybody.
func echo1(t *testing.T, cfg middleware.Config) *echo.Echo {
	t.Helper()
	s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1_000_000)))
	return serving(mounted(s, cfg))
}

func headersOf(w *httptest.ResponseRecorder) http.Header { return w.Header().Clone() }

func TestOneByOneEachLayerRefuses(t *testing.T) {
	store := fixture.Memory(t, nil)
	cfg := seawall.Config{Store: store}
	w := fixture.Workers(t, 2)
	e := serving(alone(t, seawall.Config{}, w), alone(t, cfg, fixture.Rate(t, fixture.Policy("api", 4))), alone(t, cfg, fixture.Slots(t, 1)), alone(t, cfg, fixture.Fleet(t, 2)))
	assert.Equal(t, http.StatusOK, get(e).Code)

	other := fixture.Stack(t, cfg, fixture.Fleet(t, 2))
	a := other.Admit(t.Context(), &seawall.Request{})
	b := other.Admit(t.Context(), &seawall.Request{})
	assert.Equal(t, "fleetshed", problemOf(t, get(e)).Limiter)
	a.Done(context.Background())
	b.Done(context.Background())

	c := fixture.Stack(t, cfg, fixture.Slots(t, 1)).Admit(t.Context(), &seawall.Request{Key: client()})
	assert.Equal(t, "concurrency", problemOf(t, get(e)).Limiter)
	c.Done(context.Background())

	assert.Equal(t, http.StatusOK, get(e).Code, "the earlier middlewares gave back what the refused requests held")
	assert.Equal(t, "ratelimit", problemOf(t, get(e)).Limiter, "but what was spent is spent")
	fixture.Drown(t, w, 2)
	assert.Equal(t, "workershed", problemOf(t, get(e)).Limiter)
}

func TestOneByOneEachAsksTheStoreAndAStackOnce(t *testing.T) {
	layers := []seawall.Layer{fixture.Rate(t, fixture.Policy("api", 9)), fixture.Slots(t, 1), fixture.Fleet(t, 2)}
	store := &counting{Store: fixture.Memory(t, nil)}
	var all []echo.MiddlewareFunc
	for _, l := range layers {
		all = append(all, alone(t, seawall.Config{Store: store}, l))
	}
	get(serving(all...))
	assert.EqualValues(t, 3, store.asked.Load())
	get(behind(t, seawall.Config{Store: store}, append(layers, fixture.Workers(t, 1))...))
	assert.EqualValues(t, 4, store.asked.Load())
}

func TestMountedTwiceIsEvaluatedOnce(t *testing.T) {
	cfg := seawall.Config{Store: fixture.Memory(t, nil)}
	shedder := fixture.Workers(t, 2)
	for name, layer := range map[string]seawall.Layer{
		"ratelimit": fixture.Rate(t, fixture.Policy("api", 1)), "concurrency": fixture.Slots(t, 1), "fleetshed": fixture.Fleet(t, 1),
	} {
		t.Run(name, func(t *testing.T) {
			once := alone(t, cfg, layer)
			e := echo.New()
			e.Use(once)
			g := e.Group("/v1", once, alone(t, cfg, layer)) // also by a stack of its own
			g.GET("/x", ok, once)
			w := send(e, http.MethodGet, "/v1/x")
			assert.Equal(t, http.StatusOK, w.Code, "one is all there is")
			assert.Len(t, w.Header().Values(limitField), map[bool]int{true: 1}[name == "ratelimit"])
		})
	}
	t.Run("workershed", func(t *testing.T) {
		once := alone(t, cfg, shedder)
		e := echo.New()
		e.Use(once, once, alone(t, cfg, shedder))
		e.GET("/", func(echo.Context) error {
			assert.EqualValues(t, 1, shedder.InFlight())
			return nil
		})
		get(e)
		assert.Zero(t, shedder.InFlight())
	})
}

func TestALimiterMountedTwiceStillLimitsTheNextRequest(t *testing.T) {
	once := limited(t)
	e := serving(once, once)
	assert.Equal(t, http.StatusOK, get(e).Code)
	assert.Equal(t, http.StatusTooManyRequests, get(e).Code, "contexts are pooled; what a request met must not outlive it")
}

func TestAStackMayStandAnywhere(t *testing.T) {
	for name, mount := range map[string]func(e *echo.Echo, mw echo.MiddlewareFunc){
		"Use":   func(e *echo.Echo, mw echo.MiddlewareFunc) { e.Use(mw); e.GET("/v1/x", ok) },
		"group": func(e *echo.Echo, mw echo.MiddlewareFunc) { e.Group("/v1", mw).GET("/x", ok) },
		"route": func(e *echo.Echo, mw echo.MiddlewareFunc) { e.GET("/v1/x", ok, mw) },
	} {
		t.Run(name, func(t *testing.T) {
			e := echo.New()
			e.GET("/free", ok)
			mount(e, limited(t))
			assert.Equal(t, http.StatusOK, send(e, http.MethodGet, "/v1/x").Code)
			assert.Equal(t, http.StatusTooManyRequests, send(e, http.MethodGet, "/v1/x").Code)
			want := http.StatusOK
			if name == "Use" {
				want = http.StatusTooManyRequests
			}
			assert.Equal(t, want, send(e, http.MethodGet, "/free").Code)
		})
	}
}

func TestSkippedRequestsAreNotSeawallsBusiness(t *testing.T) {
	store := &counting{Store: fixture.Memory(t, nil)}
	e := serving(mounted(fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1))), middleware.Config{
		Skipper:  func(c echo.Context) bool { return c.Path() == "/healthz" },
		Identify: func(c identity.Call, r *seawall.Request) error { r.Key = client(); return nil },
	}))
	e.GET("/healthz", ok)
	for range 3 {
		w := send(e, http.MethodGet, "/healthz")
		assert.Equal(t, http.StatusOK, w.Code)
		assertNoQuota(t, w)
	}
	assert.Zero(t, store.asked.Load())
	assert.Equal(t, http.StatusOK, get(e).Code)
}

func TestUnmatchedRoutesAreLimitedToo(t *testing.T) {
	var routes []string
	seen := middleware.Config{Identify: func(_ identity.Call, r *seawall.Request) error {
		routes = append(routes, r.Route)
		r.Key = client()
		return nil
	}}
	e := echo.New()
	e.Use(mounted(fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 2))), seen))
	e.GET("/v1/charges/:id", ok)
	w := send(e, http.MethodGet, "/secret/4711")
	assert.Equal(t, http.StatusNotFound, w.Code)
	_, limits := quotas(t, w, limitField)
	assert.Equal(t, int64(1), limits[0]["r"])
	assert.Equal(t, http.StatusMethodNotAllowed, send(e, http.MethodDelete, "/v1/charges/4711").Code)
	assert.Equal(t, http.StatusTooManyRequests, send(e, http.MethodGet, "/secret/4712").Code)
	assert.Equal(t, []string{"", "/v1/charges/:id", ""}, routes, "patterns, never raw paths")
}

func TestConstructorsSayWhatIsMissing(t *testing.T) {
	_, err := middleware.RateLimitConfig{Layer: fixture.Rate(t, fixture.Policy("api", 1))}.ToMiddleware()
	require.ErrorContains(t, err, "Store")
	_, err = middleware.RateLimitConfig{}.ToMiddleware()
	require.ErrorContains(t, err, "nil *ratelimit.Limiter")
	_, err = middleware.WorkerShedConfig{Layer: fixture.Workers(t, 1), Engine: seawall.Config{Wait: -1}}.ToMiddleware()
	require.ErrorContains(t, err, "Wait")
	_, err = middleware.StackConfig{}.ToMiddleware()
	require.EqualError(t, err, "middleware: the Stack is nil; want one from seawall.New", "it would serve, unprotected, for ever")
	for name, short := range map[string]func(){
		"Stack":                 func() { middleware.Stack(nil) },
		"StackWithConfig":       func() { middleware.StackWithConfig(middleware.StackConfig{}) },
		"RateLimit":             func() { middleware.RateLimit(nil, fixture.Memory(t, nil)) },
		"RateLimitWithConfig":   func() { middleware.RateLimitWithConfig(middleware.RateLimitConfig{}) },
		"Concurrency":           func() { middleware.Concurrency(fixture.Slots(t, 1), nil) },
		"ConcurrencyWithConfig": func() { middleware.ConcurrencyWithConfig(middleware.ConcurrencyConfig{}) },
		"FleetShed":             func() { middleware.FleetShed(fixture.Fleet(t, 1), nil) },
		"FleetShedWithConfig":   func() { middleware.FleetShedWithConfig(middleware.FleetShedConfig{}) },
		"WorkerShed":            func() { middleware.WorkerShed(nil) },
		"WorkerShedWithConfig":  func() { middleware.WorkerShedWithConfig(middleware.WorkerShedConfig{}) },
	} {
		assert.Panics(t, short, name)
	}
}

func TestTheShortFormsWork(t *testing.T) {
	store := fixture.Memory(t, nil)
	limits := fixture.Rate(t, fixture.Policy("api", 1))
	for name, mw := range map[string]echo.MiddlewareFunc{
		"Stack":       middleware.Stack(fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("stack", 1)))),
		"RateLimit":   middleware.RateLimit(limits, store),
		"Concurrency": middleware.Concurrency(fixture.Slots(t, 1), store),
		"FleetShed":   middleware.FleetShed(fixture.Fleet(t, 2), store),
		"WorkerShed":  middleware.WorkerShed(fixture.Workers(t, 2)),
	} {
		e := serving(mw)
		assert.Equal(t, http.StatusOK, get(e).Code, name)
		if name == "Stack" || name == "RateLimit" {
			assert.Equal(t, http.StatusTooManyRequests, get(e).Code, name)
		}
	}
}
