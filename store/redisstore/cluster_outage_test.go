package redisstore_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// guarded is a Failover in front of a store on a cluster.
type guarded struct {
	*store.Failover
	shared  *redisstore.Cluster
	callers map[string]string // one of each master, by its address
}

func openGuarded(t *testing.T, cluster *redistest.Cluster) *guarded {
	t.Helper()
	return guard(t, cluster, clusterClient(t, cluster))
}

func guard(t *testing.T, cluster *redistest.Cluster, client *redis.ClusterClient) *guarded {
	t.Helper()
	shared, err := redisstore.NewCluster(redisstore.Config{Client: client, Namespace: "test", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	failover, err := store.NewFailover(store.FailoverConfig{
		Shared: shared, Local: memstore.New(memstore.Config{}), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	closesWell(t, failover)
	failover.Join(100)
	g := &guarded{failover, shared, each(t, shared, len(cluster.Masters))}
	for _, caller := range g.callers {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			results := g.ask(t, caller)
			assert.False(c, results[0].Fallback || results[1].Fallback)
		}, soon, tick)
	}
	return g
}

// ask makes a request about a caller and the fleet, which is admitted.
func (g *guarded) ask(t *testing.T, caller string) []seawall.Result {
	t.Helper()
	checks := []seawall.Check{bucket(t, caller, ratelimit.PerSecond(1_000_000), 1_000_000), slot(t, 100, 0.2)}
	results, _ := g.Apply(short(t, soon), nil, checks)
	require.Len(t, results, 2)
	for i := range checks {
		assert.True(t, results[i].Admitted)
	}
	if results[1].Committed {
		release(t, g, leaseOf(checks[1]))
	}
	return results
}

// ordinary is a master that does not have the fleet.
func (g *guarded) ordinary(c *redistest.Cluster) *redistest.Server {
	if c.Masters[0].Addr() == g.shared.MasterOf(seawall.FleetKey()) {
		return c.Masters[1]
	}
	return c.Masters[0]
}

// lose kills a master, and waits until it is given up.
func (g *guarded) lose(t *testing.T, master *redistest.Server) {
	t.Helper()
	master.Kill()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		g.ask(t, g.callers[master.Addr()])
		assert.True(c, g.Open())
	}, soon, tick)
}

// back waits until the master's callers are decided by Redis again.
func (g *guarded) back(t *testing.T, master *redistest.Server) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.False(c, g.ask(t, g.callers[master.Addr()])[0].Fallback)
	}, soon, tick)
}

// TestALostMasterIsGivenUpAlone kills one of three. Requests are also about the fleet, which is at one of the others.
func TestALostMasterIsGivenUpAlone(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	g := openGuarded(t, cluster)
	lost := g.ordinary(cluster)
	g.lose(t, lost)
	for range 50 {
		for at, caller := range g.callers {
			results := g.ask(t, caller)
			assert.Equal(t, at == lost.Addr(), results[0].Fallback, at)
			assert.False(t, results[1].Fallback, "the fleet is elsewhere")
		}
	}
	for name, givenUp := range g.Shards() {
		assert.Equal(t, strings.HasSuffix(name, lost.Addr()), givenUp, name)
	}
	assert.Len(t, g.Shards(), 3)
	lost.Restart(t)
	g.back(t, lost)
	require.Eventually(t, func() bool { return !g.Open() }, soon, tick)
}

// TestAReplicaTakesOver for a master that is killed: its callers are decided there from then on.
func TestAReplicaTakesOver(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 1)
	g := openGuarded(t, cluster)
	lost := g.ordinary(cluster)
	g.lose(t, lost)
	g.back(t, lost)
	now := g.shared.MasterOf(seawall.NewKey(g.callers[lost.Addr()]))
	assert.NotEqual(t, lost.Addr(), now)
	assert.Contains(t, cluster.Addrs(), now)
}
