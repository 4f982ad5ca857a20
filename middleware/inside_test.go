package middleware_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/nethttp"
)

// custom is an application's own context, as Echo's guide has it.
type custom struct{ echo.Context }

// fresh is what a gateway in between may be: its context keeps nothing of what others have set.
func fresh(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		own := c.Echo().NewContext(c.Request(), c.Response())
		own.SetPath(c.Path())
		return next(own)
	}
}

// TestAStackIsRecognizedInside has middlewares of others between two mounts of one stack, and a bucket that two would empty.
func TestAStackIsRecognizedInside(t *testing.T) {
	type key struct{}
	for name, between := range map[string]echo.MiddlewareFunc{
		"a context of the application's": func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error { return next(&custom{c}) }
		},
		"a new context": fresh,
		"a request": func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), key{}, 1)))
				return next(c)
			}
		},
		"a timeout":   echomw.ContextTimeout(1e9),
		"compression": echomw.Gzip(),
		"a dump":      echomw.BodyDump(func(echo.Context, []byte, []byte) {}),
		"net/http": echo.WrapMiddleware(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.Clone(r.Context())) })
		}),
	} {
		once := limited(t)
		e := serving(once, between, once)
		assert.Equal(t, http.StatusOK, get(e).Code, name)
		assert.Equal(t, http.StatusTooManyRequests, get(e).Code, name)
	}
}

func TestAStackIsRecognizedInsideAnotherFramework(t *testing.T) {
	s := fixture.Limited(t, fixture.Policy("api", 1))
	e := serving(mounted(s, middleware.Config{Identify: fixture.AsCaller}))
	h := nethttp.StackWithConfig(nethttp.Config{Stack: s, Identify: fixture.AsCaller})(e)
	w := get(h)
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Len(t, w.Header().Values(limitField), 1)
	assert.Equal(t, http.StatusTooManyRequests, get(h).Code)
}

// TestAnotherRouteMayBeServedInside is about handlers that have Echo look up another one for the same context.
func TestAnotherRouteMayBeServedInside(t *testing.T) {
	e := echo.New()
	e.Use(limited(t))
	e.GET("/there", ok)
	e.GET("/here", func(c echo.Context) error {
		e.Router().Find(http.MethodGet, "/there", c)
		return c.Handler()(c)
	})
	assert.Equal(t, "ok", send(e, http.MethodGet, "/here").Body.String())
}

// TestWhatIsOutsideSeesWhatTheHandlerHasRead is about loggers, and about files that net/http removes.
func TestWhatIsOutsideSeesWhatTheHandlerHasRead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(t, form.WriteField("name", "value"))
	file, err := form.CreateFormFile("file", "large")
	require.NoError(t, err)
	_, err = file.Write(make([]byte, 11<<20))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	e := echo.New()
	named := make(chan []string, 1)
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			before := c.Request()
			err := next(c)
			named <- []string{before.Form.Get("name"), c.Request().Form.Get("name"), before.PostForm.Get("name")}
			return err
		}
	}, limited(t))
	e.POST("/", func(c echo.Context) error {
		r := c.Request()
		assert.NoError(t, r.ParseMultipartForm(1))
		left, err := os.ReadDir(os.Getenv("TMPDIR"))
		assert.NoError(t, err)
		assert.NotEmpty(t, left)
		return c.NoContent(http.StatusOK)
	})
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	resp, err := srv.Client().Post(srv.URL+"/", form.FormDataContentType(), &body) //nolint:noctx // the test's own
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, []string{"value", "value", "value"}, <-named)
	srv.Close()
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestAHandlerMayOutliveItsRequest has a timeout between two mounts, behind which all goes on when the request is done:
// under the race detector.
func TestAHandlerMayOutliveItsRequest(t *testing.T) {
	store := fixture.Memory(t, nil)
	s := fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1000)), fixture.Slots(t, 1000), fixture.Fleet(t, 1000))
	outer, inner := mounted(s, middleware.Config{}), mounted(s, middleware.Config{})
	var late sync.WaitGroup
	e := echo.New()
	e.Use(outer, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			own := c.Echo().NewContext(c.Request().WithContext(c.Request().Context()), httptest.NewRecorder())
			own.SetPath(c.Path())
			late.Go(func() { assert.NoError(t, next(own)) })
			return c.NoContent(http.StatusServiceUnavailable)
		}
	}, inner)
	e.GET("/", ok)
	for range 200 {
		assert.Equal(t, http.StatusServiceUnavailable, get(e).Code)
	}
	late.Wait()
	assert.Zero(t, store.Fleet().Used)
}

// TestFieldsOfARequestAreItsOwn has a middleware change in place what clients are told.
func TestFieldsOfARequestAreItsOwn(t *testing.T) {
	api, more := fixture.Policy("api", 9), fixture.Policy("more", 5)
	changing := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			for _, field := range []string{"RateLimit-Policy", "RateLimit"} {
				c.Response().Header().Values(field)[0] = "changed"
			}
			return err
		}
	}
	e := serving(changing, mounted(fixture.Limited(t, api), middleware.Config{}), mounted(fixture.Limited(t, more), middleware.Config{}))
	var told [][]string
	e.GET("/told", func(c echo.Context) error {
		h := c.Response().Header()
		told = append(told, append(h.Values("RateLimit-Policy"), h.Values("RateLimit")...))
		h.Add("RateLimit-Policy", "added")
		h.Add("RateLimit", "added")
		return ok(c)
	})
	for range 2 {
		send(e, http.MethodGet, "/told")
	}
	assert.Equal(t, [][]string{
		{`"api";q=9;w=9`, `"more";q=5;w=5`, `"api";r=8;t=1`, `"more";r=4;t=1`},
		{`"api";q=9;w=9`, `"more";q=5;w=5`, `"api";r=7;t=1`, `"more";r=3;t=1`},
	}, told)
}
