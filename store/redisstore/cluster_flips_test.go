package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// flipping is a client of one server that passes for several, of which any has any slot, others each time that it is asked.
func flipping(t *testing.T, addr string, pods int) *redis.ClusterClient {
	t.Helper()
	o, err := redisstore.ClusterOptions("redis://" + addr)
	require.NoError(t, err)
	o.ClusterSlots = func(context.Context) (slots []redis.ClusterSlot, _ error) {
		const each = 1024
		for from := 0; from < 16384; from += each {
			pod := fmt.Sprintf("pod%d:6379", rand.IntN(pods))
			slots = append(slots, redis.ClusterSlot{Start: from, End: from + each - 1, Nodes: []redis.ClusterNode{{Addr: pod}}})
		}
		return slots, nil
	}
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, addr) }
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

// TestNoReleaseIsLostWhereSlotsFlip while lanes begin and end all the time, and leases are renewed.
func TestNoReleaseIsLostWhereSlotsFlip(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 1, 0)
	client := flipping(t, cluster.Addrs()[0], 40)
	s, err := redisstore.NewForgetfulCluster(redisstore.Config{Client: client, Namespace: "test", Logger: slog.New(slog.DiscardHandler)}, 50*time.Millisecond)
	require.NoError(t, err)
	closesWell(t, s)
	require.Eventually(t, func() bool { return s.MasterOf(seawall.FleetKey()) != "" }, soon, tick)
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
	defer stop()
	var busy sync.WaitGroup
	var taken, failed atomic.Int64
	for i := range 16 {
		busy.Go(func() {
			for ctx.Err() == nil {
				caller := fmt.Sprint("caller", rand.IntN(64))
				checks := []seawall.Check{lease(t, caller, 1000, time.Second)}
				shard := s.Shard(checks[0].Key)
				_, err := shard.Apply(short(t, soon), nil, checks)
				if err != nil {
					failed.Add(1)
				}
				taken.Add(1)
				if i%4 == 0 {
					time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) // it is served, and renewed
				} else {
					time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // between what comes at once
				}
				l := leaseOf(checks[0])
				l.Last = true
				if rand.IntN(2) == 0 {
					err = s.Release(short(t, soon), l)
				} else {
					err = shard.Release(short(t, soon), l)
				}
				assert.NoError(t, err)
			}
		})
	}
	busy.Go(func() {
		for ctx.Err() == nil {
			client.ReloadState(ctx)
			time.Sleep(10 * time.Millisecond) // the client takes its time, too
		}
	})
	busy.Wait()
	t.Log("taken", taken.Load(), "failed", failed.Load(), "lapsed", s.Lapsed(), "held", s.Held(), "lanes", s.Lanes())
	assert.Greater(t, taken.Load(), int64(300))
	require.Eventually(t, func() bool { return s.Held() == 0 && s.Queued() == 0 }, soon, tick)
	assertNoLeaseLeft(t, s, mastersOf(t, cluster))
}
