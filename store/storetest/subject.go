package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
)

// Subject is a store under test. Its clock stands still unless Advance moves it, and leases are renewed by
// Renew only.
type Subject struct {
	Store seawall.Store
	// Advance moves the store's clock forward, or back. Steps are whole microseconds.
	Advance func(time.Duration)
	// Renew renews all leases that the store holds.
	Renew func()
}

// Open returns a fresh, empty Subject, which t's cleanup closes.
type Open func(t *testing.T) Subject

// ttl is the lease TTL of the suite.
const ttl = 10 * time.Second

func (s Subject) apply(t *testing.T, checks ...seawall.Check) []seawall.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	results, err := s.Store.Apply(ctx, nil, checks)
	require.NoError(t, err)
	require.Len(t, results, len(checks))
	return results
}

func (s Subject) release(t *testing.T, checks ...seawall.Check) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, c := range checks {
		l := seawall.Lease{Limit: c.Limit, Rule: c.Rule.(seawall.Holder), Key: c.Key, Cost: c.Cost, ID: c.ID, Last: true}
		require.NoError(t, s.Store.Release(ctx, l))
	}
}

// take applies one check and returns it, with the id that it got, and its result.
func (s Subject) take(t *testing.T, c seawall.Check) (seawall.Check, seawall.Result) {
	t.Helper()
	checks := []seawall.Check{c}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	results, err := s.Store.Apply(ctx, nil, checks)
	require.NoError(t, err)
	return checks[0], results[0]
}

func limit(t testing.TB, layer, policy string) *seawall.Limit {
	t.Helper()
	l, err := seawall.NewLimit(layer, policy, seawall.FailLocal)
	require.NoError(t, err)
	return l
}

// quota returns a check on the named policy's quota of caller.
func quota(t testing.TB, policy, caller string, q ratelimit.Quota, cost int64) seawall.Check {
	t.Helper()
	rule, err := q.Rule()
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, ratelimit.Name, policy), Rule: rule, Key: seawall.NewKey(caller), Cost: cost}
}

// bucket returns a check on the named policy's bucket of caller.
func bucket(t testing.TB, policy, caller string, rate ratelimit.Rate, burst, cost int64) seawall.Check {
	t.Helper()
	return quota(t, policy, caller, ratelimit.TokenBucket(rate, burst), cost)
}

// lease returns a check on caller's slots.
func lease(t testing.TB, caller string, slots int64) seawall.Check {
	t.Helper()
	l, err := concurrency.NewSlots(slots, ttl)
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, concurrency.Name, "in-flight"), Rule: l, Key: seawall.NewKey(caller), Cost: 1}
}

// weighted returns a check on slots of caller's that takes so many.
func weighted(t testing.TB, caller string, slots, takes int64) seawall.Check {
	t.Helper()
	c := lease(t, caller, slots)
	c.Rule, c.Cost = c.Rule.(*concurrency.Slots).Weighted(), takes
	return c
}

// queued returns a check on caller's slots, of another limit, by somebody who has waited for so long; 0 does not wait.
func queued(t testing.TB, caller string, slots int64, waiter uint64, waited time.Duration) seawall.Check {
	t.Helper()
	c := lease(t, caller, slots)
	c.Limit = limit(t, concurrency.Name, "queue")
	c.Rule = c.Rule.(*concurrency.Slots).Weighted().Queue(waiter, waited)
	return c
}

// slots returns the checks of an ordinary and of a critical request on a fleet to which this instance adds
// workers. The store is told, and has announced them, when it returns.
func slots(t testing.TB, s Subject, workers int64, reserve float64) (ordinary, critical seawall.Check) {
	t.Helper()
	shed, err := fleetshed.New(fleetshed.Config{Workers: workers, Reserve: reserve, TTL: ttl})
	require.NoError(t, err)
	if m, ok := s.Store.(seawall.Member); ok {
		m.Join(workers)
		require.Eventually(t, func() bool { return m.Fleet().Announced }, 10*time.Second, time.Millisecond)
	}
	ordinary = shed.Plan(nil, &seawall.Request{})[0]
	critical = shed.Plan(nil, &seawall.Request{Tier: seawall.Critical})[0]
	return ordinary, critical
}

func advisory(c seawall.Check) seawall.Check {
	c.Advisory = true
	return c
}
