package memstore_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestManyChecksAtTheBound has requests of more checks, all of one shard, than the store may keep states.
func TestManyChecksAtTheBound(t *testing.T) {
	for _, maxKeys := range []int{1, 3, 5} {
		s, _ := small(t, maxKeys)
		var checks []seawall.Check
		for i := range 5 {
			checks = append(checks, perDay(t, "policy-"+strconv.Itoa(i), 1_000))
		}
		slot := slotsOf(t, 1_000)
		k := seawall.NewKey("a")
		spend := func(k seawall.Key, checks ...seawall.Check) []seawall.Result {
			checks = append(append([]seawall.Check(nil), checks...), slot)
			for i := range checks {
				checks[i].Key = k
			}
			results, err := s.Apply(t.Context(), nil, checks)
			require.NoError(t, err)
			return results
		}
		for round := range int64(100) {
			for _, r := range spend(k, checks...) {
				require.Equal(t, r.Limit-1-round, r.Remaining)
			}
		}
		// Another caller of the shard takes their places; what a request works on keeps its own.
		other := 0
		for s.ShardOf(numbered("", other)) != s.ShardOf(k) {
			other++
		}
		for round := range int64(100) {
			for _, r := range spend(numbered("", other), checks...) {
				require.Equal(t, r.Limit-1-round, r.Remaining)
			}
		}
		// Two of five are known.
		spend(k, checks[1], checks[3])
		require.True(t, remembers(t, s, checks[1], k) && remembers(t, s, checks[3], k))
		known := map[int]int64{}
		for i, c := range checks {
			c.Op = seawall.Peek
			r, _ := ask(t, s, c, k)
			known[i] = r.Remaining
		}
		for i, r := range spend(k, checks...)[:5] {
			require.Equal(t, known[i]-1, r.Remaining)
			require.True(t, remembers(t, s, checks[i], k), "max %d, check %d", maxKeys, i)
		}
		assert.Equal(t, s.Recount(), s.Counts())
		assert.LessOrEqual(t, s.Counts().Open, maxKeys+10)
	}
}

// TestIdleSlotInUse has a request whose one slot makes room where its other one, idle but known, is kept.
func TestIdleSlotInUse(t *testing.T) {
	s, _ := small(t, 0)
	known, added := slotsOf(t, 1), slotsOf(t, 1)
	added.Limit = limitOf(t, concurrency.Name, "added")
	k := seawall.NewKey("a")
	for i, held := 0, 0; held < memstore.SpareSlots/memstore.Shards; i++ { // fill its shard
		if other := numbered("", i); s.ShardOf(other) == s.ShardOf(k) {
			ask(t, s, known, other)
			held++
		}
	}
	for range 100 {
		_, l := ask(t, s, known, k)
		require.NoError(t, s.Release(t.Context(), l))
		checks := []seawall.Check{added, known}
		checks[0].Key, checks[1].Key = k, k
		_, err := s.Apply(t.Context(), nil, checks)
		require.NoError(t, err)
		for _, c := range checks {
			r, _ := ask(t, s, c, k)
			require.False(t, r.Admitted, "its slot was forgotten")
			l := seawall.Lease{Limit: c.Limit, Rule: c.Rule.(seawall.Holder), Key: c.Key, Cost: c.Cost, ID: c.ID}
			require.NoError(t, s.Release(t.Context(), l))
		}
		added.Op = seawall.Reset
		ask(t, s, added, k)
		added.Op = seawall.Spend
	}
}

// TestResetThenSpend resets and spends in one request: the spending counts.
func TestResetThenSpend(t *testing.T) {
	s, _ := small(t, 0)
	for _, c := range []seawall.Check{perDay(t, "api", 5), slotsOf(t, 5)} {
		k := seawall.NewKey("a")
		c.Key = k
		ask(t, s, c, k)
		reset := c
		reset.Op = seawall.Reset
		_, err := s.Apply(t.Context(), nil, []seawall.Check{reset, c})
		require.NoError(t, err)
		r, _ := ask(t, s, c, k)
		assert.EqualValues(t, 3, r.Remaining, "one was spent since the reset, and one just now")
	}
}

// TestOneNameTwice has two checks of one limit in a request: only one state is kept.
func TestOneNameTwice(t *testing.T) {
	s, _ := small(t, 0)
	c, slot := perDay(t, "api", 5), slotsOf(t, 5)
	c.Key, slot.Key = seawall.NewKey("a"), seawall.NewKey("a")
	window := c
	var err error
	window.Rule, err = ratelimit.FixedWindow(5, ratelimit.Daily()).Rule()
	require.NoError(t, err)
	for _, checks := range [][]seawall.Check{{c, c}, {c, window}, {window, c, c}, {slot, slot, c}} {
		_, err := s.Apply(t.Context(), nil, checks)
		require.NoError(t, err)
		assert.Equal(t, s.Recount(), s.Counts())
		assert.Equal(t, 1, s.Counts().Open)
	}
}

// TestKindsReplaceEachOther lets a limit's rule change, while its state is open and while it is refused.
func TestKindsReplaceEachOther(t *testing.T) {
	s, _ := small(t, 0)
	c, k := perDay(t, "api", 1), seawall.NewKey("a")
	window := c
	var err error
	window.Rule, err = ratelimit.FixedWindow(1, ratelimit.Daily()).Rule()
	require.NoError(t, err)
	for range 3 {
		for _, c := range []seawall.Check{c, window} {
			r, _ := ask(t, s, c, k)
			require.True(t, r.Admitted)
			assert.Equal(t, memstore.Counts{Open: 1}, s.Counts())
			r, _ = ask(t, s, c, k)
			require.False(t, r.Admitted)
			assert.Equal(t, memstore.Counts{Refused: 1}, s.Counts())
		}
	}
	assert.Equal(t, s.Recount(), s.Counts())
}

// TestTwoKindsOfOneNameAreCountedOnce has one request ask about one state by rules of two kinds: what one of them replaces
// or forgets is gone for the other, too.
func TestTwoKindsOfOneNameAreCountedOnce(t *testing.T) {
	bucket, k := perDay(t, "api", 1), seawall.NewKey("a")
	window := bucket
	var err error
	window.Rule, err = ratelimit.FixedWindow(10, ratelimit.Daily()).Rule()
	require.NoError(t, err)
	bucket.Key, window.Key = k, k
	counted, advisory, reset := bucket, bucket, window
	counted.CountOnly, advisory.Advisory, reset.Op = true, true, seawall.Reset
	for name, test := range map[string]struct {
		refused bool
		checks  []seawall.Check
	}{
		"replaced, then spent from":      {true, []seawall.Check{window, counted}},
		"replaced, then refused":         {false, []seawall.Check{window, advisory}},
		"forgotten, then spent from":     {true, []seawall.Check{reset, counted}},
		"forgotten, then refused":        {false, []seawall.Check{reset, advisory}},
		"forgotten twice, then replaced": {true, []seawall.Check{reset, reset, window, counted}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := small(t, 0)
			ask(t, s, bucket, k)
			if test.refused {
				ask(t, s, bucket, k)
			}
			_, err := s.Apply(t.Context(), nil, append([]seawall.Check(nil), test.checks...))
			require.NoError(t, err)
			assert.Equal(t, s.Recount(), s.Counts())
		})
	}
}

// TestAssumeWhereSlotsAreHeld is about a limit whose rule has become another.
func TestAssumeWhereSlotsAreHeld(t *testing.T) {
	s, _ := small(t, 0)
	c, k := slotsOf(t, 1), seawall.NewKey("a")
	ask(t, s, c, k)
	rate := perDay(t, "api", 10)
	rate.Limit, rate.Key = c.Limit, k
	s.Assume(rate, 3)
	r, _ := ask(t, s, rate, k)
	assert.EqualValues(t, 2, r.Remaining)
	assert.Equal(t, s.Recount(), s.Counts())
}
