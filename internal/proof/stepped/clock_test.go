package stepped_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/stepped"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// TestScriptsFollowTheClock runs scripts as a store does: in pipelines, by their hash as soon as it is known.
func TestScriptsFollowTheClock(t *testing.T) {
	clock := stepped.New(t, redistest.Start(t))
	run := func(text string) (any, error) {
		script := redis.NewScript(text)
		pipe := clock.Client().Pipeline()
		cmd := pipe.EvalSha(t.Context(), script.Hash(), []string{"key"})
		if _, err := pipe.Exec(t.Context()); redis.HasErrorPrefix(err, "NOSCRIPT") {
			pipe = clock.Client().Pipeline()
			cmd = pipe.Eval(t.Context(), text, []string{"key"})
			_, _ = pipe.Exec(t.Context()) // the command has its error, too
		}
		return cmd.Result()
	}
	must := func(text string) any {
		got, err := run(text)
		if err != redis.Nil { //nolint:errorlint // it is never wrapped
			require.NoError(t, err)
		}
		return got
	}
	const set, get, keep = "redis.call('SET', KEYS[1], 'x', 'PX', 10)", "return redis.pcall('GET', KEYS[1])", "redis.call('SET', KEYS[1], 'y', 'KEEPTTL')"

	clock.Set(1_700_000_000_123_456)
	for range 2 {
		assert.Equal(t, []any{"1700000000", "123456"}, must("return redis.call('TIME')"))
	}
	must(set)
	clock.Set(1_700_000_000_133_000)
	assert.Equal(t, "x", must(get), "nothing expires")
	left, ok, err := clock.Left(t.Context(), "key")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Zero(t, left)

	clock.Expire(true)
	assert.Nil(t, must(get), "it is due")
	clock.Set(1_700_000_000_123_456)
	must(set)
	clock.Set(1_700_000_000_132_999)
	must(keep)
	assert.Equal(t, "y", must(get), "Redis counts whole milliseconds, from the beginning of the one it is in")
	clock.Set(1_700_000_000_133_000)
	assert.Nil(t, must(get), "what was kept is when it is due")

	must("redis.call('ZADD', KEYS[1], 1, 'a') redis.call('PEXPIRE', KEYS[1], 1000)")
	left, ok, err = clock.Left(t.Context(), "key")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, time.Second, left)
	must("redis.call('DEL', KEYS[1])")
	_, ok, err = clock.Left(t.Context(), "key")
	require.NoError(t, err)
	assert.False(t, ok)

	_, err = run("redis.call('SET', KEYS[1], 'x', 'PX', 0)")
	assert.ErrorContains(t, err, "invalid expire time", "as Redis says")
}

// TestHeartbeatsKeepTheirClock looks at when the fleet takes an instance for gone: its store has a clock that stands still
// in 1970, and heartbeats when it likes to, also before Redis is told of that clock.
func TestHeartbeatsKeepTheirClock(t *testing.T) {
	server := redistest.Start(t)
	s, err := redisstore.New(redisstore.Config{Client: stepped.New(t, server).Client(), Namespace: "stepped"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, s.Probe(t.Context()))
	require.Eventually(t, func() bool { return s.Fleet().Announced }, 10*time.Second, time.Millisecond)

	members, err := server.Client(t).HVals(t.Context(), "stepped:{"+seawall.FleetKey().String()+"}:members").Result()
	require.NoError(t, err)
	require.Len(t, members, 1)
	expiry, _, _ := strings.Cut(members[0], ":")
	ms, err := strconv.ParseInt(expiry, 10, 64)
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), time.UnixMilli(ms), time.Minute)
}
