package redisstore_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// bucketTimes returns, at one moment, how long the key lives and how long until the bucket is full, in ms.
var bucketTimes = redis.NewScript(`
local time = redis.call('TIME')
local us = (tonumber(string.sub(redis.call('GET', KEYS[1]), 1, -4)) - time[1] * 1e6 - time[2])
return {redis.call('PTTL', KEYS[1]), math.ceil(us / 1e3)}`)

func TestBucketKeysLiveUntilFullAndNoPeriodLonger(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	for i, k := range []struct {
		rate  ratelimit.Rate
		burst int64
	}{
		{ratelimit.PerSecond(10), 20},
		{ratelimit.PerSecond(3), 7},
		{ratelimit.PerSecond(1_000_000), 1_000_000_000},
		{ratelimit.PerDay(1), 1},
		{ratelimit.Rate{Count: 1, Per: 30 * 24 * time.Hour}, 1217},
	} {
		caller := fmt.Sprintf("caller-%d", i)
		check := bucket(t, caller, k.rate, k.burst)
		full := check.Rule.(ratelimit.Rule).Window().Milliseconds() + 100 // a machine may be away between two readings of its clock
		for n := range min(k.burst, 5) {
			require.True(t, apply(t, s, check)[0].Committed)
			times, err := bucketTimes.Run(t.Context(), c, []string{bucketKey(caller)}).Int64Slice()
			require.NoError(t, err)
			assert.GreaterOrEqual(t, times[0], times[1], "%v of %d, request %d: gone before it is full", k.rate, k.burst, n)
			assert.LessOrEqual(t, times[0], times[1]+full, "%v of %d, request %d: lives too long", k.rate, k.burst, n)
		}
		assert.Equal(t, "int", c.ObjectEncoding(t.Context(), bucketKey(caller)).Val(), "%v of %d", k.rate, k.burst)
	}
}

func TestLeaseKeysLiveForTheTTLOfTheLast(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	const ttl = time.Minute
	for range 3 {
		before := time.Now()
		_, ok := take(t, s, lease(t, "a", 3, ttl))
		require.True(t, ok)
		left := c.PTTL(t.Context(), leasesKey("a")).Val()
		assert.LessOrEqual(t, left, ttl)
		assert.GreaterOrEqual(t, left, ttl-time.Since(before)-2*time.Millisecond)
	}
}

func TestIdleKeysVanish(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	var held []seawall.Lease
	for i := range 50 {
		caller := fmt.Sprintf("caller-%d", i)
		checks := []seawall.Check{bucket(t, caller, ratelimit.PerSecond(100), 10), lease(t, caller, 3, time.Minute)}
		require.True(t, apply(t, s, checks...)[1].Committed)
		held = append(held, leaseOf(checks[1]))
	}
	require.NoError(t, s.Release(t.Context(), held...))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		keys, err := c.Keys(context.Background(), "*").Result()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{membersKey, capacityKey, secretKey}, keys)
	}, soon, 10*time.Millisecond)
}

// clusterOfOne returns a client of a server in Cluster mode, which refuses a script whose keys are in different
// slots.
func clusterOfOne(t *testing.T) *redis.Client {
	t.Helper()
	c := patient(t, redistest.Start(t, "--cluster-enabled", "yes").URL())
	require.NoError(t, c.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(c.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	}, soon, 5*time.Millisecond)
	return c
}

func TestStoredKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 31)
	layer := "l" + long[:14]
	for name, k := range map[string]struct {
		compact *redisstore.Compact
		form    *regexp.Regexp
		longest int // in bytes
	}{
		"readable": {nil, readableKey, 128},
		"compact":  {&redisstore.Compact{Secret: []byte(long), Letters: map[string]byte{layer + ":q" + long: 'q'}}, compactKey, 62},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clusterOfOne(t)
			s, err := redisstore.New(redisstore.Config{Client: c, Namespace: "n" + long, Compact: k.compact})
			require.NoError(t, err)
			closeAtEnd(t, s)
			longest := 0
			for _, caller := range hostile {
				require.NoError(t, c.FlushAll(t.Context()).Err())
				one, two, three := bucket(t, caller, ratelimit.PerHour(1), 1), bucket(t, caller, ratelimit.PerHour(1), 1), lease(t, caller, 1, 0)
				one.Limit = limit(t, layer, "p"+long)
				two.Limit = limit(t, layer, "q"+long)
				three.Limit = limit(t, "m"+long[:14], "p"+long)
				for _, r := range apply(t, s, one, two, three) {
					require.True(t, r.Committed, "%.20q", caller)
				}
				keys := slices.DeleteFunc(c.Keys(t.Context(), "*").Val(), func(k string) bool { return strings.Contains(k, "{fleet}") })
				require.Len(t, keys, 3, "%.20q", caller)
				for _, key := range keys {
					longest = max(longest, len(key))
					assert.Regexp(t, k.form, key)
					assert.Equal(t, c.ClusterKeySlot(t.Context(), keys[0]).Val(), c.ClusterKeySlot(t.Context(), key).Val(), key)
				}
			}
			assert.Equal(t, k.longest, longest)
		})
	}
}

func TestNamespacesAreApart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, ns := range []string{"a", "b"} {
		s, err := redisstore.New(redisstore.Config{Client: connect(t, server), Namespace: ns})
		require.NoError(t, err)
		closeAtEnd(t, s)
		require.True(t, apply(t, s, bucket(t, "x", ratelimit.PerDay(1), 1))[0].Admitted, ns)
		require.Eventually(t, func() bool { return s.Fleet().Announced }, soon, time.Millisecond)
		assert.EqualValues(t, 1, s.Fleet().Instances)
	}
}
