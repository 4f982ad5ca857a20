package abuse

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/workershed"
)

// site is what the command is not: an API in this process, behind a proxy, which also speaks HTTP/2 in plain, lets headers
// of 4 MiB pass, and finds keys wherever a client may put them. Its handlers work ?ms= milliseconds; the site counts them
// by key.
type site struct {
	*api
	running *gauges
}

// limits are those of a site.
type limits struct {
	rate                 ratelimit.Rate
	burst                int64
	inFlight, workers    int64
	tenants, behindProxy bool // who has a tenant, in a header, is known by its plain name
}

func mount(t *testing.T, server *redistest.Server, l limits) *site {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s := &site{api: &api{client: &http.Client{Transport: transport, Timeout: soon}}, running: newGauges()}
	logger := slog.New(slog.NewTextHandler(&s.log, nil))
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(l.rate, l.burst)},
	}})
	require.NoError(t, err)
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: l.inFlight})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: l.workers, Reserve: 0.2})
	require.NoError(t, err)
	workers, err := workershed.New(workershed.Config{Workers: l.workers})
	require.NoError(t, err)
	st, closeClient := s.store(t, server, logger)
	observer, err := telemetry.New(telemetry.Config{Registerer: metrics, Fleet: st.(seawall.Member), Workers: workers, Logger: logger})
	require.NoError(t, err)
	stack, err := seawall.New(seawall.Config{Store: st, Observer: observer}, workers, rate, inFlight, fleet)
	require.NoError(t, err)

	e := echo.New()
	if l.behindProxy {
		e.IPExtractor = echo.ExtractIPFromXFFHeader()
	}
	e.Logger.SetOutput(&s.log)
	e.GET("/metrics", echo.WrapHandler(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})))
	v1 := e.Group("/v1", middleware.StackWithConfig(middleware.StackConfig{Stack: stack, Config: middleware.Config{
		Identify: s.identify(t, l, logger), Tiers: map[string]seawall.Tier{"POST /v1/charges": seawall.Critical}, Logger: logger,
	}}))
	for _, route := range []string{"GET /charges", "POST /charges", "POST /refunds", "GET /reports", "POST /login"} {
		method, path, _ := strings.Cut(route, " ")
		v1.Add(method, path, s.work)
	}
	var speaks http.Protocols
	speaks.SetHTTP1(true)
	speaks.SetUnencryptedHTTP2(true)
	web := &http.Server{
		Handler: e, Protocols: &speaks, MaxHeaderBytes: 4 << 20, ReadHeaderTimeout: soon,
		ErrorLog: log.New(&s.log, "", 0),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.addr = listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		_ = web.Close()
		assert.ErrorIs(t, <-ended, http.ErrServerClosed)
		assert.Eventually(t, func() bool { return s.running.all() == 0 }, soon, 5*time.Millisecond)
		assert.NoError(t, errors.Join(stack.Close(ctx), closeClient()))
		if s.redis != nil {
			assert.Zero(t, held(t, s.redis), "leases that a stopped instance has left")
		}
	})
	s.warm(t)
	return s
}

// store returns a store in memory, or Redis with one to fall back on.
func (s *site) store(t *testing.T, server *redistest.Server, logger *slog.Logger) (st seawall.Store, closeClient func() error) {
	t.Helper()
	embedded := memstore.New(memstore.Config{})
	if server == nil {
		return embedded, func() error { return nil }
	}
	s.redis = server.Client(t)
	client, err := redisstore.NewClient(server.URL())
	require.NoError(t, err)
	shared, err := redisstore.New(redisstore.Config{Client: client, Namespace: "payments", Logger: logger})
	require.NoError(t, err)
	failover, err := store.NewFailover(store.FailoverConfig{Shared: shared, Local: embedded, Logger: logger})
	require.NoError(t, err)
	return failover, client.Close
}

// identify finds keys in several places, and accounts of logins.
func (s *site) identify(t *testing.T, l limits, logger *slog.Logger) identity.Identify {
	t.Helper()
	hasher, err := identity.NewHasher(identity.Config{Logger: logger})
	require.NoError(t, err)
	byKey := hasher.ByAPIKey(identity.APIKey{Credentials: []identity.Credential{
		identity.Bearer, identity.BasicUser, identity.Header("X-API-Key"), identity.Query("key"),
	}})
	identify, err := hasher.WithLogin(byKey, identity.Login{Routes: []string{"/v1/login"}})
	require.NoError(t, err)
	return func(c identity.Call, r *seawall.Request) error {
		if tenant := c.Request().Header.Get("X-Tenant"); l.tenants && tenant != "" {
			r.Key = seawall.NewKey("tenant", tenant, c.Request().Host, c.Request().URL.Path)
			return nil
		}
		return identify(c, r)
	}
}

// work is the handler of all routes.
func (s *site) work(c echo.Context) error {
	caller := c.Request().Header.Get(echo.HeaderAuthorization)
	s.running.add(caller, 1)
	defer s.running.add(caller, -1)
	ms, err := strconv.Atoi(c.QueryParam("ms"))
	if err == nil {
		time.Sleep(time.Duration(ms) * time.Millisecond) // stands for work
	}
	return c.JSON(http.StatusOK, echo.Map{"object": "charge"})
}
