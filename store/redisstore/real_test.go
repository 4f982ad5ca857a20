package redisstore_test

import (
	"context"
	"testing"
	"time"

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

// The tests in this and the following files run on Redis' own clock.

// soon is how long they wait for what takes milliseconds on an idle machine.
const soon = 15 * time.Second

// connect returns a client as users have it.
func connect(t testing.TB, server *redistest.Server) *redis.Client {
	t.Helper()
	o, err := redisstore.Options(server.URL())
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// openReal returns a store on the server. A test may close it, and may have killed the server.
func openReal(t *testing.T, server *redistest.Server) *redisstore.Store {
	t.Helper()
	return openOn(t, connect(t, server))
}

func openOn(t *testing.T, client redis.UniversalClient) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(redisstore.Config{Client: client, Namespace: "test"})
	require.NoError(t, err)
	closeAtEnd(t, s)
	return s
}

func closeAtEnd(t *testing.T, s *redisstore.Store) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		_ = s.Close(ctx)
	})
}

func limit(t testing.TB, layer, policy string) *seawall.Limit {
	t.Helper()
	l, err := seawall.NewLimit(layer, policy, seawall.FailLocal)
	require.NoError(t, err)
	return l
}

func bucket(t *testing.T, caller string, rate ratelimit.Rate, burst int64) seawall.Check {
	t.Helper()
	b, err := ratelimit.TokenBucket(rate, burst).Rule()
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, ratelimit.Name, "api"), Rule: b, Key: seawall.NewKey(caller), Cost: 1}
}

func lease(t *testing.T, caller string, slots int64, ttl time.Duration) seawall.Check {
	t.Helper()
	l, err := concurrency.NewSlots(slots, ttl)
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, concurrency.Name, "in-flight"), Rule: l, Key: seawall.NewKey(caller), Cost: 1}
}

// slot returns an ordinary request's check on the fleet.
func slot(t *testing.T, workers int64, reserve float64) seawall.Check {
	t.Helper()
	shed, err := fleetshed.New(fleetshed.Config{Workers: workers, Reserve: reserve})
	require.NoError(t, err)
	return shed.Plan(nil, &seawall.Request{})[0]
}

// apply applies the checks and returns the results; the checks get their ids.
func apply(t *testing.T, s seawall.Store, checks ...seawall.Check) []seawall.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	results, err := s.Apply(ctx, nil, checks)
	require.NoError(t, err)
	return results
}

// take applies a check of a lease; ok tells whether it was taken.
func take(t *testing.T, s seawall.Store, c seawall.Check) (held seawall.Lease, ok bool) {
	t.Helper()
	checks := []seawall.Check{c}
	res := apply(t, s, checks...)[0]
	held = leaseOf(checks[0])
	held.Last = res.Last
	return held, res.Committed
}

// leaseOf is the lease that a check took, or may have taken.
func leaseOf(c seawall.Check) seawall.Lease {
	return seawall.Lease{Limit: c.Limit, Rule: c.Rule.(seawall.Holder), Key: c.Key, Cost: c.Cost, ID: c.ID}
}

// release gives a lease back and waits for it.
func release(t *testing.T, s seawall.Store, l seawall.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	l.Last = true
	require.NoError(t, s.Release(ctx, l))
}

// leasesKey is where the leases of a caller lie.
func leasesKey(caller string) string {
	return "test:{" + seawall.NewKey(caller).String() + "}:concurrency:in-flight"
}

func bucketKey(caller string) string {
	return "test:{" + seawall.NewKey(caller).String() + "}:ratelimit:api"
}

const membersKey, capacityKey, secretKey = "test:{fleet}:members", "test:{fleet}:capacity", "test:{fleet}:secret"

// holds waits until so many leases lie at the key.
func holds(t *testing.T, c *redis.Client, key string, n int64) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got, err := c.ZCard(context.Background(), key).Result()
		require.NoError(t, err)
		require.Equal(t, n, got)
	}, soon, 5*time.Millisecond)
}

// reasonOf is what an error says why.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return seawall.Reason(err)
}

// short returns a context that is done after d.
func short(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
