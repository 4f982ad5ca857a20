package memstore_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// small returns a store of at most so many open states, and what moves its clock.
func small(t *testing.T, maxKeys int) (*memstore.Store, func(time.Duration)) {
	t.Helper()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Config{MaxKeys: maxKeys, Now: func() time.Time { return now }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s, func(d time.Duration) { now = now.Add(d) }
}

func limitOf(t *testing.T, layer, policy string) *seawall.Limit {
	t.Helper()
	l, err := seawall.NewLimit(layer, policy, seawall.FailLocal)
	require.NoError(t, err)
	return l
}

// perDay is a check on a bucket that takes days to fill.
func perDay(t *testing.T, policy string, burst int64) seawall.Check {
	t.Helper()
	rule, err := ratelimit.TokenBucket(ratelimit.PerDay(1), burst).Rule()
	require.NoError(t, err)
	return seawall.Check{Limit: limitOf(t, ratelimit.Name, policy), Rule: rule, Cost: 1}
}

func slotsOf(t *testing.T, n int64) seawall.Check {
	t.Helper()
	rule, err := concurrency.NewSlots(n, time.Hour)
	require.NoError(t, err)
	return seawall.Check{Limit: limitOf(t, concurrency.Name, "api"), Rule: rule, Cost: 1}
}

func numbered(prefix string, i int) seawall.Key { return seawall.NewKey(prefix + strconv.Itoa(i)) }

// ask applies c for a caller.
func ask(t *testing.T, s *memstore.Store, c seawall.Check, k seawall.Key) (seawall.Result, seawall.Lease) {
	c.Key, c.ID = k, 0
	checks := [...]seawall.Check{c}
	var buf [1]seawall.Result
	results, err := s.Apply(t.Context(), buf[:0], checks[:])
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	h, _ := c.Rule.(seawall.Holder)
	return results[0], seawall.Lease{Limit: c.Limit, Rule: h, Key: k, ID: checks[0].ID}
}

// remembers tells whether the store knows that a caller has spent from c.
func remembers(t *testing.T, s *memstore.Store, c seawall.Check, k seawall.Key) bool {
	c.Op = seawall.Peek
	r, _ := ask(t, s, c, k)
	return r.Remaining < r.Limit
}
