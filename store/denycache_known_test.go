package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
)

// The tests in this file are about which denials are kept, and whom they are told.

func TestTheCostDecidesWhatIsKnown(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 10))
	d.ask(t, costing(c, 7))
	for _, step := range []struct {
		cost  int64
		asked bool
		wait  time.Duration
	}{
		{5, true, 2 * time.Hour},
		{5, false, 2 * time.Hour},
		{4, true, time.Hour},     // less than what was denied: it might fit
		{6, true, 3 * time.Hour}, // more: denied, but for how long is not known
		{5, false, 2 * time.Hour},
		{4, false, time.Hour},
		{6, false, 3 * time.Hour},
		{11, false, seawall.Never},
		{1 << 62, false, seawall.Never}, // more than ever fits
		{7, true, 4 * time.Hour},
		{8, true, 5 * time.Hour}, // four costs are known, the latest first
		{6, false, 3 * time.Hour},
		{4, false, time.Hour},
		{5, true, 2 * time.Hour},
	} {
		results, asked := d.ask(t, costing(c, step.cost))
		assert.Equal(t, step.asked, asked, "cost %d", step.cost)
		assert.Equal(t, step.wait, results[0].RetryAfter, "cost %d", step.cost)
		assert.EqualValues(t, 3, results[0].Remaining)
	}
	results, asked := d.ask(t, costing(c, 3))
	assert.True(t, asked && results[0].Committed, "what is left is there to spend")
	results, asked = d.ask(t, costing(c, 5))
	assert.True(t, asked, "the numbers have changed")
	assert.Equal(t, 5*time.Hour, results[0].RetryAfter)
}

func TestWhatIsAskedAgainTakesNoMorePlaces(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 1000))
	d.ask(t, costing(c, 1000))
	open := advisory(spends(t, "open", perSecond(1)))
	d.ask(t, costing(c, 1))
	for range 4 {
		_, asked := d.ask(t, open, costing(c, 2))
		require.True(t, asked)
	}
	_, asked := d.ask(t, costing(c, 1))
	assert.False(t, asked)
}

func TestWhereEverythingComesBackTogetherEveryCostIsKnown(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.FixedWindow(10, ratelimit.Daily()))
	first := d.exhaust(t, costing(c, 9), 1)
	for _, cost := range []int64{9, 10} {
		results, asked := d.ask(t, costing(c, cost))
		assert.False(t, asked)
		assert.Equal(t, first, results[0])
	}
	_, asked := d.ask(t, costing(c, 8))
	assert.True(t, asked)
}

func TestAnotherRuleIsAsked(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 1))
	d.exhaust(t, c, 1)
	plus := c
	plus.Rule = ruleOf(t, ratelimit.TokenBucket(ratelimit.PerHour(1), 2))
	results, asked := d.ask(t, plus)
	assert.True(t, asked && results[0].Committed, "a plan with more")
	_, asked = d.ask(t, c)
	assert.True(t, asked, "and what was known under the other is no longer exact")
	same := c
	same.Rule = ruleOf(t, ratelimit.TokenBucket(ratelimit.PerHour(1), 1)) // a reloaded one
	_, asked = d.ask(t, same)
	assert.True(t, asked)
	_, asked = d.ask(t, same)
	assert.False(t, asked)
	_, asked = d.ask(t, c)
	assert.True(t, asked, "one rule is known at a time")
}

// TestARefusalThatIsNotRememberedMakesForgotten refuses under a plan that may have cut what is owed.
func TestARefusalThatIsNotRememberedMakesForgotten(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 2))
	d.exhaust(t, c, 2)
	less := c
	less.Rule = uncomparable{Rule: ruleOf(t, ratelimit.TokenBucket(ratelimit.PerHour(1), 1))}
	results, asked := d.ask(t, less)
	require.True(t, asked)
	require.False(t, results[0].Admitted)
	results, asked = d.ask(t, c)
	assert.True(t, asked && results[0].Committed)
}

func TestWhoSpendsMakesNobodyElseForgotten(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 1))
	d.exhaust(t, c, 1)
	neighbour := c
	for n := 0; n == 0 || neighbour.Key.Hash()%1024 != c.Key.Hash()%1024; n++ { // forgotten together
		neighbour.Key = seawall.NewKey(fmt.Sprint(n))
	}
	require.True(t, must(d.ask(t, neighbour))[0].Committed)
	_, asked := d.ask(t, c)
	assert.False(t, asked)
}

func TestOtherCallersAndLimitsAreAsked(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 1))
	d.exhaust(t, c, 1)
	caller, limit := c, c
	caller.Key = seawall.NewKey("b")
	limit.Limit = spends(t, "other", perSecond(1)).Limit
	for _, other := range []seawall.Check{caller, limit} {
		results, _ := d.ask(t, other)
		assert.True(t, results[0].Committed)
	}
}

func TestLeasesAreNeverKnown(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	again := slotOf(t, "a", 1)
	slot := []seawall.Check{again}
	results, err := d.Apply(t.Context(), nil, slot)
	require.NoError(t, err)
	require.True(t, results[0].Committed)
	for range 3 {
		results, asked := d.ask(t, again)
		assert.True(t, asked)
		assert.False(t, results[0].Admitted)
	}
	require.NoError(t, d.Release(t.Context(), seawall.Lease{Limit: slot[0].Limit, Rule: slot[0].Rule.(seawall.Holder), Key: slot[0].Key, Cost: slot[0].Cost, ID: slot[0].ID}))
	results, _ = d.ask(t, again)
	assert.True(t, results[0].Committed)
}

// uncomparable is a rule that == panics on.
type uncomparable struct {
	seawall.Rule
	_ []int
}

func TestRulesThatCannotBeComparedAreNeverKnown(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", perSecond(1))
	c.Rule = uncomparable{Rule: c.Rule}
	d.exhaust(t, c, 1)
	_, asked := d.ask(t, c)
	assert.True(t, asked)
}

// TestResultsThatMayChangeAreNeverKnown has the store answer as it likes.
func TestResultsThatMayChangeAreNeverKnown(t *testing.T) {
	c := spends(t, "api", perSecond(1))
	counted := c
	counted.CountOnly = true
	denied := seawall.Result{Limit: 1, RetryAfter: time.Hour}
	for name, say := range map[string]struct {
		c   seawall.Check
		res seawall.Result
		err error
	}{
		"no wait is known":              {c, seawall.Result{Limit: 1}, nil},
		"it was decided elsewhere":      {c, seawall.Result{Limit: 1, RetryAfter: time.Hour, Fallback: true}, nil},
		"it was decided without":        {c, denied, errGone},
		"a check that only counts":      {counted, denied, nil},
		"it was admitted, but for what": {c, seawall.Result{Limit: 1, Admitted: true, RetryAfter: time.Hour}, nil},
	} {
		d := newDenying(t, store.DenyCacheConfig{})
		d.behind = func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
			return append(dst, say.res), say.err
		}
		before := []seawall.Result{{Limit: 99}}
		for n := range 4 {
			if n == 3 {
				say.c.CountOnly = false // what it was told is not known of others, either
			}
			results, err := d.Apply(t.Context(), before, []seawall.Check{say.c})
			assert.Equal(t, say.err, err, name)
			assert.Equal(t, append(before, say.res), results, name)
			assert.Equal(t, n+1, d.calls(), name)
		}
	}
}

func TestAStoreThatAnswersLessIsPassedOn(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	d.behind = func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
		return dst, nil
	}
	results, err := d.Apply(t.Context(), nil, []seawall.Check{spends(t, "api", perSecond(1))})
	require.NoError(t, err)
	assert.Empty(t, results)
}
