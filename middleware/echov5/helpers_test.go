package echov5_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"
	echomw "github.com/labstack/echo/v5/middleware"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/echov5"
)

// limited mounts such a bucket.
func limited(t testing.TB, burst int64, cfg echov5.Config) echo.MiddlewareFunc {
	t.Helper()
	s, err := seawall.New(seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", burst)))
	require.NoError(t, err)
	if cfg.Identify == nil {
		cfg.Identify = fixture.AsCaller
	}
	return echov5.StackWithConfig(echov5.StackConfig{Config: cfg, Stack: s})
}

// serving is an Echo whose GET, HEAD and POST / answer "ok" behind the given middleware.
func serving(mw ...echo.MiddlewareFunc) *echo.Echo {
	e := echo.New()
	e.Use(mw...)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		e.Add(method, "/", ok)
	}
	return e
}

func ok(c *echo.Context) error { return c.String(http.StatusOK, "ok") }

func quietRecover() echo.MiddlewareFunc {
	return echomw.RecoverWithConfig(echomw.RecoverConfig{DisablePrintStack: true})
}

func send(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return w
}

func get(h http.Handler) *httptest.ResponseRecorder { return send(h, http.MethodGet, "/") }

// members are those of a JSON object.
func members(t *testing.T, w *httptest.ResponseRecorder) (m map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &m), w.Body.String())
	return m
}
