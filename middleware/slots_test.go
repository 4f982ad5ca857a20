package middleware_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/workershed"
)

// single is an API with one slot in every layer that has slots.
type single struct {
	mw      echo.MiddlewareFunc
	workers *workershed.Shedder
	metrics *prometheus.Registry
}

func newSingle(t *testing.T, store seawall.Store) *single {
	t.Helper()
	s := &single{workers: fixture.Workers(t, 1), metrics: prometheus.NewPedanticRegistry()}
	tel := scrape.Into(t, telemetry.Config{Registerer: s.metrics})
	s.mw = mounted(fixture.Stack(t, seawall.Config{Store: store, Observer: tel}, fixture.Slots(t, 1), fixture.Fleet(t, 1), s.workers), middleware.Config{})
	return s
}

// assertFree tells whether nothing is held any more, and another request gets everything.
func (s *single) assertFree(t *testing.T) {
	t.Helper()
	assert.Zero(t, s.workers.InFlight())
	for series, n := range scrape.Series(t, s.metrics, "seawall_inflight") {
		assert.Zero(t, n, series)
	}
	assert.Equal(t, http.StatusOK, get(serving(s.mw)).Code)
}

func quietRecover() echo.MiddlewareFunc {
	return echomw.RecoverWithConfig(echomw.RecoverConfig{DisablePrintStack: true})
}

func TestSlotsAreGivenBackHoweverTheHandlerEnds(t *testing.T) {
	answers := func(echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { return c.NoContent(http.StatusAccepted) }
	}
	fails := func(echo.HandlerFunc) echo.HandlerFunc {
		return func(echo.Context) error { return echo.ErrForbidden }
	}
	panics := func(v any) echo.HandlerFunc { return func(echo.Context) error { panic(v) } }
	for name, c := range map[string]struct {
		outside, inside []echo.MiddlewareFunc
		handler         echo.HandlerFunc
		status          int // 0: the panic or Goexit goes through
	}{
		"returns":                          {nil, nil, ok, 200},
		"writes nothing":                   {nil, nil, func(echo.Context) error { return nil }, 200},
		"returns an error":                 {nil, nil, func(echo.Context) error { return errors.New("no") }, 500},
		"panics, Recover outside":          {[]echo.MiddlewareFunc{quietRecover()}, nil, panics("boom"), 500},
		"panics, Recover inside":           {nil, []echo.MiddlewareFunc{quietRecover()}, panics("boom"), 500},
		"panics with nil, Recover outside": {[]echo.MiddlewareFunc{quietRecover()}, nil, panics(nil), 500},
		"panics, no Recover":               {nil, nil, panics("boom"), 0},
		"aborts, Recover outside":          {[]echo.MiddlewareFunc{quietRecover()}, nil, panics(http.ErrAbortHandler), 0},
		"aborts, Recover inside":           {nil, []echo.MiddlewareFunc{quietRecover()}, panics(http.ErrAbortHandler), 0},
		"exits its goroutine":              {nil, nil, func(echo.Context) error { runtime.Goexit(); return nil }, 0},
		"a middleware between answers":     {nil, []echo.MiddlewareFunc{answers}, ok, 202},
		"a middleware between fails":       {nil, []echo.MiddlewareFunc{fails}, ok, 403},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSingle(t, fixture.Memory(t, nil))
			e := echo.New()
			e.Use(append(append(c.outside, s.mw), c.inside...)...)
			held := 0
			e.GET("/", func(ctx echo.Context) error {
				for _, n := range scrape.Series(t, s.metrics, "seawall_inflight") {
					held += int(n)
				}
				return c.handler(ctx)
			})
			w := httptest.NewRecorder()
			returned := false
			done := make(chan struct{})
			go func() { // Goexit ends it
				defer close(done)
				defer func() { _ = recover() }()
				e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
				returned = true
			}()
			<-done
			assert.Equal(t, c.status != 0, returned)
			if returned {
				assert.Equal(t, c.status, w.Code)
			}
			if c.status != 202 && c.status != 403 {
				assert.Equal(t, 3, held, "one in each of three layers")
			}
			s.assertFree(t)
		})
	}
}

func TestAHandlersPanicIsNotSwallowed(t *testing.T) {
	s := newSingle(t, fixture.Memory(t, nil))
	e := echo.New()
	e.Use(s.mw)
	e.GET("/", func(echo.Context) error { panic("boom") })
	assert.PanicsWithValue(t, "boom", func() { get(e) })
	s.assertFree(t)
}

func TestRefusedRequestsHoldNothing(t *testing.T) {
	s := newSingle(t, fixture.Memory(t, nil))
	e := echo.New()
	e.Use(s.mw)
	e.GET("/", func(c echo.Context) error {
		if c.QueryParam("nested") == "" { // while the first is in flight, the second is refused
			assert.Equal(t, http.StatusServiceUnavailable, send(e, http.MethodGet, "/?nested=1").Code)
			assert.EqualValues(t, 1, s.workers.InFlight())
		}
		return ok(c)
	})
	assert.Equal(t, http.StatusOK, get(e).Code)
	s.assertFree(t)
}

// TestAPanicWhileIdentifyingServesOn is about code of the application's: what holds a slot gives it back, and the caller
// counts as its address.
func TestAPanicWhileIdentifyingServesOn(t *testing.T) {
	var log bytes.Buffer
	st := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Slots(t, 1))
	e := serving(mounted(st, middleware.Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Identify: func(_ identity.Call, r *seawall.Request) error {
			r.Key = client()
			panic(errors.New("canary"))
		},
	}))
	for range 5 {
		assert.Equal(t, http.StatusOK, get(e).Code)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "\n"), "once a second")
	assert.NotContains(t, log.String(), "canary")
	aborts := serving(mounted(st, middleware.Config{Identify: func(identity.Call, *seawall.Request) error { panic(http.ErrAbortHandler) }}))
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() { get(aborts) })
	assert.Equal(t, http.StatusOK, get(e).Code)
}

// switched are modes whose one switch is off.
type switched struct{ seawall.Fixed }

func (switched) Off() bool { return true }

// TestWithEverythingOffNothingIsAsked is about the kill switch: it reaches whatever could be broken.
func TestWithEverythingOffNothingIsAsked(t *testing.T) {
	store := &counting{Store: fixture.Memory(t, nil)}
	modes := switched{seawall.Fixed{"concurrency": seawall.Off, "ratelimit": seawall.Off}}
	st := fixture.Stack(t, seawall.Config{Store: store, Modes: modes}, fixture.Slots(t, 1), fixture.Rate(t, fixture.Policy("api", 1)))
	asked := 0
	e := serving(mounted(st, middleware.Config{
		Identify: func(identity.Call, *seawall.Request) error { asked++; return errors.New("broken") },
		Classify: func(echo.Context, seawall.Tier) seawall.Tier { asked++; panic("broken") },
	}))
	for range 3 {
		w := get(e)
		assert.Equal(t, http.StatusOK, w.Code)
		assertNoQuota(t, w)
	}
	assert.Zero(t, asked)
	assert.Zero(t, store.asked.Load())
}
