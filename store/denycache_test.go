package store_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/race"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/storetest"
)

func TestDenyCachePassesTheSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		d := newDenying(t, store.DenyCacheConfig{})
		return storetest.Subject{Store: d, Advance: d.Advance, Renew: d.bare.Renew}
	})
}

func TestADenialFromMemoryCostsNothing(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	hourly := func(burst int64) ratelimit.Quota { return ratelimit.TokenBucket(ratelimit.PerHour(1), burst) }
	wide, narrow := costing(spends(t, "wide", hourly(100)), 10), spends(t, "narrow", hourly(1))
	slot := slotOf(t, "a", 5)
	results, _ := d.ask(t, wide, slot, narrow)
	require.True(t, results[0].Committed && results[1].Committed && results[2].Committed)
	for n := range 4 {
		results, asked := d.ask(t, wide, slot, narrow)
		assert.Equal(t, n == 0, asked)
		assert.False(t, results[0].Committed || results[1].Committed || results[2].Admitted)
		assert.Equal(t, time.Hour, results[2].RetryAfter)
	}
	results, _ = d.ask(t, doing(wide, seawall.Peek), doing(slot, seawall.Peek))
	assert.EqualValues(t, 90, results[0].Remaining)
	assert.EqualValues(t, 4, results[1].Remaining)
}

func TestNewDenyCacheRefusesWhatCannotWork(t *testing.T) {
	some := memstore.New(memstore.Config{})
	t.Cleanup(func() { assert.NoError(t, some.Close(context.Background())) })
	for want, cfg := range map[string]store.DenyCacheConfig{
		"Store is nil; want a store":                      {},
		"MaxKeys is -1; want at least 1, or 0 for 65536":  {Store: some, MaxKeys: -1},
		"MaxAge is -1ns; want more than 0 and at most 10": {Store: some, MaxAge: -1},
		"MaxAge is 10.000000001s; want more than 0":       {Store: some, MaxAge: 10*time.Second + 1},
	} {
		_, err := store.NewDenyCache(cfg)
		assert.ErrorContains(t, err, "store: DenyCacheConfig."+want)
	}
}

// TestADenialHoldsUntilItsRetryAfter goes by the real clock, in a bubble.
func TestADenialHoldsUntilItsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := store.NewDenyCache(store.DenyCacheConfig{Store: memstore.New(memstore.Config{})})
		require.NoError(t, err)
		defer func() { assert.NoError(t, c.Close(context.Background())) }()
		check := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerSecond(3), 1))
		apply := func() seawall.Result {
			results, err := c.Apply(t.Context(), nil, []seawall.Check{check})
			require.NoError(t, err)
			results[0].Repeated = false
			return results[0]
		}
		require.True(t, apply().Committed)
		time.Sleep(100 * time.Millisecond)
		first := apply()
		require.Equal(t, seawall.Result{
			Limit: 1, RetryAfter: 233_334 * time.Microsecond, NextAfter: 233_334 * time.Microsecond, ResetAfter: 233_334 * time.Microsecond,
		}, first)
		time.Sleep(33*time.Millisecond + 999)
		assert.Equal(t, later(first, 33*time.Millisecond), apply(), "whole microseconds, rounded up")
		time.Sleep(first.RetryAfter - 33*time.Millisecond - 1000)
		assert.Equal(t, time.Microsecond, apply().RetryAfter)
		assert.EqualValues(t, 2, c.Saved())
		time.Sleep(time.Nanosecond)
		assert.True(t, apply().Committed, "the token is there")
		assert.EqualValues(t, 2, c.Saved())
	})
}

// TestADenialHoldsUntilItsFirstNumberIsOver has the store answer as it likes.
func TestADenialHoldsUntilItsFirstNumberIsOver(t *testing.T) {
	const soon, never = 100 * time.Millisecond, seawall.Never
	for _, told := range []seawall.Result{
		{RetryAfter: soon},
		{RetryAfter: time.Hour, NextAfter: soon},
		{RetryAfter: time.Hour, ResetAfter: soon, NextAfter: time.Hour},
		{RetryAfter: never, NextAfter: soon, ResetAfter: time.Hour},
		{RetryAfter: never, ResetAfter: soon},
		{RetryAfter: soon, NextAfter: 2 * soon, ResetAfter: 3 * soon},
	} {
		d := newDenying(t, store.DenyCacheConfig{})
		d.behind = func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
			return append(dst, told), nil
		}
		c := spends(t, "api", perSecond(1))
		d.ask(t, c)
		d.Advance(soon - time.Microsecond)
		results, asked := d.ask(t, c)
		assert.False(t, asked, "%+v", told)
		assert.Equal(t, later(told, soon-time.Microsecond), results[0])
		d.Advance(-soon) // somebody who looked at the clock before the denial was learnt
		results, asked = d.ask(t, c)
		assert.False(t, asked, "%+v", told)
		assert.Equal(t, told, results[0], "no more than was told")
		d.Advance(soon + time.Microsecond)
		_, asked = d.ask(t, c)
		assert.True(t, asked, "%+v", told)
	}
}

func TestADenialHoldsUntilAnythingGrows(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	five := costing(spends(t, "api", ratelimit.TokenBucket(ratelimit.PerSecond(10), 5)), 5)
	first := d.exhaust(t, five, 1)
	require.Equal(t, 500*time.Millisecond, first.RetryAfter)
	d.Advance(100*time.Millisecond - 1)
	_, asked := d.ask(t, five)
	assert.False(t, asked)
	d.Advance(1)
	results, asked := d.ask(t, five)
	assert.True(t, asked, "one more remains")
	assert.EqualValues(t, 1, results[0].Remaining)
}

func TestADenialHoldsNoLongerThanMaxAge(t *testing.T) {
	for want, age := range map[time.Duration]time.Duration{time.Second: 0, 3 * time.Second: 3 * time.Second} {
		d := newDenying(t, store.DenyCacheConfig{MaxAge: age})
		c := spends(t, "api", ratelimit.FixedWindow(1, ratelimit.Daily()))
		never := costing(spends(t, "other", perSecond(1)), 2)
		first := d.exhaust(t, c, 1)
		d.ask(t, never)
		d.Advance(want - time.Microsecond)
		results, asked := d.ask(t, c)
		assert.False(t, asked)
		assert.Equal(t, later(first, want-time.Microsecond), results[0])
		results, asked = d.ask(t, never)
		assert.False(t, asked)
		assert.Equal(t, seawall.Result{Limit: 1, Remaining: 1, RetryAfter: seawall.Never}, results[0])
		d.Advance(time.Microsecond)
		_, asked = d.ask(t, c)
		assert.True(t, asked)
		_, asked = d.ask(t, never)
		assert.True(t, asked)
	}
}

// TestADenialCountsFromBeforeTheStoreWasAsked has the store take its time.
func TestADenialCountsFromBeforeTheStoreWasAsked(t *testing.T) {
	d := newDenying(t, store.DenyCacheConfig{})
	c := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerSecond(2), 1))
	d.exhaust(t, c, 1)
	d.Advance(500 * time.Millisecond)
	d.behind = func(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		results, err := d.bare.Apply(ctx, dst, checks)
		d.Advance(300 * time.Millisecond) // its answer is under way for long
		return results, err
	}
	results, _ := d.ask(t, c)
	require.True(t, results[0].Committed)
	results, asked := d.ask(t, c)
	require.True(t, asked)
	require.Equal(t, 200*time.Millisecond, results[0].RetryAfter)
	results, asked = d.ask(t, c)
	assert.True(t, asked, "it is over already")
	assert.True(t, results[0].Committed)
}

func TestTheSizeIsBounded(t *testing.T) {
	const most = 1000
	keys := 1_000_000
	if race.Detector {
		keys = 100_000
	}
	d := newDenying(t, store.DenyCacheConfig{MaxKeys: most})
	d.behind = func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
		return append(dst, seawall.Result{Limit: 1, RetryAfter: time.Hour}), nil
	}
	checks := []seawall.Check{spends(t, "api", perSecond(1))}
	dst := make([]seawall.Result, 0, 1)
	for i := range keys {
		checks[0].Key = seawall.NewKey(fmt.Sprint(i))
		_, err := d.Apply(t.Context(), dst, checks)
		require.NoError(t, err)
		if i%(keys/10) == 0 {
			require.LessOrEqual(t, d.Len(), most)
		}
	}
	assert.Positive(t, d.Len())
	assert.LessOrEqual(t, d.Len(), most)

	checks[0].Key = seawall.NewKey("who comes late and keeps asking")
	saved := d.Saved()
	for range 100 {
		_, err := d.Apply(t.Context(), dst, checks)
		require.NoError(t, err)
	}
	assert.Greater(t, d.Saved()-saved, uint64(80), "a flood of others does not keep anybody out")
}

func TestAHitDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	d, checks := exhausted(t, 1)
	dst := make([]seawall.Result, 0, 1)
	before := d.Saved()
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		_, _ = d.Apply(context.Background(), dst, checks)
	}))
	assert.EqualValues(t, 1001, d.Saved()-before)
}

// member is a store that has everything that a store may have.
type member struct {
	seawall.Store
	workers  int64
	prepared []seawall.Check
	released []seawall.Lease
}

func (m *member) Join(workers int64)              { m.workers = workers }
func (m *member) Fleet() seawall.Fleet            { return seawall.Fleet{Instances: 7} }
func (m *member) Prepare(checks []seawall.Check)  { m.prepared = checks }
func (m *member) String() string                  { return "shared" }
func (m *member) Close(ctx context.Context) error { return ctx.Err() }

func (m *member) Release(_ context.Context, leases ...seawall.Lease) error {
	m.released = leases
	return errGone
}

func TestDenyCacheForwardsWhatTheStoreHas(t *testing.T) {
	m := &member{}
	c, err := store.NewDenyCache(store.DenyCacheConfig{Store: m})
	require.NoError(t, err)
	c.Join(3)
	c.Prepare([]seawall.Check{{Cost: 5}})
	assert.ErrorIs(t, c.Release(t.Context(), seawall.Lease{ID: 4}), errGone)
	assert.EqualValues(t, 3, m.workers)
	assert.Equal(t, []seawall.Check{{Cost: 5}}, m.prepared)
	assert.Equal(t, []seawall.Lease{{ID: 4}}, m.released)
	assert.Equal(t, seawall.Fleet{Instances: 7}, c.Fleet())
	assert.Equal(t, "shared", c.String())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, c.Close(gone), context.Canceled)

	c, err = store.NewDenyCache(store.DenyCacheConfig{Store: struct{ seawall.Store }{m}})
	require.NoError(t, err)
	c.Join(4)
	c.Prepare(nil)
	assert.Equal(t, seawall.Fleet{Instances: 1}, c.Fleet())
	assert.Equal(t, "store", c.String())
	assert.NoError(t, c.Close(gone))
}
