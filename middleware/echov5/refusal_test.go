package echov5_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/labstack/echo/v5"
	echomw "github.com/labstack/echo/v5/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/echov5"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

func TestOuterMiddlewareSeesARefusal(t *testing.T) {
	var seen []error
	outer := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			err := next(c)
			seen = append(seen, err)
			return err
		}
	}
	e := serving(outer, limited(t, 1, echov5.Config{}))
	get(e)
	assert.Equal(t, http.StatusTooManyRequests, get(e).Code)
	require.Len(t, seen, 2)
	require.NoError(t, seen[0])
	var r *guard.Refusal
	require.ErrorAs(t, seen[1], &r)
	assert.Equal(t, "api", r.Decision.Policy)
	assert.Equal(t, int64(1), r.Seconds)
	assert.Equal(t, http.StatusTooManyRequests, echo.StatusCode(seen[1]))
	assert.EqualError(t, seen[1], "seawall: refused by ratelimit, policy api")
}

func TestRefusalsAmongEchosOwnMiddleware(t *testing.T) {
	type order func(recovers, logs, limits echo.MiddlewareFunc) []echo.MiddlewareFunc
	for name, order := range map[string]order{
		"recover, log, limit": func(r, l, s echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{r, l, s} },
		"log, recover, limit": func(r, l, s echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{l, r, s} },
		"log, limit, recover": func(r, l, s echo.MiddlewareFunc) []echo.MiddlewareFunc { return []echo.MiddlewareFunc{l, s, r} },
		"wrap, log, limit": func(_, l, s echo.MiddlewareFunc) []echo.MiddlewareFunc {
			wraps := func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c *echo.Context) error {
					if err := next(c); err != nil {
						return fmt.Errorf("wrapped: %w", err)
					}
					return nil
				}
			}
			return []echo.MiddlewareFunc{wraps, l, s}
		},
	} {
		for _, handles := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HandleError %v", name, handles), func(t *testing.T) {
				var logged []echomw.RequestLoggerValues
				logs := echomw.RequestLoggerWithConfig(echomw.RequestLoggerConfig{
					LogStatus: true, HandleError: handles,
					LogValuesFunc: func(_ *echo.Context, v echomw.RequestLoggerValues) error {
						logged = append(logged, v)
						return nil
					},
				})
				e := serving(order(quietRecover(), logs, limited(t, 1, echov5.Config{}))...)
				rendered := 0
				handler := e.HTTPErrorHandler
				e.HTTPErrorHandler = func(c *echo.Context, err error) {
					if r, _ := echo.UnwrapResponse(c.Response()); !r.Committed {
						rendered++
					}
					handler(c, err)
				}
				get(e)
				w := get(e)
				assert.Equal(t, http.StatusTooManyRequests, w.Code)
				assert.Equal(t, []string{guard.MediaType}, w.Header()["Content-Type"])
				assert.Equal(t, "api", members(t, w)["policy"])
				assert.Equal(t, 1, rendered)
				require.Len(t, logged, 2)
				var r *guard.Refusal
				require.ErrorAs(t, logged[1].Error, &r)
				assert.Equal(t, http.StatusTooManyRequests, logged[1].Status)
			})
		}
	}
}

// TestErrorHandlers has each kind of error handler render refusals, and none be given a Content-Type that is not its own.
func TestErrorHandlers(t *testing.T) {
	named := []string{"detail", "limiter", "policy", "retry_after", "status", "title", "type", "violated-policies"}
	for name, c := range map[string]struct {
		handler echo.HTTPErrorHandler
		status  int
		kind    string // of GET and POST
		head    string // the Content-Type of HEAD
		members []string
	}{
		"Echo's":             {echo.DefaultHTTPErrorHandler(false), 429, guard.MediaType, guard.MediaType, named},
		"Echo's, exposing":   {echo.DefaultHTTPErrorHandler(true), 429, guard.MediaType, guard.MediaType, named},
		"Echo's of problems": {echo.ProblemDetailsHTTPErrorHandler(false), 429, guard.MediaType, guard.MediaType, []string{"detail", "status", "title", "type"}},
		"JSON of its own": {func(c *echo.Context, err error) {
			_ = c.JSON(echo.StatusCode(err), map[string]string{"error": "slow down"})
		}, 429, "application/json", "application/json", []string{"error"}},
		"the refusal as plain JSON": {func(c *echo.Context, err error) {
			r, _ := errors.AsType[*guard.Refusal](err)
			_ = c.JSON(http.StatusTeapot, r)
		}, 418, "application/json", "application/json", named},
		"text": {func(c *echo.Context, err error) {
			_ = c.String(echo.StatusCode(err), `{"text":1}`)
		}, 429, "text/plain; charset=UTF-8", "text/plain; charset=UTF-8", []string{"text"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := serving(limited(t, 1, echov5.Config{}))
			e.HTTPErrorHandler = c.handler
			assert.Equal(t, http.StatusOK, get(e).Code)
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead} {
				w := send(e, method, "/")
				assert.Equal(t, c.status, w.Code, method)
				assert.Equal(t, "1", w.Header().Get("Retry-After"), "the wait is in the headers whoever renders")
				assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
				if method == http.MethodHead {
					assert.Equal(t, []string{c.head}, w.Header()["Content-Type"])
					continue
				}
				assert.Equal(t, []string{c.kind}, w.Header()["Content-Type"])
				var names []string
				for name := range members(t, w) {
					names = append(names, name)
				}
				assert.ElementsMatch(t, c.members, names)
			}
		})
	}
}

func TestProblemDetailsAreTheRefusals(t *testing.T) {
	for name, mw := range map[string]echo.MiddlewareFunc{
		"refused": limited(t, 1, echov5.Config{}),
		"unidentified": limited(t, 1, echov5.Config{Identify: func(identity.Call, *seawall.Request) error {
			return &identity.Error{Status: 401, Detail: "Show a key."}
		}}),
	} {
		e := serving(mw)
		get(e)
		plain := members(t, get(e))
		e.HTTPErrorHandler = echo.ProblemDetailsHTTPErrorHandler(false)
		w := get(e)
		assert.Equal(t, guard.MediaType, w.Header().Get("Content-Type"))
		for member, value := range members(t, w) {
			assert.Equal(t, plain[member], value, "%s: %s", name, member)
		}
		assert.NotEmpty(t, members(t, send(e, http.MethodPost, "/"))["detail"])
	}
}

func TestWhatIsNotARefusalIsLeftAlone(t *testing.T) {
	e := serving(limited(t, 9, echov5.Config{}))
	e.GET("/fails", func(*echo.Context) error { return errors.New("of the handler") })
	e.GET("/json", func(c *echo.Context) error { return c.JSON(http.StatusOK, 1) })
	for path, status := range map[string]int{"/fails": 500, "/json": 200, "/nowhere": 404} {
		w := send(e, http.MethodGet, path)
		assert.Equal(t, status, w.Code)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.NotContains(t, w.Header(), "Retry-After")
		assert.NotContains(t, w.Header(), "Cache-Control")
	}
}

func TestDenyHandlersReturnAnErrorOrAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		deny    func(c *echo.Context, refusal *guard.Refusal) error
		status  int
		kind    string
		handled int // how often the error handler was asked
	}{
		"answers":          {func(c *echo.Context, r *guard.Refusal) error { return c.String(418, r.Decision.Policy) }, 418, "text/plain; charset=UTF-8", 0},
		"returns an error": {func(*echo.Context, *guard.Refusal) error { return echo.ErrNotFound }, 404, "application/json", 1},
		"returns Deny's":   {echov5.Deny, 429, guard.MediaType, 1},
		"returns the refusal as it is": {
			func(_ *echo.Context, r *guard.Refusal) error { return r }, 429, "application/json", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := serving(limited(t, 1, echov5.Config{DenyHandler: c.deny}))
			handled := 0
			handler := e.HTTPErrorHandler
			e.HTTPErrorHandler = func(c *echo.Context, err error) { handled++; handler(c, err) }
			get(e)
			w := get(e)
			assert.Equal(t, c.status, w.Code)
			assert.Equal(t, c.kind, w.Header().Get("Content-Type"))
			assert.Equal(t, "1", w.Header().Get("Retry-After"))
			assert.Equal(t, c.handled, handled)
		})
	}
}

func TestErrorHandlersOfIdentify(t *testing.T) {
	other := errors.New("a secret of ours")
	for name, c := range map[string]struct {
		err    error
		hook   func(c *echo.Context, err error) error
		status int
		kind   string
	}{
		"of ours":        {&identity.Error{Status: 413, Detail: "Too much."}, nil, 413, guard.MediaType},
		"of Echo's":      {echo.ErrUnauthorized, nil, 401, "application/json"},
		"of others'":     {other, nil, 500, "application/json"},
		"a hook returns": {other, func(*echo.Context, error) error { return echo.ErrBadGateway }, 502, "application/json"},
		"a hook answers": {other, func(c *echo.Context, err error) error {
			assert.Equal(t, other, err)
			return c.NoContent(http.StatusTeapot)
		}, 418, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var seen error
			outer := func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c *echo.Context) error { seen = next(c); return seen }
			}
			e := serving(outer, limited(t, 1, echov5.Config{
				Identify: func(identity.Call, *seawall.Request) error { return c.err }, ErrorHandler: c.hook,
			}))
			w := get(e)
			assert.Equal(t, c.status, w.Code)
			assert.Equal(t, c.kind, w.Header().Get("Content-Type"))
			assert.NotContains(t, w.Body.String(), "secret")
			if c.hook == nil {
				assert.ErrorIs(t, seen, c.err)
			}
		})
	}
}
