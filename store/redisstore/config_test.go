package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

func TestConfigErrorsNameFieldAndValue(t *testing.T) {
	t.Parallel()
	c := nobody(t)
	_, err := redisstore.New(redisstore.Config{Namespace: "test"})
	require.ErrorContains(t, err, "Config.Client is nil")
	for _, ns := range []string{"", "A", "1a", "-a", "a b", "a:b", "a{b", "a}", "é", "a\n", "a" + strings.Repeat("b", 32)} {
		_, err := redisstore.New(redisstore.Config{Client: c, Namespace: ns})
		assert.ErrorContains(t, err, "Config.Namespace", "%q", ns)
	}
}

// nobody returns a safe client of a port where nobody listens.
func nobody(t testing.TB) *redis.Client {
	t.Helper()
	c, err := redisstore.NewClient("redis://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestAnUnsafeClientIsRefused(t *testing.T) {
	t.Parallel()
	for option, spoil := range map[string]func(o *redis.Options){
		"MaxRetries is 3":                func(o *redis.Options) { o.MaxRetries = 0 },
		"MaxRetries is 1":                func(o *redis.Options) { o.MaxRetries = 1 },
		"ContextTimeoutEnabled is false": func(o *redis.Options) { o.ContextTimeoutEnabled = false },
		"DialTimeout is 1m0s":            func(o *redis.Options) { o.DialTimeout = time.Minute },
		"DialTimeout is -1ns":            func(o *redis.Options) { o.DialTimeout = -1 },
		"DialerRetries is 5":             func(o *redis.Options) { o.DialerRetries, o.DialTimeout = 0, 5*time.Second },
		"ReadTimeout is 0s":              func(o *redis.Options) { o.ReadTimeout = -1 },
		"ReadTimeout is -1ns":            func(o *redis.Options) { o.ReadTimeout = -2 },
		"WriteTimeout is 11s":            func(o *redis.Options) { o.WriteTimeout = 11 * time.Second },
		"MaintNotificationsConfig.RelaxedTimeout is 11s": func(o *redis.Options) {
			o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeAuto, RelaxedTimeout: 11 * time.Second}
		},
	} {
		o, err := redisstore.Options("redis://127.0.0.1:1")
		require.NoError(t, err)
		spoil(o)
		c := redis.NewClient(o)
		_, err = redisstore.New(redisstore.Config{Client: c, Namespace: "test"})
		require.ErrorContains(t, err, "redisstore: the client's "+option)
		assert.ErrorContains(t, err, "want ")
		assert.ErrorContains(t, err, "NewClient")
		assert.NoError(t, c.Close())
	}
	plain := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer plain.Close()
	_, err := redisstore.New(redisstore.Config{Client: plain, Namespace: "test"})
	assert.ErrorContains(t, err, "MaxRetries", "go-redis' defaults")
	_, err = redisstore.New(redisstore.Config{Client: struct{ redis.UniversalClient }{plain}, Namespace: "test"})
	assert.ErrorContains(t, err, "cannot be checked")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	o, err := redisstore.Options("redis://user:pass@example.test:6380/3")
	require.NoError(t, err)
	assert.Equal(t, "example.test:6380", o.Addr)
	assert.Equal(t, 3, o.DB)
	assert.Equal(t, "user", o.Username)
	assert.Equal(t, -1, o.MaxRetries, "a script that is retried may run twice")
	assert.True(t, o.ContextTimeoutEnabled)
	assert.Zero(t, o.MinIdleConns, "a pool that fills itself knocks hard at a Redis that has no connection left")
	for name, d := range map[string]time.Duration{
		"dial": o.DialTimeout, "read": o.ReadTimeout, "write": o.WriteTimeout, "pool": o.PoolTimeout,
	} {
		assert.Greater(t, d, 100*time.Millisecond, name) // one stall is no reconnect storm
		assert.LessOrEqual(t, d, time.Second, name)
	}
	assert.Nil(t, o.TLSConfig)

	o, err = redisstore.Options("rediss://example.test?dial_timeout=3s&read_timeout=2s&pool_timeout=4s&max_retries=7&pool_size=3")
	require.NoError(t, err)
	assert.NotNil(t, o.TLSConfig)
	assert.Equal(t, 3*time.Second, o.DialTimeout)
	assert.Equal(t, 2*time.Second, o.ReadTimeout)
	assert.Equal(t, 4*time.Second, o.PoolTimeout)
	assert.Equal(t, 500*time.Millisecond, o.WriteTimeout)
	assert.Equal(t, -1, o.MaxRetries)
	assert.Equal(t, 3, o.PoolSize)

	for _, url := range []string{"", "example.test:6379", "http://example.test", "redis://example.test/x", "redis://example.test?no=1", "redis://[::1"} {
		_, err := redisstore.Options(url)
		assert.ErrorContains(t, err, "redis URL", "%q", url)
	}
}

func TestNothingToApply(t *testing.T) {
	t.Parallel()
	c := nobody(t)
	s := openOn(t, c)
	before := []seawall.Result{{Limit: 7}}
	results, err := s.Apply(t.Context(), before, nil)
	require.NoError(t, err)
	assert.Equal(t, before, results)
	assert.NoError(t, s.Release(t.Context()))
}

// TestManyChecks has one request meet 20 limits. A script holds 23 buckets: Lua has 200 local variables.
func TestManyChecks(t *testing.T) {
	t.Parallel()
	s := openReal(t, redistest.Start(t))
	var checks []seawall.Check
	for i := range 20 {
		c := bucket(t, "a", ratelimit.PerDay(1), 20)
		c.Limit = limit(t, ratelimit.Name, fmt.Sprint("policy-", i))
		c.Cost = int64(i + 1)
		checks = append(checks, c)
	}
	for i, r := range apply(t, s, checks...) {
		assert.True(t, r.Committed)
		assert.EqualValues(t, 19-i, r.Remaining)
	}
	for i, r := range apply(t, s, checks...) {
		assert.Equal(t, i < 10, r.Admitted)
		assert.EqualValues(t, 19-i, r.Remaining, "none or all")
	}
}

// TestManyChecksOfEveryKind has one request meet as many limits as a limiter takes, of each kind.
func TestManyChecksOfEveryKind(t *testing.T) {
	t.Parallel()
	s := openReal(t, redistest.Start(t))
	for name, q := range map[string]ratelimit.Quota{
		"log":     ratelimit.SlidingLog(20, time.Hour),
		"counter": ratelimit.SlidingCounter(20, time.Hour),
		"window":  ratelimit.FixedWindow(20, ratelimit.Every(366*24*time.Hour)),
	} {
		rule, err := q.Rule()
		require.NoError(t, err)
		checks := []seawall.Check{lease(t, name, 5, time.Minute)}
		for i := range 16 {
			checks = append(checks, seawall.Check{
				Limit: limit(t, ratelimit.Name, fmt.Sprint(name, i)), Rule: rule, Key: seawall.NewKey(name), Cost: int64(i + 1),
			})
		}
		for i, r := range apply(t, s, checks...)[1:] {
			assert.True(t, r.Committed, name)
			assert.EqualValues(t, 19-i, r.Remaining, name)
		}
		for i, r := range apply(t, s, checks...)[1:] {
			assert.Equal(t, i < 10, r.Admitted, name)
			assert.EqualValues(t, 19-i, r.Remaining, "%s: none or all", name)
		}
	}
}
