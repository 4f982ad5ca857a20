package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
)

// # Identity, keys, memory

func TestPeer_envoy_ratelimit_partsOfAKeyDoNotRunIntoEachOther(t *testing.T) { // 56
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		c := spends(t, "", ratelimit.TokenBucket(ratelimit.PerDay(1), 1))
		h, err := identity.NewHasher(identity.Config{Secret: []byte("a secret of thirty-two bytes, ok")})
		require.NoError(t, err)
		for _, parts := range [][]string{
			{"user", "a_path_b"}, {"user", "a", "path", "b"}, {"user_a", "path_b"}, {"user", "a_path", "b"}, {"user", "a", "path_b"}, {"user_a_path_b"},
		} {
			for _, key := range []seawall.Key{seawall.NewKey(parts...), h.Key("login", parts...)} {
				c.Key = key
				assert.True(t, apply(t, f, c)[0].Admitted, "%q have a bucket of their own", parts)
				assert.False(t, apply(t, f, c)[0].Admitted, "%q", parts)
			}
		}
	})
}

func TestPeer_envoy_ratelimit_noTokenIsStored(t *testing.T) { // 56
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	const token = "sk_live_canary"
	check := spends(t, "", ratelimit.TokenBucket(ratelimit.PerDay(1), 1))
	h, err := identity.NewHasher(identity.Config{Shared: s})
	require.NoError(t, err)
	check.Key = h.Key("key", token)
	slot := lease(t, "", 1, time.Minute)
	slot.Key = check.Key
	require.True(t, apply(t, s, check, slot)[1].Committed)
	keys := client.Keys(t.Context(), "*").Val()
	require.GreaterOrEqual(t, len(keys), 2)
	for _, key := range keys {
		assert.NotContains(t, strings.ToLower(key), "canary")
		assert.NotContains(t, strings.ToLower(client.Dump(t.Context(), key).Val()), "canary", key)
	}
}
