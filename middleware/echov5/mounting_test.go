package echov5_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/echov5"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/workershed"
)

func slots(t testing.TB) *concurrency.Limiter {
	t.Helper()
	l, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
	require.NoError(t, err)
	return l
}

func fleet(t testing.TB) *fleetshed.Shedder {
	t.Helper()
	s, err := fleetshed.New(fleetshed.Config{Workers: 1})
	require.NoError(t, err)
	return s
}

func workers(t testing.TB) *workershed.Shedder {
	t.Helper()
	s, err := workershed.New(workershed.Config{Workers: 1, HardCap: 1})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return s
}

// TestEveryFormMountsItsLayer asks each form while a request of the same caller's is in its handler.
func TestEveryFormMountsItsLayer(t *testing.T) {
	engine := func() seawall.Config { return seawall.Config{Store: fixture.Memory(t, nil)} }
	common := echov5.Config{Identify: fixture.AsCaller}
	s, err := seawall.New(engine(), slots(t))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		mw      echo.MiddlewareFunc
		limiter string
	}{
		"Stack":                 {echov5.Stack(s), "concurrency"},
		"StackWithConfig":       {echov5.StackWithConfig(echov5.StackConfig{Config: common, Stack: s}), "concurrency"},
		"RateLimit":             {echov5.RateLimit(fixture.Rate(t, fixture.Policy("api", 1)), fixture.Memory(t, nil)), "ratelimit"},
		"RateLimitWithConfig":   {echov5.RateLimitWithConfig(echov5.RateLimitConfig{Config: common, Layer: fixture.Rate(t, fixture.Policy("api", 1)), Engine: engine()}), "ratelimit"},
		"Concurrency":           {echov5.Concurrency(slots(t), fixture.Memory(t, nil)), "concurrency"},
		"ConcurrencyWithConfig": {echov5.ConcurrencyWithConfig(echov5.ConcurrencyConfig{Config: common, Layer: slots(t), Engine: engine()}), "concurrency"},
		"FleetShed":             {echov5.FleetShed(fleet(t), fixture.Memory(t, nil)), "fleetshed"},
		"FleetShedWithConfig":   {echov5.FleetShedWithConfig(echov5.FleetShedConfig{Config: common, Layer: fleet(t), Engine: engine()}), "fleetshed"},
		"WorkerShed":            {echov5.WorkerShed(workers(t)), "workershed"},
		"WorkerShedWithConfig":  {echov5.WorkerShedWithConfig(echov5.WorkerShedConfig{Config: common, Layer: workers(t)}), "workershed"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serving(c.mw)
			e.GET("/outer", func(ctx *echo.Context) error {
				w := get(e)
				assert.Equal(t, c.limiter, members(t, w)["limiter"])
				return ok(ctx)
			})
			e.GET("/healthz", ok)
			assert.Equal(t, http.StatusOK, send(e, http.MethodGet, "/outer").Code)
			assert.Equal(t, http.StatusOK, send(e, http.MethodGet, "/healthz").Code, "probes are skipped")
		})
	}
}

func TestConstructorsSayWhatIsMissing(t *testing.T) {
	_, err := echov5.RateLimitConfig{Layer: fixture.Rate(t, fixture.Policy("api", 1))}.ToMiddleware()
	require.ErrorContains(t, err, "Store")
	_, err = echov5.RateLimitConfig{}.ToMiddleware()
	require.ErrorContains(t, err, "nil *ratelimit.Limiter")
	_, err = echov5.WorkerShedConfig{Layer: workers(t), Engine: seawall.Config{Wait: -1}}.ToMiddleware()
	require.ErrorContains(t, err, "Wait")
	_, err = echov5.StackConfig{}.ToMiddleware()
	require.EqualError(t, err, "echov5: the Stack is nil; want one from seawall.New")
	for name, short := range map[string]func(){
		"Stack":                 func() { echov5.Stack(nil) },
		"StackWithConfig":       func() { echov5.StackWithConfig(echov5.StackConfig{}) },
		"RateLimit":             func() { echov5.RateLimit(nil, fixture.Memory(t, nil)) },
		"RateLimitWithConfig":   func() { echov5.RateLimitWithConfig(echov5.RateLimitConfig{}) },
		"Concurrency":           func() { echov5.Concurrency(slots(t), nil) },
		"ConcurrencyWithConfig": func() { echov5.ConcurrencyWithConfig(echov5.ConcurrencyConfig{}) },
		"FleetShed":             func() { echov5.FleetShed(fleet(t), nil) },
		"FleetShedWithConfig":   func() { echov5.FleetShedWithConfig(echov5.FleetShedConfig{}) },
		"WorkerShed":            func() { echov5.WorkerShed(nil) },
		"WorkerShedWithConfig":  func() { echov5.WorkerShedWithConfig(echov5.WorkerShedConfig{}) },
	} {
		assert.Panics(t, short, name)
	}
}

func TestIdentifyAndClassifyHaveEchosContext(t *testing.T) {
	var seen []string
	e := echo.New()
	e.Use(limited(t, 9, echov5.Config{
		Classify: func(c *echo.Context, tier seawall.Tier) seawall.Tier {
			seen = append(seen, "classify "+c.Param("id"))
			return tier
		},
		Identify: func(c identity.Call, r *seawall.Request) error {
			seen = append(seen, "identify "+echov5.EchoContext(c).Param("id"))
			return fixture.AsCaller(c, r)
		},
	}))
	e.GET("/v1/charges/:id", ok)
	send(e, http.MethodGet, "/v1/charges/4711")
	assert.Equal(t, []string{"classify 4711", "identify 4711"}, seen)
	assert.Nil(t, echov5.EchoContext(nil), "a call of another adapter's")
}

func TestBehindAProxyClientsHaveKeysOfTheirOwn(t *testing.T) {
	s, err := seawall.New(seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1)))
	require.NoError(t, err)
	e := serving(echov5.Stack(s))
	e.IPExtractor = echo.ExtractIPFromXFFHeader()
	status := func(peer, forwarded string) int {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", forwarded)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		return w.Code
	}
	assert.Equal(t, http.StatusOK, status("10.0.0.1:1", "203.0.113.1"))
	assert.Equal(t, http.StatusOK, status("10.0.0.1:1", "203.0.113.2"))
	assert.Equal(t, http.StatusTooManyRequests, status("10.0.0.1:1", "6.6.6.6, 203.0.113.1"), "the nearest that is not trusted")
	assert.Equal(t, http.StatusOK, status("198.51.100.9:1", "203.0.113.3"))
	assert.Equal(t, http.StatusTooManyRequests, status("198.51.100.9:1", "203.0.113.4"), "not from the proxy")
}

// TestARefusedHEADOfARouteForGET is about Echo's routers that answer HEAD by the handler of GET.
func TestARefusedHEADOfARouteForGET(t *testing.T) {
	for name, onRoute := range map[string]bool{"Use": false, "route": true} {
		e := echo.NewWithConfig(echo.Config{Router: echo.NewRouter(echo.RouterConfig{AutoHandleHEAD: true})})
		mw := limited(t, 1, echov5.Config{})
		if onRoute {
			e.GET("/", ok, mw)
		} else {
			e.Use(mw)
			e.GET("/", ok)
		}
		w := send(e, http.MethodHead, "/")
		assert.Equal(t, http.StatusOK, w.Code, name)
		assert.NotEmpty(t, w.Header().Get("Ratelimit"), name)
		w = send(e, http.MethodHead, "/")
		assert.Equal(t, http.StatusTooManyRequests, w.Code, name)
		assert.Equal(t, []string{guard.MediaType}, w.Header()["Content-Type"], name)
		assert.Zero(t, w.Body.Len())
	}
}

// TestAWriterThatIsNotOursIsLeftAlone is about middlewares that leave a writer of their own in place, and about writers of
// types that cannot be compared.
func TestAWriterThatIsNotOursIsLeftAlone(t *testing.T) {
	another := uncomparable{httptest.NewRecorder(), nil}
	for _, long := range [][]string{nil, {"GET /"}} {
		mw := limited(t, 9, echov5.Config{LongLived: long})
		for name, inner := range map[string]echo.HandlerFunc{
			"left": func(c *echo.Context) error { c.SetResponse(another); return nil },
			"kept": func(*echo.Context) error { return nil },
		} {
			c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", http.NoBody), uncomparable{httptest.NewRecorder(), nil})
			c.SetPath("/")
			before := uncomparable{httptest.NewRecorder(), nil}
			c.SetResponse(before)
			require.NoError(t, mw(inner)(c))
			want := before
			if name == "left" {
				want = another
			}
			assert.Same(t, want.ResponseWriter, c.Response().(uncomparable).ResponseWriter)
		}
	}
}

// uncomparable is a writer that panics when it is compared.
type uncomparable struct {
	http.ResponseWriter
	_ []func()
}
