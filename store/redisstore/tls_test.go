package redisstore_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// overTLS returns a client as users have it who trust the authority, changed as given.
func overTLS(t *testing.T, url string, trusted *redistest.Authority, change func(o *redis.Options)) *redis.Client {
	t.Helper()
	o, err := redisstore.Options(url)
	require.NoError(t, err)
	o.TLSConfig.RootCAs = trusted.Roots()
	if change != nil {
		change(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestReasonsOfTLS has connections fail over certificates, and over what is no TLS.
func TestReasonsOfTLS(t *testing.T) {
	t.Parallel()
	own, other := redistest.NewAuthority(t), redistest.NewAuthority(t)
	good := own.Certificate(t, time.Hour)
	for name, f := range map[string]struct {
		cert    *redistest.Certificate
		change  func(o *redis.Options)
		arrange func(t *testing.T, server *redistest.Server)
		says    string
		undone  bool
	}{
		"expired":       {own.Certificate(t, -time.Hour), nil, nil, "certificate has expired", true},
		"wrong CA":      {other.Certificate(t, time.Hour), nil, nil, "unknown authority", true},
		"of another":    {good, func(o *redis.Options) { o.TLSConfig.ServerName = "redis.test" }, nil, "to match redis.test", true},
		"wants clients": {good, nil, wantsClients, "certificate required", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartTLS(t, f.cert)
			if f.arrange != nil {
				f.arrange(t, server)
			}
			failsOverTLS(t, openOn(t, overTLS(t, server.URL(), own, f.change)), f.says, f.undone)
		})
	}
	t.Run("no TLS", func(t *testing.T) {
		t.Parallel()
		failsOverTLS(t, openOn(t, overTLS(t, "rediss://"+greets(t), own, nil)), "does not look like a TLS handshake", false)
	})
}

// greets returns the address of a server that says something else than TLS to who connects.
func greets(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { _ = l.Close() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("-ERR max number of clients reached\r\n"))
			all.Go(func() {
				_, _ = io.Copy(io.Discard, conn) // until the client hangs up
				_ = conn.Close()
			})
		}
	})
	return l.Addr().String()
}

// failsOverTLS asserts that a request fails with the reason, and the text.
func failsOverTLS(t *testing.T, s *redisstore.Store, says string, undone bool) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerSecond(1000), 1000)})
		require.ErrorContains(c, err, says)
		require.Equal(c, "tls", reasonOf(err), "%v", err)
		require.Equal(c, undone, seawall.Undone(err), "%v", err)
	}, soon, 5*time.Millisecond)
}

// wantsClients has the server want a certificate of its clients.
func wantsClients(t *testing.T, server *redistest.Server) {
	require.NoError(t, server.Client(t).ConfigSet(t.Context(), "tls-auth-clients", "yes").Err())
}

// TestOverTLS is what works without TLS, too.
func TestOverTLS(t *testing.T) {
	t.Parallel()
	ca := redistest.NewAuthority(t)
	server := redistest.StartTLS(t, ca.Certificate(t, time.Hour))
	s := openOn(t, overTLS(t, server.URL(), ca, nil))
	held, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	require.True(t, apply(t, s, bucket(t, "a", ratelimit.PerDay(1), 1))[0].Admitted)
	require.False(t, apply(t, s, bucket(t, "a", ratelimit.PerDay(1), 1))[0].Admitted)
	holds(t, server.Client(t), leasesKey("a"), 1)
	release(t, s, held)
	holds(t, server.Client(t), leasesKey("a"), 0)
	require.NoError(t, s.Probe(short(t, soon)))
}
