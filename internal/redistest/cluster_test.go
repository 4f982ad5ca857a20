//go:build unix

package redistest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall/internal/redistest"
)

// TestCluster writes keys through a client of the cluster, moves one, and loses a master that has a replica.
func TestCluster(t *testing.T) {
	t.Cleanup(func() { // last of all
		left := goleak.Find() // for half a second
		for began := time.Now(); left != nil && time.Since(began) < 20*time.Second; left = goleak.Find() {
		}
		assert.NoError(t, left, "a client's last dial ends")
	})
	cluster := redistest.StartCluster(t, 3, 1)
	require.Len(t, cluster.Addrs(), 6)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs(), DialerRetries: 1})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	ctx := context.Background()
	at := map[*redistest.Server]int{}
	for i := range 30 {
		key := fmt.Sprint("key", i)
		require.NoError(t, client.Set(ctx, key, i, 0).Err())
		at[cluster.Holder(t, cluster.Masters[0], key)]++
	}
	for _, m := range cluster.Masters {
		assert.Positive(t, at[m], "each master has some of the keys: %v", at)
	}

	from := cluster.Holder(t, cluster.Masters[0], "key7")
	to := cluster.Masters[0]
	if from == to {
		to = cluster.Masters[1]
	}
	cluster.Move(t, "key7", to)
	assert.Same(t, to, cluster.Holder(t, to, "key7"))
	assert.Equal(t, "7", client.Get(ctx, "key7").Val())
	assert.ErrorContains(t, from.Client(t).Get(ctx, "key7").Err(), "MOVED")

	to.Kill()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		client.ReloadState(ctx) // which it does every ten seconds by itself
		assert.Equal(t, "7", client.Get(ctx, "key7").Val())
	}, 20*time.Second, 50*time.Millisecond, "its replica takes over")
}
