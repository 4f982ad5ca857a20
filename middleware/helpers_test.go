package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/workershed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands still unless it is told to go on.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time        { return time.Unix(1_800_000_000, c.nanos.Load()) }
func (c *clock) after(d time.Duration) { c.nanos.Add(int64(d)) }

// memory returns a store whose time is c's; nil stands still.
func memory(t testing.TB, c *clock) *memstore.Store {
	t.Helper()
	if c == nil {
		c = new(clock)
	}
	m := memstore.New(memstore.Config{Now: c.now})
	t.Cleanup(func() { require.NoError(t, m.Close(context.Background())) })
	return m
}

// broken is a store that fails.
type broken struct{ err error }

func (s broken) Apply(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	return dst, s.err
}

func (s broken) Release(context.Context, ...seawall.Lease) error { return s.err }

// counting is a store that counts how often it is asked.
type counting struct {
	seawall.Store
	asked atomic.Int64
}

func (s *counting) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.asked.Add(1)
	return s.Store.Apply(ctx, dst, checks)
}

// policy is a bucket of so many tokens that refills one a second.
func policy(name string, burst int64) ratelimit.Policy {
	return ratelimit.Policy{Name: name, Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), burst)}
}

func rate(t testing.TB, policies ...ratelimit.Policy) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	return l
}

func slots(t testing.TB, n int64) *concurrency.Limiter {
	t.Helper()
	l, err := concurrency.New(concurrency.Config{MaxInFlight: n})
	require.NoError(t, err)
	return l
}

func fleet(t testing.TB, n int64) *fleetshed.Shedder {
	t.Helper()
	s, err := fleetshed.New(fleetshed.Config{Workers: n})
	require.NoError(t, err)
	return s
}

// workers returns a shedder whose hard cap is n, and that never sheds by level.
func workers(t testing.TB, n int64) *workershed.Shedder {
	t.Helper()
	s, err := workershed.New(workershed.Config{Workers: n, HardCap: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Close())
	return s
}

// drown takes all of a shedder's workers until the test has ended.
func drown(t testing.TB, s *workershed.Shedder, n int64) {
	t.Helper()
	for range n {
		_, ticket := s.Enter(&seawall.Request{Tier: seawall.Critical}, seawall.Enforce)
		t.Cleanup(func() { s.Leave(ticket) })
	}
}

func stack(t testing.TB, cfg seawall.Config, layers ...seawall.Layer) *seawall.Stack {
	t.Helper()
	s, err := seawall.New(cfg, layers...)
	require.NoError(t, err)
	return s
}

// behind is an Echo whose GET and POST / answer "ok", behind the given layers of one stack.
func behind(t testing.TB, cfg seawall.Config, layers ...seawall.Layer) *echo.Echo {
	t.Helper()
	return serving(mounted(stack(t, cfg, layers...), middleware.Config{}))
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
