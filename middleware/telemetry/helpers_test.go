package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mounted mounts a stack. Callers are hasher's addresses, if nothing else is said.
func mounted(t testing.TB, s *seawall.Stack, id identity.Identify) echo.MiddlewareFunc {
	t.Helper()
	if id == nil {
		id = fixture.Hasher(t).ByAddress()
	}
	return middleware.StackWithConfig(middleware.StackConfig{Stack: s, Config: middleware.Config{Identify: id}})
}

// behind is an Echo whose GET / answers "ok", behind the given layers of one stack.
func behind(t testing.TB, cfg seawall.Config, layers ...seawall.Layer) *echo.Echo {
	t.Helper()
	return serving(mounted(t, fixture.Stack(t, cfg, layers...), nil))
}

// serving is an Echo whose GET / answers "ok" behind the given middleware.
func serving(mw ...echo.MiddlewareFunc) *echo.Echo {
	e := echo.New()
	e.Use(mw...)
	e.GET("/", ok)
	return e
}

func ok(c echo.Context) error { return c.String(http.StatusOK, "ok") }

func get(h http.Handler) *httptest.ResponseRecorder {
	return do(h, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
