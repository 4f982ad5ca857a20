package outage

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/redis"
	"github.com/zeromicro/go-zero/core/limit"
	zeroredis "github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// perSecond is what each caller may do, and its burst: far more than any of them does.
const perSecond = 1000

// decision is what a limiter made of a request.
type decision struct {
	admitted bool
	// shared tells whether Redis took part, rather than something that stands in for it.
	shared bool
}

// decide asks a limiter about one request of a caller.
type decide func(ctx context.Context, caller string) (decision, error)

// candidate is a limiter to be measured.
type candidate struct {
	name string
	// build makes it on the Redis at addr, which is up. It is closed when the test ends.
	build func(t testing.TB, addr string) decide
}

var (
	seawallItself = candidate{"**Seawall**", buildSeawall(seawall.DefaultWait)}
	redisRate     = candidate{"redis_rate", func(t testing.TB, addr string) decide {
		return buildRedisRate(t, &redis.Options{Addr: addr})
	}}
	candidates = []candidate{
		seawallItself,
		redisRate,
		{"redis_rate, 5 ms context", buildTunedRedisRate},
		{"ulule/limiter", buildUlule},
		{"throttled", buildThrottled},
		{"go-zero TokenLimiter", buildGoZero},
	}
)

func buildSeawall(wait time.Duration) func(t testing.TB, addr string) decide {
	return func(t testing.TB, addr string) decide {
		client, err := redisstore.NewClient("redis://" + addr)
		require.NoError(t, err)
		quiet := slog.New(slog.DiscardHandler)
		shared, err := redisstore.New(redisstore.Config{Client: closes(t, client), Namespace: "bench", Logger: quiet})
		require.NoError(t, err)
		failover, err := store.NewFailover(store.FailoverConfig{
			Shared: shared, Local: memstore.New(memstore.Config{}), Logger: quiet,
		})
		require.NoError(t, err)
		rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(perSecond), perSecond)},
		}})
		require.NoError(t, err)
		stack, err := seawall.New(seawall.Config{Store: failover, Wait: wait}, rate)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, stack.Close(context.Background())) })
		return func(ctx context.Context, caller string) (decision, error) {
			a := stack.Admit(ctx, &seawall.Request{Key: seawall.NewKey(caller)})
			defer a.Done(ctx)
			return decision{!a.Decision().Denied, !a.Results()[0].Fallback}, nil
		}
	}
}

// buildTunedRedisRate has redis_rate wait for Redis as long as Seawall does by default.
func buildTunedRedisRate(t testing.TB, addr string) decide {
	patient := buildRedisRate(t, &redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1})
	return func(ctx context.Context, caller string) (decision, error) {
		ctx, cancel := context.WithTimeout(ctx, seawall.DefaultWait)
		defer cancel()
		return patient(ctx, caller)
	}
}

func buildRedisRate(t testing.TB, o *redis.Options) decide {
	l := redis_rate.NewLimiter(closes(t, redis.NewClient(o)))
	return func(ctx context.Context, caller string) (decision, error) {
		res, err := l.Allow(ctx, caller, redis_rate.PerSecond(perSecond))
		return decision{err == nil && res.Allowed > 0, true}, err
	}
}

// buildUlule is without the middleware of ulule/limiter, whose default answer to an error is a panic.
func buildUlule(t testing.TB, addr string) decide {
	s, err := ululestore.NewStore(closes(t, redis.NewClient(&redis.Options{Addr: addr})))
	require.NoError(t, err)
	l := limiter.New(s, limiter.Rate{Period: time.Second, Limit: perSecond})
	return func(ctx context.Context, caller string) (decision, error) {
		got, err := l.Get(ctx, caller)
		return decision{!got.Reached, true}, err
	}
}

func buildThrottled(t testing.TB, addr string) decide {
	s, err := goredisstore.NewCtx(closes(t, redis.NewClient(&redis.Options{Addr: addr})), "throttled:")
	require.NoError(t, err)
	l, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{MaxRate: throttled.PerSec(perSecond), MaxBurst: perSecond - 1})
	require.NoError(t, err)
	return func(ctx context.Context, caller string) (decision, error) {
		limited, _, err := l.RateLimitCtx(ctx, caller, 1)
		return decision{!limited, true}, err
	}
}

// buildGoZero gives each caller a TokenLimiter of its own, as it is one bucket. It keeps its client for good.
func buildGoZero(t testing.TB, addr string) decide {
	r, err := zeroredis.NewRedis(zeroredis.RedisConf{Host: addr, Type: zeroredis.NodeType}, zeroredis.WithHook(answers{}))
	require.NoError(t, err)
	var limiters sync.Map
	return func(ctx context.Context, caller string) (decision, error) {
		l, ok := limiters.Load(caller)
		if !ok {
			l, _ = limiters.LoadOrStore(caller, limit.NewTokenLimiter(perSecond, perSecond, r, caller))
		}
		var answered bool
		admitted := l.(*limit.TokenLimiter).AllowCtx(context.WithValue(ctx, answers{}, &answered))
		return decision{admitted, answered}, nil
	}
}

// answers is a hook that notes in the bool under its key in the context whether Redis ran a script for it.
type answers struct{}

func (answers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (answers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if answered, ok := ctx.Value(answers{}).(*bool); ok && strings.HasPrefix(cmd.Name(), "eval") {
			*answered = err == nil || errors.Is(err, redis.Nil) // nil is its script's no
		}
		return err
	}
}

// closes has the client closed when the test ends.
func closes(t testing.TB, c *redis.Client) *redis.Client {
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}
