package redisstore_test

import (
	"context"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// secretOf is a store's secret as Redis has it.
func secretOf(s *redisstore.Store) string { return hex.EncodeToString(bits(s)) }

func bits(s *redisstore.Store) []byte {
	b := s.Secret().Bits()
	return b[:]
}

// agree waits until Redis and all the stores have one secret, and returns it.
func agree(t *testing.T, c redis.UniversalClient, all ...*redisstore.Store) (stored string) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		stored = c.Get(context.Background(), secretKey).Val()
		require.Len(t, stored, 64)
		for _, s := range all {
			require.Equal(t, stored, secretOf(s))
		}
	}, soon, 5*time.Millisecond)
	return stored
}

func TestInstancesAgreeOnASecret(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	stores := make([]*redisstore.Store, 10)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() { stores[i] = tuned(t, c, beat, memberTTL, 0, 0) })
	}
	all.Wait()
	for _, s := range stores {
		closeAtEnd(t, s)
	}
	first := agree(t, c, stores...)
	same := stores[0].Secret()

	require.NoError(t, c.FlushAll(t.Context()).Err())
	assert.Equal(t, first, agree(t, c, stores...), "who has lost nothing tells Redis again")
	assert.Equal(t, same.Bits(), stores[0].Secret().Bits(), "and it is no other secret")

	for _, broken := range []string{"", "short", first[:63] + "X", first + "0"} {
		require.NoError(t, c.Set(t.Context(), secretKey, broken, 0).Err())
		assert.Equal(t, first, agree(t, c, stores...))
	}
	require.NoError(t, c.Del(t.Context(), secretKey).Err())
	_, err := c.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
		pipe.Del(t.Context(), secretKey)
		pipe.RPush(t.Context(), secretKey, "x")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, first, agree(t, c, stores...))

	other := hex.EncodeToString(make([]byte, 32))
	require.NoError(t, c.Set(t.Context(), secretKey, other, 0).Err()) // such as a replica's that was promoted
	assert.Equal(t, other, agree(t, c, stores...))

	late := tuned(t, c, beat, memberTTL, 1, 0)
	closeAtEnd(t, late)
	assert.Equal(t, other, secretOf(late), "from its first heartbeat on, which is when it is announced")
}

func TestUntilRedisIsReachedASecretIsTemporary(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	stored := hex.EncodeToString(make([]byte, 32))
	require.NoError(t, c.Set(t.Context(), secretKey, stored, 0).Err())
	server.Stop()
	s, err := redisstore.NewTuned(redisstore.Config{Client: c, Namespace: "test"}, beat, memberTTL)
	require.NoError(t, err)
	closeAtEnd(t, s)
	before := secretOf(s)
	assert.NotEqual(t, stored, before)
	time.Sleep(5 * beat) // heartbeats that fail
	assert.Equal(t, before, secretOf(s))
	server.Cont()
	assert.Equal(t, stored, agree(t, c, s))
}
