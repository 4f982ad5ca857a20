//go:build unix

package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := StartSentinel(t)
	o, err := redis.ParseFailoverURL(s.URL())
	require.NoError(t, err)
	assert.Equal(t, s.Addrs(), o.SentinelAddrs)
	assert.Len(t, s.Sentinels(), 3)

	first := s.Master(t)
	assert.Equal(t, "master", first.Role())
	replicas := s.Replicas(t)
	require.Len(t, replicas, 2)
	for _, replica := range replicas {
		assert.Equal(t, "slave", replica.Role())
	}
	require.NoError(t, first.Client(t).Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, first.Client(t).Wait(t.Context(), 2, opTimeout).Err())

	first.Kill()
	assert.Empty(t, first.Role())
	second := s.NextMaster(t, first)
	assert.Contains(t, replicas, second)
	assert.Equal(t, "v", second.Client(t).Get(t.Context(), "k").Val())

	second.Stop()
	third := s.NextMaster(t, second)
	assert.NotEqual(t, first, third)
	assert.Equal(t, "v", third.Client(t).Get(t.Context(), "k").Val())
}

func TestSentinelsEndWithTheirTest(t *testing.T) {
	t.Parallel()
	var s *Sentinel
	t.Run("started", func(t *testing.T) { s = StartSentinel(t) })
	for _, server := range append(s.servers, s.sentinels...) {
		assert.True(t, gone(pid(server)))
		assert.NoDirExists(t, server.dir)
	}
}
