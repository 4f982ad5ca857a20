package bench

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

const (
	soon = 15 * time.Second // generous: what takes longer does not happen
	// roomy is more slots than anybody takes here, also the last quarter of them, whose release would be waited for.
	roomy = 1_000_000
	// budget is a wait that is not over before Redis answers: what it costs is to have one.
	budget = 10 * time.Second
)

// ample is what a caller may do on Redis: more than one does here, but with state that lives on between its requests.
var ample = quota{1000, time.Second}

// layers are the three that ask a store.
type layers struct {
	rate  *ratelimit.Limiter
	slots *concurrency.Limiter
	fleet *fleetshed.Shedder
}

func newLayers(t testing.TB, q quota) layers {
	t.Helper()
	var l layers
	var err error
	l.rate, err = ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: q.bucket()}}})
	require.NoError(t, err)
	l.slots, err = concurrency.New(concurrency.Config{MaxInFlight: roomy})
	require.NoError(t, err)
	l.fleet, err = fleetshed.New(fleetshed.Config{Workers: roomy, Reserve: 0.2})
	require.NoError(t, err)
	return l
}

func (l layers) bucket(k seawall.Key) []seawall.Check {
	return l.rate.Plan(nil, &seawall.Request{Key: k})
}

func (l layers) three(k seawall.Key) []seawall.Check {
	r := &seawall.Request{Key: k}
	return l.fleet.Plan(l.slots.Plan(l.rate.Plan(nil, r), r), r)
}

// remote is an instance of Seawall on a Redis.
type remote struct {
	layers
	store  *redisstore.Store
	client *redis.Client
}

// newRemote returns an instance that has announced itself, and ends with its test. The query belongs to the URL of its client.
func newRemote(t testing.TB, server *redistest.Server, q quota, query string, compact *redisstore.Compact) *remote {
	t.Helper()
	client, err := redisstore.NewClient(server.URL() + "/0" + query)
	require.NoError(t, err)
	r := &remote{layers: newLayers(t, q), client: client}
	r.store, err = redisstore.New(redisstore.Config{
		Client: client, Namespace: "bench", Compact: compact, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		_ = r.store.Close(ctx) // where Redis is gone it cannot leave the fleet
		assert.NoError(t, client.Close())
	})
	r.store.Join(roomy)
	require.Eventually(t, func() bool { return r.store.Fleet().Announced }, soon, time.Millisecond, "it has announced itself")
	return r
}

// plans are the checks that as many callers' requests make.
func plans(n int, plan func(seawall.Key) []seawall.Check) [][]seawall.Check {
	all := make([][]seawall.Check, n)
	for i, name := range names(n) {
		all[i] = plan(seawall.NewKey(name))
	}
	return all
}

// asking has a store decide about planned requests. It belongs to one goroutine.
type asking struct {
	store   seawall.Store
	plans   [][]seawall.Check
	budget  time.Duration // zero is none
	checks  []seawall.Check
	results []seawall.Result
	held    []seawall.Lease // what was taken and not yet given back
	why     error
}

// decide asks about the i-th, and tells whether it is admitted.
func (a *asking) decide(i uint32) bool {
	a.checks = append(a.checks[:0], a.plans[i]...)
	ctx, cancel := context.Background(), func() {}
	if a.budget > 0 {
		ctx, cancel = seawall.Patient(ctx, a.budget)
	}
	results, err := a.store.Apply(ctx, a.results[:0], a.checks)
	cancel()
	if err != nil {
		a.why = err
		return false
	}
	a.results = results
	admitted := true
	for k, res := range results {
		admitted = admitted && res.Admitted
		if lease, ok := a.checks[k].Lease(); ok && res.Committed {
			lease.Last = res.Last
			a.held = append(a.held, lease)
		}
	}
	return admitted
}

// giveBack gives back what is held.
func (a *asking) giveBack() {
	if len(a.held) > 0 {
		if err := a.store.Release(context.Background(), a.held...); err != nil {
			a.why = err
		}
		a.held = a.held[:0]
	}
}

// passes decides and gives back at once.
func (a *asking) passes(i uint32) bool {
	ok := a.decide(i)
	a.giveBack()
	return ok && a.why == nil
}

// drained waits until nobody holds a slot of the fleet any more: releases follow within milliseconds.
func (r *remote) drained(t testing.TB) {
	t.Helper()
	check := r.fleet.Plan(nil, &seawall.Request{Key: seawall.NewKey("nobody")})
	check[0].Op = seawall.Peek
	require.Eventually(t, func() bool {
		res, err := r.store.Apply(context.Background(), nil, check)
		return err == nil && res[0].Remaining == res[0].Limit
	}, soon, time.Millisecond, "what was taken is given back")
}

// newRedisRate returns redis_rate as an ask.
func newRedisRate(client *redis.Client, q quota, keys []string) ask {
	l := redis_rate.NewLimiter(client)
	allowed := redis_rate.Limit{Rate: int(q.limit), Burst: int(q.limit), Period: q.per}
	return func(i uint32) bool {
		res, err := l.Allow(context.Background(), keys[i], allowed)
		return err == nil && res.Allowed > 0
	}
}

// peerClient is a client as redis_rate's users have it; a size of zero is go-redis' default, ten for each processor.
func peerClient(t testing.TB, server *redistest.Server, size int) *redis.Client {
	return closes(t, redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: size}))
}

// newNoop returns a script that does nothing as an ask.
func newNoop(t testing.TB, client *redis.Client) ask {
	t.Helper()
	sha, err := client.ScriptLoad(context.Background(), "return 1").Result()
	require.NoError(t, err)
	return func(uint32) bool {
		n, err := client.EvalSha(context.Background(), sha, nil).Int()
		return err == nil && n == 1
	}
}

// limitsOnRedis asserts that Seawall and redis_rate limit, each caller for itself. It leaves an empty Redis.
func limitsOnRedis(t *testing.T, server *redistest.Server) {
	t.Helper()
	ok := t.Run("limits", func(t *testing.T) {
		r := newRemote(t, server, five, "", nil)
		texts := names(2)
		bucket := &asking{store: r.store, plans: plans(2, r.bucket), budget: budget}
		three := &asking{store: r.store, plans: [][]seawall.Check{r.three(seawall.NewKey("a")), r.three(seawall.NewKey("b"))}}
		for name, ask := range map[string]ask{
			oneBucket: bucket.decide, threeLayers: three.passes, redisRateName: newRedisRate(peerClient(t, server, 0), five, texts),
		} {
			for n := range 5 {
				require.True(t, ask(0), "%s: request %d of 5", name, n+1)
			}
			require.False(t, ask(0), "%s: the sixth request of a caller who may make five", name)
			require.True(t, ask(1), "%s: another caller has his own five", name)
		}
		require.Len(t, three.results, 3)
		r.drained(t)
	})
	require.True(t, ok)
	require.NoError(t, server.Client(t).FlushAll(t.Context()).Err())
}

// info reads numbers of a section of Redis' INFO, and adds them up.
func info(t testing.TB, c *redis.Client, section string, fields ...string) (sum float64) {
	t.Helper()
	for _, f := range fields {
		sum += redistest.Info(t, c, section, f)
	}
	return sum
}
