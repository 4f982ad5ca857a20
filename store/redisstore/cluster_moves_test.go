package redisstore_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

// TestSlotsMoveUnderLoad has the slots of many callers go from master to master and back while they ask, key by key, and all
// masters forget their scripts again and again. Every question is answered, and none is forgotten: not even a burst is lent.
func TestSlotsMoveUnderLoad(t *testing.T) {
	t.Parallel()
	const burst, rounds = 300_000, 3
	cluster := redistest.StartCluster(t, 3, 0)
	cluster.Pause = 20 * time.Millisecond // in which a caller has one key here and one there
	s := openCluster(t, cluster)
	each(t, s, 3)
	callers := make([]string, 8)
	committed := make([]atomic.Int64, len(callers))
	for i := range callers {
		callers[i] = fmt.Sprint("caller", i)
	}
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for ctx.Err() == nil {
				i := rand.IntN(len(callers))
				checks := []seawall.Check{bucket(t, callers[i], ratelimit.PerDay(10), burst), lease(t, callers[i], burst, time.Minute)}
				res, err := s.Apply(short(t, soon), nil, checks)
				if assert.NoError(t, err, callers[i]) && assert.True(t, res[0].Committed) {
					committed[i].Add(1)
					release(t, s, leaseOf(checks[1]))
				}
			}
		})
	}
	clients := mastersOf(t, cluster)
	busy.Go(func() {
		for ctx.Err() == nil {
			for _, c := range clients {
				assert.NoError(t, c.ScriptFlush(t.Context()).Err())
			}
			time.Sleep(5 * time.Millisecond) // between two losses
		}
	})
	for range rounds {
		for _, caller := range callers {
			name := "test:{" + seawall.NewKey(caller).String() + "}:"
			cluster.Move(t, name, cluster.Masters[rand.IntN(3)])
		}
	}
	stop()
	busy.Wait()
	for i, caller := range callers {
		res := apply(t, s, bucket(t, caller, ratelimit.PerDay(10), burst))
		assert.Equal(t, burst-committed[i].Load()-1, res[0].Remaining, caller)
		assert.Greater(t, committed[i].Load(), int64(rounds), "%s asked", caller)
	}
	assertNoLeaseLeft(t, s, clients)
	met := ""
	for _, c := range clients {
		met += c.Info(t.Context(), "errorstats").Val()
	}
	for _, redirection := range []string{"MOVED", "ASK", "TRYAGAIN", "NOSCRIPT"} {
		assert.Contains(t, met, "errorstat_"+redirection+":", "was met")
	}
}

// mastersOf returns a client of each master.
func mastersOf(t *testing.T, cluster *redistest.Cluster) (clients []*redis.Client) {
	t.Helper()
	for _, m := range cluster.Masters {
		clients = append(clients, m.Client(t))
	}
	return clients
}

// assertNoLeaseLeft on any master, soon.
func assertNoLeaseLeft(t *testing.T, s *redisstore.Cluster, masters []*redis.Client) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		assert.Zero(t, s.Held())
		for _, c := range masters {
			keys, err := c.Keys(context.Background(), "*:concurrency*").Result()
			assert.NoError(t, err)
			assert.Empty(t, keys, "leases left")
		}
	}, soon, tick)
}

// TestAClusterOverTLS is asked over TLS alone, also where a slot has gone.
func TestAClusterOverTLS(t *testing.T) {
	t.Parallel()
	authority := redistest.NewAuthority(t)
	cluster := redistest.StartClusterTLS(t, authority.Certificate(t, time.Hour), 3, 0)
	for name, change := range map[string]func(c *tls.Config){
		"the host of the URL": func(*tls.Config) {},
		"each by its own":     func(c *tls.Config) { c.ServerName = "" },
	} {
		t.Run(name, func(t *testing.T) {
			o, err := redisstore.ClusterOptions("rediss://" + cluster.Addrs()[0])
			require.NoError(t, err)
			o.TLSConfig.RootCAs = authority.Roots()
			change(o.TLSConfig)
			client := redis.NewClusterClient(o)
			t.Cleanup(func() { assert.NoError(t, client.Close()) })
			s, err := redisstore.NewCluster(redisstore.Config{Client: client, Namespace: "test"})
			require.NoError(t, err)
			closesWell(t, s)
			for at, caller := range each(t, s, 3) {
				check := bucket(t, name+caller, ratelimit.PerDay(1), 10)
				require.EqualValues(t, 9, apply(t, s, check)[0].Remaining)
				for _, m := range cluster.Masters {
					if m.Addr() != at {
						cluster.Move(t, "test:{"+seawall.NewKey(name+caller).String()+"}:", m)
						break
					}
				}
				require.EqualValues(t, 8, apply(t, s, check)[0].Remaining)
			}
		})
	}
	t.Run("who does not trust it", func(t *testing.T) {
		client, err := redisstore.NewClusterClient("rediss://" + cluster.Addrs()[0])
		require.NoError(t, err)
		defer client.Close()
		s, err := redisstore.NewCluster(redisstore.Config{Client: client, Namespace: "test", Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer s.Close(short(t, soon))       // which fails: it cannot leave
		require.Eventually(t, func() bool { // a busy machine may not end a handshake in time
			_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 10)})
			return seawall.Reason(err) == "tls"
		}, soon, tick)
	})
}
