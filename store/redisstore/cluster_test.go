package redisstore_test

import (
	"context"
	"fmt"
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
	"github.com/seawall-go/seawall/store/storetest"
)

// clusterClient returns a client of the cluster.
func clusterClient(t testing.TB, c *redistest.Cluster) *redis.ClusterClient {
	t.Helper()
	url := "redis://" + c.Addrs()[0] + "?read_timeout=5s"
	for _, addr := range c.Addrs()[1:] {
		url += "&addr=" + addr
	}
	client, err := redisstore.NewClusterClient(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

// clusterOpener is opener on a cluster.
func clusterOpener(t *testing.T, cluster *redistest.Cluster, names *redisstore.Compact) storetest.Open {
	t.Helper()
	var namespaces atomic.Int64
	return func(t *testing.T) storetest.Subject {
		var now atomic.Int64
		now.Store(start.UnixNano())
		s, err := redisstore.NewSteppedCluster(redisstore.Config{
			Client:    clusterClient(t, cluster),
			Namespace: fmt.Sprintf("test-%d", namespaces.Add(1)),
			Compact:   names,
		}, func() time.Time { return time.Unix(0, now.Load()) })
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
		return storetest.Subject{Store: s, Advance: func(d time.Duration) { now.Add(int64(d)) }, Renew: s.Renew}
	}
}

func TestClusterConformance(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	storetest.Run(t, clusterOpener(t, cluster, nil))
	t.Run("compact names", func(t *testing.T) { storetest.Run(t, clusterOpener(t, cluster, compact())) })
}

// each is a caller at every master, by its address.
func each(t *testing.T, s *redisstore.Cluster, masters int) map[string]string {
	t.Helper()
	callers := map[string]string{}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		clear(callers)
		for i := range 100 {
			name := fmt.Sprint("caller", i)
			if at := s.MasterOf(seawall.NewKey(name)); at != "" && callers[at] == "" {
				callers[at] = name
			}
		}
		assert.Len(t, callers, masters)
	}, soon, tick, "its heartbeat finds the masters")
	return callers
}

type closer interface {
	Close(ctx context.Context) error
}

// closesWell closes a store when the test ends, which succeeds.
func closesWell(t *testing.T, s closer) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		assert.NoError(t, s.Close(ctx))
	})
}

// openCluster is a store on a cluster, by its own clock.
func openCluster(t *testing.T, cluster *redistest.Cluster) *redisstore.Cluster {
	t.Helper()
	s, err := redisstore.NewCluster(redisstore.Config{Client: clusterClient(t, cluster), Namespace: "test"})
	require.NoError(t, err)
	closesWell(t, s)
	return s
}

// TestAMasterThatHangsHoldsUpItsOwnCallersOnly freezes one of three.
func TestAMasterThatHangsHoldsUpItsOwnCallersOnly(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	s := openCluster(t, cluster)
	callers := each(t, s, 3)
	ask := func(caller string, wait time.Duration) error {
		_, err := s.Apply(short(t, wait), nil, []seawall.Check{bucket(t, caller, ratelimit.PerSecond(1_000_000), 1_000_000), lease(t, caller, 1000, time.Minute)})
		return err
	}
	for _, caller := range callers {
		require.NoError(t, ask(caller, soon))
	}
	frozen := cluster.Masters[0]
	frozen.Stop()
	defer frozen.Cont()
	for range 20 {
		assert.Error(t, ask(callers[frozen.Addr()], 10*time.Millisecond))
		for at, caller := range callers {
			if at != frozen.Addr() {
				assert.NoError(t, ask(caller, soon), at)
			}
		}
	}
}
