package middleware_test

import (
	"context"
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

// full is Echo behind all four layers on memstore. Its application says who asks, unless by says otherwise.
type full struct {
	stack    *seawall.Stack
	identify identity.Identify
}

func newFull(t testing.TB, p ratelimit.Policy, o seawall.Observer) *full {
	t.Helper()
	cfg := seawall.Config{Store: memstore.New(memstore.Config{Now: time.Now}), Observer: o}
	s := fixture.Stack(t, cfg, fixture.Rate(t, p), fixture.Slots(t, 20), fixture.Fleet(t, 64), fixture.Workers(t, 64))
	one := seawall.NewKey("caller")
	return &full{s, func(_ identity.Call, r *seawall.Request) error { r.Key = one; return nil }}
}

func (f *full) by(id identity.Identify) *full {
	f.identify = id
	return f
}

func (f *full) echo() *echo.Echo {
	return serving(mounted(f.stack, middleware.Config{Identify: f.identify}))
}

// assertAsked asserts that all four layers decide, and that clients are told.
func (f *full) assertAsked(t testing.TB, status int) {
	t.Helper()
	a := f.stack.Admit(context.Background(), &seawall.Request{Key: seawall.NewKey("another")})
	defer a.Done(context.Background())
	var layers []string
	for i, c := range a.Checks() {
		require.True(t, a.Results()[i].Admitted)
		layers = append(layers, c.Limit.Layer())
	}
	require.Equal(t, []string{"workershed", "ratelimit", "concurrency", "fleetshed"}, layers)
	w := get(f.echo())
	require.Equal(t, status, w.Code)
	require.Len(t, w.Header().Values("RateLimit-Policy"), 1)
	require.Len(t, w.Header().Values("RateLimit"), 1)
}

func observed(t testing.TB) seawall.Observer {
	return scrape.Into(t, telemetry.Config{Registerer: prometheus.NewPedanticRegistry()})
}

func plenty() ratelimit.Policy {
	return ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1_000_000), 1_000_000_000)}
}

func little() ratelimit.Policy {
	return ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}
}

// BenchmarkEcho is one request through Echo, bare and behind all four layers on memstore: what Seawall adds
// is the difference.
func BenchmarkEcho(b *testing.B) {
	h := hasher()
	key := h.ByAPIKey(identity.APIKey{})
	for _, c := range []struct {
		name   string
		status int
		of     *full // nil is bare
	}{
		{"bare", http.StatusOK, nil},
		{"identified", http.StatusOK, newFull(b, plenty(), nil)},
		{"address", http.StatusOK, newFull(b, plenty(), nil).by(h.ByAddress())},
		{"key", http.StatusOK, newFull(b, plenty(), nil).by(key)},
		{"identified+telemetry", http.StatusOK, newFull(b, plenty(), observed(b))},
		{"key+telemetry", http.StatusOK, newFull(b, plenty(), observed(b)).by(key)},
		{"refused", http.StatusTooManyRequests, newFull(b, little(), observed(b))},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := serving()
			if c.of != nil {
				e = c.of.echo()
			}
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
			if c.of != nil {
				c.of.assertAsked(b, c.status)
			}
		})
	}
}
