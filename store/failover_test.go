package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is a memstore that plays a shared one: it fails when told to, and is one of n instances.
type shared struct {
	*memstore.Store
	gone      bool
	instances int64
}

var errGone = errors.New("gone")

func (s *shared) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if s.gone {
		return dst, errGone
	}
	return s.Store.Apply(ctx, dst, checks)
}

func (s *shared) Fleet() seawall.Fleet {
	f := s.Store.Fleet()
	f.Instances = s.instances
	return f
}

type fixture struct {
	*store.Failover
	shared *shared
	layers []seawall.Layer
}

func setUp(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{shared: &shared{Store: memstore.New(memstore.Config{}), instances: 1}}
	var err error
	f.Failover, err = store.NewFailover(store.FailoverConfig{Shared: f.shared, Local: memstore.New(memstore.Config{})})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close(context.Background())) })
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 100)}}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 4})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 10, Reserve: 0.2})
	require.NoError(t, err)
	f.layers = []seawall.Layer{rate, slots, fleet}
	f.Join(10)
	return f
}

// request applies the checks of one request and returns them, and how it was answered.
func (f *fixture) request(who string) ([]seawall.Check, []seawall.Result, error) {
	var checks []seawall.Check
	for _, l := range f.layers {
		checks = l.Plan(checks, &seawall.Request{Key: seawall.NewKey(who)})
	}
	results, err := f.Apply(context.Background(), nil, checks)
	return checks, results, err
}

func (f *fixture) release(t *testing.T, checks []seawall.Check) {
	for _, c := range checks {
		if h, ok := c.Rule.(seawall.Holder); ok {
			require.NoError(t, f.Release(context.Background(), seawall.Lease{Limit: c.Limit, Rule: h, Key: c.Key, ID: c.ID}))
		}
	}
}

func TestFailoverPassesTheSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		var now atomic.Int64
		now.Store(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC).UnixNano())
		clock := memstore.Config{Now: func() time.Time { return time.Unix(0, now.Load()) }}
		main, local := memstore.New(clock), memstore.New(clock)
		f, err := store.NewFailover(store.FailoverConfig{Shared: main, Local: local})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, f.Close(context.Background())) })
		return storetest.Subject{
			Store:   f,
			Advance: func(d time.Duration) { now.Add(int64(d)) },
			Renew:   func() { main.Renew(); local.Renew() },
		}
	})
}

func TestSlotsAreDecidedByWhatIsReallyInFlight(t *testing.T) {
	f := setUp(t)
	var held [][]seawall.Check
	for range 3 {
		checks, results, err := f.request("a")
		require.NoError(t, err)
		require.True(t, results[1].Committed)
		held = append(held, checks)
	}
	f.shared.gone = true
	checks, results, err := f.request("a")
	require.ErrorIs(t, err, errGone)
	for i, r := range results {
		assert.True(t, r.Admitted && r.Fallback, "check %d", i)
	}
	assert.True(t, results[1].Committed && results[2].Committed)
	held = append(held, checks)

	_, results, _ = f.request("a")
	assert.True(t, results[0].Admitted, "rates are let pass")
	assert.False(t, results[1].Admitted, "a fifth in flight")
	assert.False(t, results[2].Committed, "all or nothing, also locally")

	f.shared.gone = false
	f.release(t, held[0])
	_, results, err = f.request("a")
	require.NoError(t, err)
	assert.True(t, results[1].Committed)
	for _, checks := range held[1:] {
		f.release(t, checks)
	}
	f.shared.gone = true
	for i := range 3 {
		_, results, _ = f.request("a")
		assert.True(t, results[1].Committed, "slot %d that came back", i)
	}
	_, results, _ = f.request("a")
	assert.False(t, results[1].Admitted)
}

func TestEachInstanceHasItsShare(t *testing.T) {
	f := setUp(t)
	f.shared.gone, f.shared.instances = true, 3
	_, results, _ := f.request("a")
	assert.True(t, results[1].Committed)
	_, results, _ = f.request("a")
	assert.False(t, results[1].Admitted, "four slots over three instances are one each")
	for i := range 7 {
		_, results, _ = f.request(string(rune('b' + i)))
		assert.True(t, results[2].Committed)
	}
	_, results, _ = f.request("z")
	assert.False(t, results[2].Admitted, "the fleet's share are this instance's own workers")
}

func TestBehindWhatFailsClosedNothingCommits(t *testing.T) {
	f := setUp(t)
	login, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 100), OnFailure: seawall.FailClosed},
	}})
	require.NoError(t, err)
	f.layers[0] = login
	f.shared.gone = true
	for range 10 {
		_, results, _ := f.request("a")
		assert.False(t, results[1].Committed || results[2].Committed)
		assert.True(t, results[1].Admitted, "nothing is held by what is refused")
	}
}

func TestNewFailoverWantsTwoStores(t *testing.T) {
	_, err := store.NewFailover(store.FailoverConfig{})
	assert.ErrorContains(t, err, "required")
}

// TestAGrantTooManyIsRefused has the shared store forget a slot that is held, as one that never heard of a
// slot granted locally.
func TestAGrantTooManyIsRefused(t *testing.T) {
	f := setUp(t)
	f.shared.gone = true
	var held [][]seawall.Check
	for range 2 {
		checks, results, _ := f.request("a")
		require.True(t, results[1].Committed)
		held = append(held, checks)
	}
	f.shared.gone = false
	for range 2 {
		checks, results, err := f.request("a")
		require.NoError(t, err)
		require.True(t, results[1].Committed)
		held = append(held, checks)
	}
	used := f.Fleet().Used
	_, results, err := f.request("a") // the shared store knows of two only
	require.NoError(t, err)
	assert.False(t, results[1].Admitted, "a fifth in flight")
	assert.GreaterOrEqual(t, results[1].RetryAfter, time.Second)
	for i, r := range results {
		assert.False(t, r.Committed, "check %d", i)
	}
	assert.Equal(t, used, f.Fleet().Used, "its slot of the fleet went back")
	for _, checks := range held {
		f.release(t, checks)
	}
	_, results, _ = f.request("a")
	assert.True(t, results[1].Committed)
}
