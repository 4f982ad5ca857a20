package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// put writes one corrupt value to a key.
type put struct {
	name string
	to   func(c *redis.Client, key string) redis.Cmder
}

func text(v string) put {
	return put{v, func(c *redis.Client, key string) redis.Cmder { return c.Set(context.Background(), key, v, 0) }}
}

var (
	list = put{"a list", func(c *redis.Client, key string) redis.Cmder { return c.RPush(context.Background(), key, "x") }}
	hash = put{"a hash", func(c *redis.Client, key string) redis.Cmder {
		return c.HSet(context.Background(), key, "x", "y")
	}}
)

func TestCorruptBucketsHeal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	for _, v := range []put{
		list, hash, text(""), text("nan"), text("1e309"), text("-1"), text("-1800000000000000000"), text(strings.Repeat("9", 30)),
		text(strings.Repeat("9", 400)), text("inf000000000000000"), text("nan000000000000000"), text("1e9000000000000000"),
		text("0x7fffffffffffffff"), text("9223372036854775807"), text("180000000000000000.5"), text("1800 00000000000000"),
		text("1e300" + strings.Repeat("0", 15)), text("1800-00000000000001"), text("\x00\x01\xff"),
	} {
		t.Run(v.name, func(t *testing.T) {
			require.NoError(t, c.FlushAll(t.Context()).Err())
			require.NoError(t, v.to(c, bucketKey("a")).Err())
			check := bucket(t, "a", ratelimit.PerSecond(50), 5)
			r := apply(t, s, check)[0]
			if !r.Admitted { // taken for a clock that stepped back: at most one refill to wait
				assert.LessOrEqual(t, r.RetryAfter, 20*time.Millisecond)
				assert.LessOrEqual(t, r.ResetAfter, 100*time.Millisecond)
			}
			assert.LessOrEqual(t, c.PTTL(t.Context(), bucketKey("a")).Val(), 102*time.Millisecond)
			admitted := int64(0)
			require.Eventually(t, func() bool { return apply(t, s, check)[0].Admitted }, soon, 5*time.Millisecond, "locked out")

			slow := bucket(t, "b", ratelimit.PerDay(1), 5)
			require.NoError(t, v.to(c, bucketKey("b")).Err())
			for range 8 {
				if apply(t, s, slow)[0].Admitted {
					admitted++
				}
				assert.Equal(t, "int", c.ObjectEncoding(t.Context(), bucketKey("b")).Val(), "healed by the first request") // a's is gone after 20 ms
			}
			assert.LessOrEqual(t, admitted, int64(5), "open")
		})
	}
}

func TestCorruptLeasesHeal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	for _, v := range []put{list, hash, text("x"), text("")} {
		require.NoError(t, c.FlushAll(t.Context()).Err())
		require.NoError(t, v.to(c, leasesKey("a")).Err())
		held, ok := take(t, s, lease(t, "a", 1, time.Minute))
		require.True(t, ok, v.name)
		_, ok = take(t, s, lease(t, "a", 1, time.Minute))
		require.False(t, ok, v.name)
		release(t, s, held)
		held, ok = take(t, s, lease(t, "a", 1, time.Minute))
		require.True(t, ok, v.name)
		release(t, s, held)
	}
}

// TestCorruptLeaseHoldsUpNoOther corrupts the key of one of the leases that are given back in one batch.
func TestCorruptLeaseHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	bad, ok := take(t, s, lease(t, "bad", 4, time.Minute))
	require.True(t, ok)
	good, ok := take(t, s, lease(t, "good", 4, time.Minute))
	require.True(t, ok)
	require.NoError(t, c.Set(t.Context(), leasesKey("bad"), "x", 0).Err())
	bad.Last, good.Last = false, false
	require.NoError(t, s.Release(t.Context(), bad, good))
	holds(t, c, leasesKey("good"), 0)
	require.Eventually(t, func() bool { return s.Queued() == 0 }, soon, time.Millisecond)
}

func TestCorruptLeaseIsRenewedWithTheOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	_, ok := take(t, s, lease(t, "bad", 4, 2*time.Second))
	require.True(t, ok)
	_, ok = take(t, s, lease(t, "good", 4, 2*time.Second))
	require.True(t, ok)
	require.NoError(t, c.Set(t.Context(), leasesKey("bad"), "x", 0).Err())
	require.NoError(t, c.Del(t.Context(), leasesKey("good")).Err())
	holds(t, c, leasesKey("good"), 1)
	require.Eventually(t, func() bool { return c.ZCard(context.Background(), leasesKey("bad")).Val() == 1 }, soon, 5*time.Millisecond)
}

func TestScriptFlushIsNotNoticed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, c := openReal(t, server), server.Client(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = c.ScriptFlush(context.Background()).Err()
			}
		}
	}()
	for range 300 {
		held, ok := take(t, s, lease(t, "a", 1, time.Minute))
		if !assert.True(t, ok) {
			break
		}
		release(t, s, held)
		apply(t, s, bucket(t, "a", ratelimit.PerSecond(1000), 1000), lease(t, "b", 1_000_000, time.Minute))
	}
	close(stop)
	<-done
}
