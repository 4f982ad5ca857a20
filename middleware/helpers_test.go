package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting is a store that counts how often it is asked.
type counting struct {
	seawall.Store
	asked atomic.Int64
}

func (s *counting) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.asked.Add(1)
	return s.Store.Apply(ctx, dst, checks)
}

// behind is an Echo whose GET and POST / answer "ok", behind the given layers of one stack.
func behind(t testing.TB, cfg seawall.Config, layers ...seawall.Layer) *echo.Echo {
	t.Helper()
	return serving(mounted(fixture.Stack(t, cfg, layers...), middleware.Config{}))
}

// serving is an Echo whose GET and POST / answer "ok" behind the given middleware.
func serving(mw ...echo.MiddlewareFunc) *echo.Echo {
	e := echo.New()
	e.Use(mw...)
	e.GET("/", ok)
	e.HEAD("/", ok)
	e.POST("/", ok)
	return e
}

func ok(c echo.Context) error { return c.String(http.StatusOK, "ok") }

func send(h http.Handler, method, path string) *httptest.ResponseRecorder {
	return do(h, httptest.NewRequest(method, path, http.NoBody))
}

func get(h http.Handler) *httptest.ResponseRecorder { return send(h, http.MethodGet, "/") }

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// hold keeps a request of another caller in flight until the test has ended.
func hold(t testing.TB, s *seawall.Stack, key seawall.Key) {
	t.Helper()
	a := s.Admit(t.Context(), &seawall.Request{Key: key})
	require.False(t, a.Decision().Denied)
	t.Cleanup(func() { a.Done(context.Background()) })
}

// client is the key of the address that httptest's requests come from.
func client() seawall.Key { return hasher().Key("addr", "192.0.2.1") }

// hasher hashes by the secret of the tests.
func hasher() *identity.Hasher {
	h, err := identity.NewHasher(identity.Config{Secret: []byte("a secret of thirty-two bytes, ok")})
	if err != nil {
		panic(err)
	}
	return h
}

// mounted mounts a stack. Callers are hasher's addresses, if nothing else is said.
func mounted(s *seawall.Stack, cfg middleware.Config) echo.MiddlewareFunc {
	if cfg.Identify == nil {
		cfg.Identify = hasher().ByAddress()
	}
	return middleware.StackWithConfig(middleware.StackConfig{Stack: s, Config: cfg})
}
