package echov5_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v5"
	echomw "github.com/labstack/echo/v5/middleware"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/echov5"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// memory returns a store whose clock stands still.
func memory(t testing.TB) *memstore.Store {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	m := memstore.New(memstore.Config{Now: func() time.Time { return now }})
	t.Cleanup(func() { require.NoError(t, m.Close(context.Background())) })
	return m
}

// rate is a limiter with a bucket of so many tokens that refills one a second.
func rate(t testing.TB, burst int64) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), burst)},
	}})
	require.NoError(t, err)
	return l
}

// limited mounts such a bucket.
func limited(t testing.TB, burst int64, cfg echov5.Config) echo.MiddlewareFunc {
	t.Helper()
	s, err := seawall.New(seawall.Config{Store: memory(t)}, rate(t, burst))
	require.NoError(t, err)
	if cfg.Identify == nil {
		cfg.Identify = asCaller
	}
	return echov5.StackWithConfig(echov5.StackConfig{Config: cfg, Stack: s})
}

func asCaller(_ identity.Call, r *seawall.Request) error {
	r.Key = seawall.NewKey("caller")
	return nil
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
