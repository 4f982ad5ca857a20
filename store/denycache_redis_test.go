package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// TestWhoIsExhaustedCostsRedisNothing has a cache where it belongs: in front of a Failover on Redis.
func TestWhoIsExhaustedCostsRedisNothing(t *testing.T) {
	server := redistest.Start(t)
	client, err := redisstore.NewClient(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	shared, err := redisstore.New(redisstore.Config{Client: client, Namespace: "test"})
	require.NoError(t, err)
	const wait = 10 * time.Second // however slow this machine is
	both, err := store.NewFailover(store.FailoverConfig{Shared: shared, Local: memstore.New(memstore.Config{})})
	require.NoError(t, err)
	c, err := store.NewDenyCache(store.DenyCacheConfig{Store: both, MaxAge: wait})
	require.NoError(t, err)
	rates, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 3)}}})
	require.NoError(t, err)
	var seen seawalltest.Recorder
	stack, err := seawall.New(seawall.Config{Store: c, Wait: wait, WaitClosed: wait, Observer: &seen}, rates)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stack.Close(context.Background())) })

	request := func() {
		stack.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")}).Done(t.Context())
	}
	for range 4 {
		request()
	}
	require.Equal(t, 3, seen.Count("ratelimit", seawall.Allowed))
	require.Equal(t, 1, seen.Count("ratelimit", seawall.Denied))
	server.ResetStat(t)
	began := time.Now()
	for range 1000 {
		request()
	}
	assert.Equal(t, 1001, seen.Count("ratelimit", seawall.Denied))
	assert.EqualValues(t, 1000, c.Saved())
	heartbeats := 4 * (int64(time.Since(began)/time.Second) + 2)
	assert.LessOrEqual(t, server.CommandCalls(t, "evalsha"), heartbeats)
	assert.Empty(t, seen.Fallbacks())
}
