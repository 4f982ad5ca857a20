package faults

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/middleware/telemetry"
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
	shared   *redisstore.Store
	failover *store.Failover
	cache    *store.DenyCache
	seen     *observed
	client   *redis.Client
}

// setup says what a rig is like; zero values are usual ones.
type setup struct {
	url       string                        // of Redis, of a proxy in front of it, or of Sentinels
	open      func() (*redis.Client, error) // how an instance gets its client: by url
	trust     *x509.CertPool                // if it is rediss://: the system's
	instances int                           // 2
	api       ratelimit.Quota               // plentiful
	policy    string                        // the name of its policy: "api"
	slots     int64                         // in flight per caller: 1000
	workers   int64                         // of an instance: 1000
	weighted  bool                          // a request takes as many of them as it costs
	ttl       time.Duration                 // of leases: 2 s
	extra     seawall.Layer                 // in front of the others: none
	tracer    trace.Tracer                  // of the application that has the instances, and spans of its requests: none
	next      bool                          // its scripts are of the next version
	differs   func(i int, s setup) setup    // what instance i is like: the same
	proxied   bool                          // so that goroutines of the proxy are among those of this process
}

// usual returns the setup with usual values where there were none.
func (s setup) usual() setup {
	if s.open == nil {
		s.open = func() (*redis.Client, error) {
			if ofSentinels(s.url) {
				return redisstore.NewSentinelClient(s.url)
			}
			options, err := redisstore.Options(s.url)
			if err != nil {
				return nil, err
			}
			s.trusting(options)
			return redis.NewClient(options), nil
		}
	}
	s.instances = cmp.Or(s.instances, instances)
	s.api = cmp.Or(s.api, plentiful)
	s.policy = cmp.Or(s.policy, "api")
	s.slots = cmp.Or(s.slots, 1000)
	s.workers = cmp.Or(s.workers, 1000)
	s.ttl = cmp.Or(s.ttl, 2*time.Second)
	if s.tracer == nil {
		s.tracer = noop.Tracer{}
	}
	return s
}

// newInstance returns an instance that ends with its test.
func newInstance(t testing.TB, s setup) *instance {
	t.Helper()
	in, err := openInstance(s)
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.close() }) // without Redis it cannot leave the fleet
	return in
}

// openInstance returns an instance, to be closed.
func openInstance(s setup) (*instance, error) {
	in, nobody := &instance{seen: newObserved()}, slog.New(slog.DiscardHandler)
	var err error
	if in.client, err = s.open(); err != nil {
		return nil, err
	}
	if in.shared, err = redisstore.New(redisstore.Config{
		Client: in.client, Namespace: "faults", Logger: nobody,
	}); err != nil {
		return nil, err
	}
	var shared seawall.Store = in.shared
	if s.next {
		shared = &nextVersion{in.shared}
	}
	if in.failover, err = store.NewFailover(store.FailoverConfig{
		Shared: shared, Local: memstore.New(memstore.Config{}), ExpectedInstances: int64(s.instances), Logger: nobody,
	}); err != nil {
		return nil, err
	}
	if in.cache, err = store.NewDenyCache(store.DenyCacheConfig{Store: in.failover}); err != nil {
		return nil, err
	}
	layers, err := s.layers()
	if err != nil {
		return nil, err
	}
	tel, err := telemetry.New(telemetry.Config{Registerer: prometheus.NewRegistry(), Logger: nobody})
	if err != nil {
		return nil, err
	}
	in.stack, err = seawall.New(seawall.Config{Store: in.cache, Observer: seawall.Observers(in.seen, tel)}, layers...)
	return in, err
}

// trusting has clients of a rediss:// URL trust whom the setup trusts.
func (s setup) trusting(o *redis.Options) {
	if o.TLSConfig != nil {
		o.TLSConfig.RootCAs = s.trust
	}
}

func (in *instance) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(in.stack.Close(ctx), in.client.Close())
}

// layers are those of the payments example that ask Redis.
func (s setup) layers() ([]seawall.Layer, error) {
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: s.policy, Quota: s.api, Match: func(r *seawall.Request) bool { return r.Route != loginRoute }},
		{
			Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(loginBurst), loginBurst),
			OnFailure: seawall.FailClosed, Routes: []string{loginRoute},
			Key: func(r *seawall.Request) seawall.Key { return r.More[0] },
		},
	}})
	if err != nil {
		return nil, err
	}
	caps := concurrency.Config{MaxInFlight: s.slots, TTL: s.ttl}
	if s.weighted {
		caps = concurrency.Config{Policies: []concurrency.Policy{{
			Name: concurrency.DefaultPolicy, MaxInFlight: s.slots, TTL: s.ttl,
			Weight: func(r *seawall.Request) int64 { return r.Cost },
		}}}
	}
	inFlight, err := concurrency.New(caps)
	if err != nil {
		return nil, err
	}
	fleet, err := fleetshed.New(fleetshed.Config{Workers: s.workers, Reserve: 0.2, TTL: s.ttl})
	if err != nil {
		return nil, err
	}
	layers := []seawall.Layer{rate, inFlight, fleet}
	if s.extra != nil {
		layers = append([]seawall.Layer{s.extra}, layers...)
	}
	return layers, nil
}

// quiet keeps go-redis from writing a line for every failed dial.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
