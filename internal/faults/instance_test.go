package faults

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

const (
	loginRoute = "/v1/login"
	loginBurst = 5 // and as many a minute
)

// plentiful refuses nobody here, and hardly refills, so that a caller's remaining tokens tell what it spent.
var plentiful = ratelimit.TokenBucket(ratelimit.PerMinute(1), 1_000_000)

// instance is what a process of the payments example has between HTTP and Redis, worker shedder aside.
type instance struct {
	stack    *seawall.Stack
	failover *store.Failover
	cache    *store.DenyCache
	seen     *observed
}

// setup says what a rig is like; zero values are usual ones.
type setup struct {
	url       string          // of Redis, or of a proxy in front of it
	instances int             // 2
	api       ratelimit.Quota // plentiful
	slots     int64           // in flight per caller: 1000
	ttl       time.Duration   // of leases: 2 s
	extra     seawall.Layer   // in front of the others: none
	proxied   bool            // so that goroutines of the proxy are among those of this process
}

func newInstance(t testing.TB, s setup) *instance {
	t.Helper()
	in, nobody := &instance{seen: newObserved()}, slog.New(slog.DiscardHandler)
	client, err := redisstore.NewClient(s.url)
	require.NoError(t, err)
	shared, err := redisstore.New(redisstore.Config{
		Client: client, Namespace: "faults", Logger: nobody,
	})
	require.NoError(t, err)
	in.failover, err = store.NewFailover(store.FailoverConfig{
		Shared: shared, Local: memstore.New(memstore.Config{}), ExpectedInstances: int64(s.instances), Logger: nobody,
	})
	require.NoError(t, err)
	in.cache, err = store.NewDenyCache(store.DenyCacheConfig{Store: in.failover})
	require.NoError(t, err)
	in.stack, err = seawall.New(seawall.Config{Store: in.cache, Observer: in.seen}, s.layers(t)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = in.stack.Close(ctx) // without Redis it cannot leave the fleet
		_ = client.Close()
	})
	return in
}

// layers are those of the payments example that ask Redis.
func (s setup) layers(t testing.TB) []seawall.Layer {
	t.Helper()
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: s.api, Match: func(r *seawall.Request) bool { return r.Route != loginRoute }},
		{
			Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(loginBurst), loginBurst),
			OnFailure: seawall.FailClosed, Routes: []string{loginRoute},
			Key: func(r *seawall.Request) seawall.Key { return r.More[0] },
		},
	}})
	require.NoError(t, err)
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: s.slots, TTL: s.ttl})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 1000, Reserve: 0.2, TTL: s.ttl})
	require.NoError(t, err)
	layers := []seawall.Layer{rate, inFlight, fleet}
	if s.extra != nil {
		layers = append([]seawall.Layer{s.extra}, layers...)
	}
	return layers
}

// quiet keeps go-redis from writing a line for every failed dial.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
