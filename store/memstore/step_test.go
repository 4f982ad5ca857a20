package memstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/race"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestNobodySpendsTwice has many goroutines spend from a few buckets without a lock, while others ask with it, the tables
// grow, shrink and are swept, and states of new callers make others go.
func TestNobodySpendsTwice(t *testing.T) {
	const callers, workers = 4, 8
	burst := int64(100_000)
	if race.Detector {
		burst = 10_000
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Config{MaxKeys: 2_000, Now: func() time.Time { return now }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	c, other, slot := perDay(t, "api", 1), perDay(t, "others", 1), slotsOf(t, 1_000_000)
	rule, err := ratelimit.TokenBucket(ratelimit.PerHour(100), burst).Rule() // the clock stands still
	require.NoError(t, err)
	c.Rule = rule
	var admitted [callers]atomic.Int64
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range 2 * callers * int(burst) / workers {
				k := numbered("busy-", i%callers)
				switch {
				case i%64 == w: // two at a time take the lock
					c, slot := c, slot
					c.Key, slot.Key = k, k
					results, err := s.Apply(t.Context(), nil, []seawall.Check{c, slot})
					if assert.NoError(t, err) && results[0].Committed {
						admitted[i%callers].Add(1)
					}
				case i%64 == w+8:
					ask(t, s, other, numbered("other-", w<<32+i))
				case i%4096 == w:
					s.Sweep()
				default:
					if r, _ := ask(t, s, c, k); r.Committed {
						admitted[i%callers].Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range callers {
		assert.Equal(t, burst, admitted[i].Load(), "of caller %d", i)
	}
	assert.Equal(t, s.Recount(), s.Counts())
}

// TestStepsAreDecisions decides the same with a lock and without.
func TestStepsAreDecisions(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	alone, together := memstore.New(memstore.Config{Now: clock}), memstore.New(memstore.Config{Now: clock})
	t.Cleanup(func() {
		assert.NoError(t, alone.Close(context.Background()))
		assert.NoError(t, together.Close(context.Background()))
	})
	for name, q := range map[string]ratelimit.Quota{
		"bucket": ratelimit.TokenBucket(ratelimit.PerSecond(1), 3),
		"window": ratelimit.FixedWindow(3, ratelimit.Every(3*time.Second)),
		"log":    ratelimit.SlidingLog(3, 3*time.Second), // of more than a word
	} {
		rule, err := q.Rule()
		require.NoError(t, err)
		c := seawall.Check{Limit: limitOf(t, ratelimit.Name, "a"), Rule: rule, Key: seawall.NewKey(name), Cost: 1}
		bystander := perDay(t, "b", 1_000)
		bystander.Key, bystander.CountOnly = c.Key, true
		refused := 0
		for i := range 200 {
			now = now.Add(time.Duration(i*i%1700) * time.Millisecond)
			if i%50 == 49 {
				now = now.Add(-time.Hour)
			}
			c.Cost, c.CountOnly, c.Advisory = int64(1+i%3), i%7 == 0, i%5 == 0
			one, err := alone.Apply(t.Context(), nil, []seawall.Check{c})
			require.NoError(t, err)
			two, err := together.Apply(t.Context(), nil, []seawall.Check{c, bystander})
			require.NoError(t, err)
			require.Equal(t, two[0], one[0], "%s, step %d", name, i)
			if !one[0].Admitted {
				refused++
			}
		}
		assert.Greater(t, refused, 20, name)
		assert.Less(t, refused, 180, name)
	}
}

// TestADecisionAllocatesNothing counts allocations: of one check without a lock, and of a rate, a slot and a slot of the
// fleet, which are given back.
func TestADecisionAllocatesNothing(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	s := memstore.New(memstore.Config{})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	rate, slot, fleet := perDay(t, "api", 10_000), slotsOf(t, 5), slotsOf(t, 100)
	fleet.Limit = limitOf(t, "fleetshed", "fleet")
	keys := make([]seawall.Key, 1_000)
	for i := range keys {
		keys[i] = numbered("", i)
	}
	results := make([]seawall.Result, 0, 3)
	leases := make([]seawall.Lease, 0, 2)
	ask := func(checks []seawall.Check, i int) {
		for j := range checks {
			checks[j].Key, checks[j].ID = keys[i%len(keys)], 0
		}
		if len(checks) > 2 {
			checks[2].Key = seawall.FleetKey()
		}
		answers, err := s.Apply(t.Context(), results, checks)
		if err != nil || !answers[0].Committed {
			t.Fatal(answers, err)
		}
		leases = leases[:0]
		for j := range checks {
			if l, ok := checks[j].Lease(); ok {
				leases = append(leases, l)
			}
		}
		_ = s.Release(t.Context(), leases...)
	}
	for _, checks := range [][]seawall.Check{{rate}, {rate, slot, fleet}} {
		i := 0
		for range 10 * len(keys) {
			ask(checks, i)
			i++
		}
		assert.Zero(t, testing.AllocsPerRun(5_000, func() { ask(checks, i); i++ }), "%d checks", len(checks))
		assert.Zero(t, s.Fleet().Used)
	}
}
