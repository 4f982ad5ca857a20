package redisstore_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
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

// silent is a Sentinel that names a master when it is asked, and never tells of another on its own: what it had to say of
// a failover was lost.
type silent struct {
	listener net.Listener
	master   atomic.Value // its address
	mu       sync.Mutex
	conns    []net.Conn
	all      sync.WaitGroup
}

func startSilent(t *testing.T, master *redistest.Server) *silent {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &silent{listener: l}
	s.master.Store(master.Addr())
	s.all.Go(s.accept)
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, conn := range s.conns {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.all.Wait()
	})
	return s
}

func (s *silent) url() string { return "redis://" + s.listener.Addr().String() + "?master_name=m" }

func (s *silent) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.all.Go(func() {
			r := bufio.NewReader(conn)
			for {
				words, err := command(r)
				if err == nil {
					_, err = io.WriteString(conn, s.answer(words))
				}
				if err != nil {
					return
				}
			}
		})
	}
}

func (s *silent) answer(words []string) string {
	switch strings.ToLower(strings.Join(words[:min(2, len(words))], " ")) {
	case "sentinel get-master-addr-by-name":
		host, port, _ := net.SplitHostPort(s.master.Load().(string))
		return array(host, port)
	case "sentinel sentinels":
		return array()
	}
	switch strings.ToLower(words[0]) {
	case "hello":
		return "-ERR unknown command\r\n"
	case "ping":
		return array("pong", "")
	case "subscribe":
		var b strings.Builder
		for i, channel := range words[1:] {
			fmt.Fprintf(&b, "*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:%d\r\n", len(channel), channel, i+1)
		}
		return b.String()
	}
	return "+OK\r\n"
}

func array(texts ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(texts))
	for _, text := range texts {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(text), text)
	}
	return b.String()
}

// TestNoConnectionStaysWithADemotedMaster has a master become a replica that closes no connection, and nobody tell the
// store so. Whether it is asked or not, within two seconds it has no connection to it any more.
func TestNoConnectionStaysWithADemotedMaster(t *testing.T) {
	t.Parallel()
	for name, asking := range map[string]bool{"idle": false, "under load": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, next := redistest.Start(t, "--repl-diskless-sync-delay", "0"), redistest.Start(t, "--repl-diskless-sync-delay", "0")
			sentinel := startSilent(t, old)
			c, err := redisstore.NewSentinelClient(sentinel.url())
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, c.Close()) })
			s := openOn(t, c)
			ask := func() error {
				_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerSecond(1000), 1_000_000)})
				return err
			}
			require.Eventually(t, func() bool { return ask() == nil }, soon, time.Millisecond)
			idle(t, c, 4)

			admin := old.Client(t)
			_, port, err := net.SplitHostPort(next.Addr())
			require.NoError(t, err)
			assert.GreaterOrEqual(t, visitors(t, admin), 4)
			same := admin.ClientID(t.Context()).Val()
			demoted := time.Now()
			require.NoError(t, admin.ReplicaOf(t.Context(), "127.0.0.1", port).Err())
			assert.Equal(t, same, admin.ClientID(t.Context()).Val(), "it closes no connection")
			sentinel.master.Store(next.Addr())
			require.Eventually(t, func() bool {
				if asking {
					_ = ask()
				}
				return visitors(t, admin) == 0
			}, soon, 5*time.Millisecond)
			took := time.Since(demoted)
			t.Logf("%s: gone after %v", name, took)
			assert.Less(t, took, 2*time.Second)
			require.NoError(t, ask())
			assert.Positive(t, next.CommandCalls(t, "evalsha")+next.CommandCalls(t, "eval"))
		})
	}
}

// idle has a client keep so many connections.
func idle(t *testing.T, c *redis.Client, n int) {
	t.Helper()
	var conns []*redis.Conn
	for range n {
		conn := c.Conn() // which nobody else uses until it is closed
		require.NoError(t, conn.Ping(t.Context()).Err())
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
}

// visitors is how many connections a server has but admin's.
func visitors(t *testing.T, admin *redis.Client) int {
	t.Helper()
	list, err := admin.Do(t.Context(), "client", "list", "type", "normal").Text()
	require.NoError(t, err)
	return strings.Count(list, "\n") - int(admin.PoolStats().TotalConns)
}
