package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
)

// TestASlotBetweenTwoMastersHoldsUpNobodyElse has a move stop half-way, when a caller has leases here and there, which no script
// renews at once.
func TestASlotBetweenTwoMastersHoldsUpNobodyElse(t *testing.T) { // alone: other tests would keep the processors from its callers
	cluster := redistest.StartCluster(t, 3, 0)
	g := asUsers(t, cluster)
	from := g.ordinary(cluster)
	to := but(t, cluster, from.Addr(), g.shared.MasterOf(seawall.FleetKey()))
	moved := at(g.shared, from.Addr(), 1)[0]
	other := lease(t, moved, 1000, 3*time.Second)
	other.Limit = limit(t, concurrency.Name, "other")
	for _, c := range []seawall.Check{lease(t, moved, 1000, 3*time.Second), other} {
		_, ok := take(t, g, c)
		require.True(t, ok)
	}
	source, target := from.Client(t), to.Client(t)
	slot := source.ClusterKeySlot(t.Context(), leasesKey(moved)).Val()
	require.NoError(t, target.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", source.ClusterMyID(t.Context()).Val()).Err())
	require.NoError(t, source.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", target.ClusterMyID(t.Context()).Val()).Err())
	var port int
	_, err := fmt.Sscanf(to.Addr(), "127.0.0.1:%d", &port)
	require.NoError(t, err)
	require.NoError(t, source.Migrate(t.Context(), "127.0.0.1", fmt.Sprint(port), leasesKey(moved), 0, time.Second).Err())
	for i := range 20 {
		_, ok := take(t, g, lease(t, at(g.shared, from.Addr(), 21)[1+i], 10, time.Second))
		require.True(t, ok)
	}
	g.isWell(t, g.callers[from.Addr()], 0, 6*time.Second)
	assert.LessOrEqual(t, g.shared.Lapsed(), uint64(2), "those of the slot")
}
