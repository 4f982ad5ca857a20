package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// tuned returns a store that beats so often, and joins with so many workers of which some are used.
func tuned(t *testing.T, c redis.UniversalClient, every, ttl time.Duration, workers, used int64) *redisstore.Store {
	t.Helper()
	s, err := redisstore.NewTuned(redisstore.Config{Client: c, Namespace: "test"}, every, ttl)
	require.NoError(t, err)
	if workers > 0 {
		s.Join(workers)
	}
	require.Eventually(t, func() bool { return s.Fleet().Announced }, soon, time.Millisecond)
	use(t, s, used)
	return s
}

// use takes so many slots of the fleet.
func use(t *testing.T, s *redisstore.Store, n int64) {
	t.Helper()
	for range n {
		c := slot(t, 1, 0)
		c.CountOnly = true
		_, ok := take(t, s, c)
		require.True(t, ok)
	}
}

const beat, memberTTL = 20 * time.Millisecond, 2 * time.Second

func sees(t *testing.T, s *redisstore.Store, want seawall.Fleet) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got := s.Fleet()
		require.True(t, 0 <= got.Index && got.Index < got.Instances, "%+v", got)
		got.Index = 0
		require.Equal(t, want, got)
	}, soon, 5*time.Millisecond)
}

func TestFleetOfTwo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	a := tuned(t, c, beat, memberTTL, 3, 1)
	closeAtEnd(t, a)
	b := tuned(t, c, beat, memberTTL, 5, 2)
	both := seawall.Fleet{Instances: 2, Capacity: 8, Used: 3, Announced: true}
	sees(t, a, both)
	sees(t, b, both)
	assert.Equal(t, a.Fleet().Index == 0, b.Fleet().Index == 1, "each has a place of its own")
	assert.Equal(t, "8", c.Get(t.Context(), capacityKey).Val())
	b.Join(7)
	use(t, b, 2)
	sees(t, a, seawall.Fleet{Instances: 2, Capacity: 10, Used: 5, Announced: true})

	require.NoError(t, b.Close(short(t, soon)))
	members := c.HGetAll(t.Context(), membersKey).Val()
	assert.NotContains(t, members, b.Instance(), "whoever leaves is gone at once")
	assert.Contains(t, members, a.Instance())
	alone := seawall.Fleet{Instances: 1, Capacity: 3, Used: 1, Announced: true}
	sees(t, a, alone)

	dead := tuned(t, c, beat, memberTTL, 5, 2)
	sees(t, a, seawall.Fleet{Instances: 2, Capacity: 8, Used: 3, Announced: true})
	dead.Die()
	sees(t, a, seawall.Fleet{Instances: 1, Capacity: 4, Used: 1, Announced: true}) // half, for a while
	sees(t, a, alone)
	assert.Len(t, c.HGetAll(t.Context(), membersKey).Val(), 1, "and forgotten")
}

// TestDeadFleetLeavesItsSecret and nothing else: callers are to be the same when it comes back.
func TestDeadFleetLeavesItsSecret(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	tuned(t, c, beat, 200*time.Millisecond, 3, 1).Die()
	require.Eventually(t, func() bool { return c.DBSize(context.Background()).Val() == 1 }, soon, 10*time.Millisecond)
	assert.InDelta(t, 30*24*3600, c.TTL(t.Context(), secretKey).Val().Seconds(), 60)
}

func TestCorruptMembersHeal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	s := tuned(t, c, beat, 500*time.Millisecond, 3, 1)
	closeAtEnd(t, s)
	alone := seawall.Fleet{Instances: 1, Capacity: 3, Used: 1, Announced: true}
	later := time.Now().Add(time.Hour).UnixMilli()
	list := func(key string) redis.Cmder { // in one step, or a heartbeat comes in between
		var pushed redis.Cmder
		_, err := c.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
			pipe.Del(t.Context(), key)
			pushed = pipe.RPush(t.Context(), key, "x")
			return nil
		})
		require.NoError(t, err)
		return pushed
	}
	for name, spoil := range map[string]func() redis.Cmder{
		"members a string":   func() redis.Cmder { return c.Set(t.Context(), membersKey, "x", 0) },
		"members a list":     func() redis.Cmder { return list(membersKey) },
		"capacity a list":    func() redis.Cmder { return list(capacityKey) },
		"capacity no number": func() redis.Cmder { return c.Set(t.Context(), capacityKey, "nan", 0) },
		"floors a list":      func() redis.Cmder { return list(floorsKey) },
		"floors garbage":     func() redis.Cmder { return c.Set(t.Context(), floorsKey, "9999:9999999999999 x", 0) },
		"members garbage": func() redis.Cmder {
			return c.HSet(t.Context(), membersKey, "a", "", "b", "nan", "c", "1:2", "d", "-1:-2:-3", "e", "1e309:1:1",
				"f", strings.Repeat("9", 400)+":1:1", "g", fmt.Sprintf("%d:%s:1", later, strings.Repeat("9", 30)), "h", "\x00")
		},
		"members of before the clock stepped back": func() redis.Cmder {
			return c.HSet(t.Context(), membersKey, "old", fmt.Sprintf("%d:4:4", later))
		},
		"more than a call may delete": func() redis.Cmder {
			pipe := c.Pipeline()
			for i := range 2500 {
				pipe.HSet(t.Context(), membersKey, fmt.Sprint("x", i), "1:1:1")
			}
			_, err := pipe.Exec(t.Context())
			require.NoError(t, err)
			return c.Ping(t.Context())
		},
	} {
		require.NoError(t, spoil().Err(), name)
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			members, err := c.HGetAll(context.Background(), membersKey).Result()
			require.NoError(t, err, name)
			require.Len(t, members, 1, name)
			require.Equal(t, "3", c.Get(context.Background(), capacityKey).Val(), name)
			require.Zero(t, c.Exists(context.Background(), floorsKey).Val(), name)
			require.Equal(t, alone, s.Fleet(), name)
		}, soon, 5*time.Millisecond, name)
	}
}

// TestStaleViewAdmitsUpToTheCapacity has a store that saw the fleet before another joined.
func TestStaleViewAdmitsUpToTheCapacity(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	a := tuned(t, c, time.Hour, time.Hour, 4, 0)
	closeAtEnd(t, a)
	b := tuned(t, c, time.Hour, time.Hour, 6, 0)
	closeAtEnd(t, b)
	require.EqualValues(t, 4, a.Fleet().Capacity)
	require.EqualValues(t, 10, b.Fleet().Capacity)
	taken := 0
	for range 12 {
		if _, ok := take(t, a, slot(t, 4, 0.25)); ok {
			taken++
		}
	}
	assert.Equal(t, 7, taken, "10 − ceil(2.5)")

	require.NoError(t, c.Del(t.Context(), capacityKey).Err())
	require.NoError(t, c.RPush(t.Context(), capacityKey, "x").Err())
	_, ok := take(t, a, slot(t, 4, 0.25))
	assert.False(t, ok, "a capacity that cannot be read refuses, and is no error")
}

// TestJoinDuringBeats replaces the announcement while beats are under way; the last one counts.
func TestJoinDuringBeats(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := tuned(t, connect(t, server), time.Millisecond, memberTTL, 1, 0)
	closeAtEnd(t, s)
	for i := range int64(200) {
		s.Join(1 + i)
		assert.GreaterOrEqual(t, s.Fleet().Capacity, 1+i)
	}
	sees(t, s, seawall.Fleet{Instances: 1, Capacity: 200, Announced: true})
}

// TestLostDataDoesNotShrinkTheFleet empties Redis under three instances: whoever beats first must not take
// itself for all there is.
func TestLostDataDoesNotShrinkTheFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := connect(t, server)
	const every = 100 * time.Millisecond
	var all []*redisstore.Store
	for range 3 {
		s := tuned(t, c, every, memberTTL, 10, 0)
		closeAtEnd(t, s)
		all = append(all, s)
	}
	whole := seawall.Fleet{Instances: 3, Capacity: 30, Announced: true}
	for _, s := range all {
		sees(t, s, whole)
	}
	require.NoError(t, c.FlushAll(t.Context()).Err())
	for began := time.Now(); time.Since(began) < 4*every; <-time.After(time.Millisecond) {
		for _, s := range all {
			require.Equal(t, int64(30), s.Fleet().Capacity)
		}
	}
	for _, s := range all {
		sees(t, s, whole)
	}
}
