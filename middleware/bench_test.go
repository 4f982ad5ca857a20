package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// sink is a response that keeps its status and headers, and nothing else.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

// BenchmarkEcho is one request through Echo, bare and behind all four layers on memstore: what Seawall adds
// is the difference. Identity is by address unless it says otherwise.
func BenchmarkEcho(b *testing.B) {
	h := hasher()
	one := seawall.NewKey("caller")
	fixed := func(_ identity.Call, r *seawall.Request) error { r.Key = one; return nil }
	observed := func() seawall.Observer {
		return scrape.Into(b, telemetry.Config{Registerer: prometheus.NewPedanticRegistry()})
	}
	full := func(p ratelimit.Policy, o seawall.Observer, id identity.Identify) []echo.MiddlewareFunc {
		cfg := seawall.Config{Store: memstore.New(memstore.Config{Now: time.Now}), Observer: o}
		s := fixture.Stack(b, cfg, fixture.Rate(b, p), fixture.Slots(b, 20), fixture.Fleet(b, 64), fixture.Workers(b, 64))
		return []echo.MiddlewareFunc{mounted(s, middleware.Config{Identify: id})}
	}
	plenty := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1_000_000), 1_000_000_000)}
	little := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}
	for _, c := range []struct {
		name   string
		status int
		mw     func() []echo.MiddlewareFunc
	}{
		{"bare", http.StatusOK, func() []echo.MiddlewareFunc { return nil }},
		{"identified", http.StatusOK, func() []echo.MiddlewareFunc { return full(plenty, nil, fixed) }},
		{"address", http.StatusOK, func() []echo.MiddlewareFunc { return full(plenty, nil, h.ByAddress()) }},
		{"key", http.StatusOK, func() []echo.MiddlewareFunc { return full(plenty, nil, h.ByAPIKey(identity.APIKey{})) }},
		{"identified+telemetry", http.StatusOK, func() []echo.MiddlewareFunc { return full(plenty, observed(), fixed) }},
		{"key+telemetry", http.StatusOK, func() []echo.MiddlewareFunc { return full(plenty, observed(), h.ByAPIKey(identity.APIKey{})) }},
		{"refused", http.StatusTooManyRequests, func() []echo.MiddlewareFunc { return full(little, observed(), fixed) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := serving(c.mw()...)
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("Authorization", "Bearer sk_live_0123456789abcdef")
			w := &sink{header: http.Header{}}
			e.ServeHTTP(w, r)
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				e.ServeHTTP(w, r)
			}
			require.Equal(b, c.status, w.status)
		})
	}
}
