package middleware_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
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

// limited mounts a bucket of one token a second.
func limited(t *testing.T) echo.MiddlewareFunc {
	t.Helper()
	s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1)))
	return mounted(s, middleware.Config{})
}

func TestOuterMiddlewareSeesARefusal(t *testing.T) {
	var seen []error
	outer := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			seen = append(seen, err)
			return err
		}
	}
	e := serving(outer, limited(t))
	get(e)
	assert.Equal(t, http.StatusTooManyRequests, get(e).Code)
	require.Len(t, seen, 2)
	require.NoError(t, seen[0])

	var r *guard.Refusal
	require.ErrorAs(t, seen[1], &r)
	assert.Equal(t, "ratelimit", r.Decision.Layer)
	assert.Equal(t, "api", r.Decision.Policy)
	assert.Equal(t, int64(1), r.Seconds)
	assert.Equal(t, http.StatusTooManyRequests, r.StatusCode())
	assert.Equal(t, "seawall: refused by ratelimit, policy api", r.Error())
	var he *echo.HTTPError
	require.ErrorAs(t, seen[1], &he)
	assert.Equal(t, http.StatusTooManyRequests, he.Code)
}

func TestRefusalsAmongEchosOwnMiddleware(t *testing.T) {
	for name, order := range map[string]func(recovers, logs, limits echo.MiddlewareFunc) []echo.MiddlewareFunc{
		"recover, log, limit": func(r, l, s echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{r, l, s} },
		"log, recover, limit": func(r, l, s echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{l, r, s} },
		"log, limit, recover": func(r, l, s echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{l, s, r} },
	} {
		for _, handles := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var logged []echomw.RequestLoggerValues
				logs := echomw.RequestLoggerWithConfig(echomw.RequestLoggerConfig{
					LogStatus: true, LogError: true, HandleError: handles,
					LogValuesFunc: func(_ echo.Context, v echomw.RequestLoggerValues) error {
						logged = append(logged, v)
						return nil
					},
				})
				e := serving(order(echomw.Recover(), logs, limited(t))...)
				rendered := 0
				e.HTTPErrorHandler = func(err error, c echo.Context) {
					if !c.Response().Committed {
						rendered++
					}
					e.DefaultHTTPErrorHandler(err, c)
				}
				get(e)
				w := get(e)
				assert.Equal(t, http.StatusTooManyRequests, w.Code)
				assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
				assert.Equal(t, "api", problemOf(t, w).Policy)
				assert.Equal(t, 1, rendered)
				require.Len(t, logged, 2)
				var r *guard.Refusal
				require.ErrorAs(t, logged[1].Error, &r)
				assert.Equal(t, http.StatusTooManyRequests, logged[1].Status)
			})
		}
	}
}

func TestACustomErrorHandlerRendersRefusals(t *testing.T) {
	e := serving(limited(t))
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if r, ok := errors.AsType[*guard.Refusal](err); ok {
			c.Response().Header().Set(echo.HeaderContentType, "text/plain")
			_ = c.String(http.StatusTeapot, r.Decision.Policy)
			return
		}
		e.DefaultHTTPErrorHandler(err, c)
	}
	get(e)
	w := get(e)
	assert.Equal(t, http.StatusTeapot, w.Code)
	assert.Equal(t, "api", w.Body.String())
	assert.Equal(t, "text/plain", w.Header().Get("Content-Type"))
	assert.Equal(t, "1", w.Header().Get("Retry-After"), "the wait is in the headers whoever renders")
}

func TestWhatIsNotARefusalIsLeftAlone(t *testing.T) {
	e := echo.New()
	e.Use(mounted(fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 9))), middleware.Config{}))
	e.GET("/", func(echo.Context) error { return errors.New("of the handler") })
	e.GET("/json", func(c echo.Context) error { return c.JSON(http.StatusOK, 1) })

	w := get(e)
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	w = send(e, http.MethodGet, "/json")
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	assert.NotContains(t, w.Header(), "Retry-After")
	assert.NotContains(t, w.Header(), "Cache-Control")
}

// untouchable is a body that nobody may read.
type untouchable struct{ t *testing.T }

func (b untouchable) Read([]byte) (int, error) {
	b.t.Error("the body of a refused request was read")
	return 0, errors.New("read")
}

func (b untouchable) Close() error { return nil }

func TestARefusalNeitherRunsTheHandlerNorReadsTheBody(t *testing.T) {
	for cause, e := range refused(t) {
		e.POST("/", func(echo.Context) error {
			t.Errorf("%s: the handler ran", cause)
			return nil
		})
		w := do(e, httptest.NewRequest(http.MethodPost, "/", untouchable{t}))
		assert.Contains(t, []int{429, 503}, w.Code, cause)
	}
}

func TestAFailingIdentifyAnswersAndAsksNobody(t *testing.T) {
	store := &counting{Store: fixture.Memory(t, nil)}
	ran := false
	e := echo.New()
	e.Use(mounted(fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1))), middleware.Config{
		Identify: func(identity.Call, *seawall.Request) error { return echo.ErrUnauthorized },
	}))
	e.GET("/", func(echo.Context) error { ran = true; return nil })
	assert.Equal(t, http.StatusUnauthorized, get(e).Code)
	assert.Zero(t, store.asked.Load())
	assert.False(t, ran)
}
