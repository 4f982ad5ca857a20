package sockets

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/workershed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ttl  = 1500 * time.Millisecond
	soon = 10 * time.Second
	// streams is how many a caller may have open; of everything else there is one slot.
	streams = 2
)

// site is a server behind all layers that have slots.
type site struct {
	*httptest.Server
	echo    *echo.Echo
	stack   *seawall.Stack
	workers *workershed.Shedder
	held    func() int64 // leases of all kinds that the store holds
}

// onBothStores runs a test on a store in memory, and on Redis with a Failover in front.
func onBothStores(t *testing.T, run func(t *testing.T, s *site)) {
	t.Run("memory", func(t *testing.T) {
		m := memstore.New(memstore.Config{})
		run(t, newSite(t, m, nil))
	})
	t.Run("redis", func(t *testing.T) {
		server := redistest.Start(t)
		client, err := redisstore.NewClient(server.URL())
		require.NoError(t, err)
		nobody := slog.New(slog.DiscardHandler)
		shared, err := redisstore.New(redisstore.Config{Client: client, Namespace: "streams", Logger: nobody})
		require.NoError(t, err)
		f, err := store.NewFailover(store.FailoverConfig{Shared: shared, Local: memstore.New(memstore.Config{}), Logger: nobody})
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		run(t, newSite(t, f, server.Client(t)))
	})
}

func newSite(t *testing.T, st seawall.Store, c *redis.Client) *site {
	t.Helper()
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: 1, MaxLongLived: streams, TTL: ttl})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 1, TTL: ttl})
	require.NoError(t, err)
	workers, err := workershed.New(workershed.Config{Workers: 1, HardCap: 1})
	require.NoError(t, err)
	s := &site{echo: echo.New(), workers: workers}
	s.stack, err = seawall.New(seawall.Config{Store: st, WaitClosed: time.Second}, inFlight, fleet, workers)
	require.NoError(t, err)
	s.echo.Use(middleware.StackWithConfig(middleware.StackConfig{
		Stack: s.stack, Config: middleware.Config{LongLived: []string{"GET /stream", "GET /socket"}},
	}))
	s.Server = httptest.NewUnstartedServer(s.echo)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		assert.NoError(t, s.stack.Close(ctx))
	})
	s.held = func() int64 { return st.(seawall.Member).Fleet().Used + s.workers.InFlight() }
	if c != nil {
		s.held = func() (n int64) {
			ctx := context.Background()
			keys, err := c.Keys(ctx, "streams:*:*:*").Result()
			assert.NoError(t, err)
			for _, key := range keys {
				if c.Type(ctx, key).Val() == "zset" {
					n += c.ZCard(ctx, key).Val()
				}
			}
			return n + s.workers.InFlight()
		}
	}
	return s
}

// free waits until nothing is held.
func (s *site) free(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return s.held() == 0 }, soon, 5*time.Millisecond)
}
