package bench

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/workershed"
)

// The candidates inside Echo.
const (
	bare     = "bare Echo"
	oursKey  = "Seawall, hashed API key"
	echoRate = "Echo's rate limiter"
)

// fullStack is an Echo middleware with all four layers and telemetry.
func fullStack(t testing.TB, q quota, identify identity.Identify) echo.MiddlewareFunc {
	t.Helper()
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: q.bucket()}}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 20})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 64, Reserve: 0.2})
	require.NoError(t, err)
	workers, err := workershed.New(workershed.Config{Workers: 64})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, workers.Close()) })
	s := memstore.New(memstore.Config{})
	observer, err := telemetry.New(telemetry.Config{
		Registerer: prometheus.NewRegistry(), StoreName: "memory", Workers: workers, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	stack, err := seawall.New(seawall.Config{Store: s, Observer: observer}, workers, rate, slots, fleet)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stack.Close(context.Background())) })
	mw, err := middleware.StackConfig{
		Config: middleware.Config{Identify: identify, Logger: slog.New(slog.DiscardHandler)}, Stack: stack,
	}.ToMiddleware()
	require.NoError(t, err)
	return mw
}

// echoes are the candidates, by name: what stands in front of the handler.
func echoes(t testing.TB, q quota) map[string][]echo.MiddlewareFunc {
	t.Helper()
	callers := make([]seawall.Key, 1024)
	for i, name := range names(len(callers)) {
		callers[i] = seawall.NewKey(name)
	}
	n := 0
	known := func(_ identity.Call, r *seawall.Request) error {
		r.Key, r.Authenticated = callers[n%len(callers)], true
		if q != five {
			n++
		}
		return nil
	}
	h, err := identity.NewHasher(identity.Config{Secret: []byte("a secret of thirty-two bytes, ok")})
	require.NoError(t, err)
	return map[string][]echo.MiddlewareFunc{
		bare:    nil,
		ours:    {fullStack(t, q, known)},
		oursKey: {fullStack(t, q, h.ByAPIKey(identity.APIKey{}))},
		echoRate: {echomw.RateLimiter(echomw.NewRateLimiterMemoryStoreWithConfig(echomw.RateLimiterMemoryStoreConfig{
			Rate: rateOf(q), Burst: int(q.limit), ExpiresIn: time.Hour,
		}))},
	}
}

// passage sends one request through Echo and returns the status.
func passage(mw []echo.MiddlewareFunc) func() int {
	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect()
	e.GET("/v1/charges", func(c echo.Context) error { return c.NoContent(http.StatusOK) }, mw...)
	r := httptest.NewRequest(http.MethodGet, "/v1/charges", http.NoBody)
	r.Header.Set("Authorization", "Bearer sk_live_0123456789abcdef")
	w := &sink{header: http.Header{}}
	return func() int {
		clear(w.header)
		e.ServeHTTP(w, r)
		return w.status
	}
}

// echo is about what a request takes longer with the full stack.
func (b *bench) echo(t *testing.T) {
	for name, mw := range echoes(t, five) {
		send := passage(mw)
		for range 5 {
			require.Equal(t, http.StatusOK, send(), name)
		}
		if name != bare {
			require.Equal(t, http.StatusTooManyRequests, send(), "%s: the sixth request of a caller who may make five", name)
		}
	}
	order := []string{bare, ours, oursKey, echoRate}
	all := echoes(t, inexhaustible)
	allocs := map[string]float64{}
	var subjects []subject
	for _, name := range order {
		send := passage(all[name])
		require.Equal(t, http.StatusOK, send())
		allocs[name] = allocations(2000, func() { send() })
		subjects = append(subjects, subject{name, func(d time.Duration) figures {
			refused, n := 0, 0
			began := time.Now()
			for time.Since(began) < d {
				for range 16 {
					if send() != http.StatusOK {
						refused++
					}
					n++
				}
			}
			took := time.Since(began)
			assert.Zero(t, refused, "%s: nobody is over a limit", name)
			return figures{cost: float64(took.Nanoseconds()) / float64(n)}
		}})
	}
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, subjects...)
	for _, name := range order {
		b.rec.Echo = append(b.rec.Echo, Row{Name: name, Ns: s.of(name, cost), Allocs: allocs[name]})
	}
	peer := &Other{echoRate + ", one limit", s.more(cost, echoRate, bare)}
	b.line(Line{Name: "echo-ns", Ours: s.more(cost, ours, bare), Peer: peer})
	b.line(Line{Name: "echo-allocs", Ours: exactly(allocs[ours] - allocs[bare]), Peer: &Other{peer.Name, exactly(allocs[echoRate] - allocs[bare])}})
	b.line(Line{Name: "echo-key-ns", Ours: s.more(cost, oursKey, bare)})
	b.line(Line{Name: "echo-key-allocs", Ours: exactly(allocs[oursKey] - allocs[bare])})
}

// exactly is a figure that is the same whenever it is counted.
func exactly(x float64) Spread { return spread([]float64{x}) }
