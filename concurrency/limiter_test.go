package concurrency_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	for want, cfg := range map[string]concurrency.Config{
		"MaxInFlight is 0":    {},
		"MaxInFlight is -1":   {MaxInFlight: -1},
		`policy name "A"`:     {MaxInFlight: 1, Policy: "A"},
		"TTL is 999ms":        {MaxInFlight: 1, TTL: 999 * time.Millisecond},
		"TTL is -1s":          {MaxInFlight: 1, TTL: -time.Second},
		"TTL is 1h0m0.001s":   {MaxInFlight: 1, TTL: time.Hour + time.Millisecond},
		"TTL is 1.0000001s":   {MaxInFlight: 1, TTL: time.Second + 100},
		"OnFailure is 7":      {MaxInFlight: 1, OnFailure: 7},
		"MaxInFlight is -922": {MaxInFlight: math.MinInt64},
	} {
		_, err := concurrency.New(cfg)
		require.ErrorContains(t, err, "concurrency: ")
		require.ErrorContains(t, err, want)
	}
	for _, cfg := range []concurrency.Config{
		{MaxInFlight: 1}, {MaxInFlight: math.MaxInt64, TTL: time.Hour}, {MaxInFlight: 1, TTL: time.Second, Policy: "p"},
	} {
		_, err := concurrency.New(cfg)
		assert.NoError(t, err)
	}
}

func TestPlan(t *testing.T) {
	l, err := concurrency.New(concurrency.Config{
		MaxInFlight: 3, Match: func(r *seawall.Request) bool { return r.Route != "/stream" }, OnFailure: seawall.FailOpen,
	})
	require.NoError(t, err)
	assert.Equal(t, "concurrency:in-flight", l.Limits()[0].Name())
	assert.Equal(t, seawall.FailOpen, l.Limits()[0].OnFailure())
	assert.Equal(t, seawall.CauseQuota, l.Cause())
	caller := seawall.NewKey("a")
	got := l.Plan(nil, &seawall.Request{Key: caller, Cost: 7})
	require.Len(t, got, 1)
	assert.Equal(t, caller, got[0].Key)
	assert.EqualValues(t, 1, got[0].Cost, "a request holds one slot, whatever it costs")
	assert.Equal(t, concurrency.DefaultTTL, got[0].Rule.(seawall.Holder).TTL())
	assert.Empty(t, l.Plan(nil, &seawall.Request{Key: caller, Route: "/stream"}))
	assert.Empty(t, l.Plan(nil, &seawall.Request{}), "nobody's")
}

// TestLastSlots looks at when a release is worth waiting for: always where there is one slot.
func TestLastSlots(t *testing.T) {
	for _, c := range []struct {
		taken, slots    int64
		last            bool
		remaining       int64
		ok              bool
		retryAtLeastOne bool
	}{
		{0, 1, true, 0, true, false},
		{1, 1, false, 0, false, true},
		{0, 2, false, 1, true, false},
		{1, 2, true, 0, true, false},
		{14, 20, true, 5, true, false},
		{13, 20, false, 6, true, false},
		{25, 20, false, 0, false, true},
		{math.MaxInt64 - 1, math.MaxInt64, true, 0, true, false},
	} {
		r := concurrency.Describe(c.taken, c.slots, 1, c.ok, c.ok, &seawall.Check{})
		assert.Equal(t, c.last, r.Last, "%d of %d", c.taken, c.slots)
		assert.Equal(t, c.remaining, r.Remaining, "%d of %d", c.taken, c.slots)
		assert.Equal(t, c.retryAtLeastOne, r.RetryAfter >= time.Second)
	}
}

// TestSlotStates takes leases whose clock steps, with no store around them.
func TestSlotStates(t *testing.T) {
	l, err := concurrency.NewSlots(2, 10*time.Second)
	require.NoError(t, err)
	var s seawall.State
	at := func(d time.Duration) seawall.Env {
		return seawall.Env{Now: int64(1_800_000_000*time.Second) + int64(d)}
	}
	held := func(env seawall.Env) int64 {
		seen, ok := l.Check(&s, env, &seawall.Check{Cost: 1})
		assert.Equal(t, seen[0] < 2, ok)
		return seen[0]
	}
	assert.True(t, l.Idle(&s, at(0).Now))
	l.Release(&s, 1) // of a state never seen
	l.Commit(&s, at(0), &seawall.Check{ID: 1, Cost: 1})
	l.Commit(&s, at(time.Second), &seawall.Check{ID: 2, Cost: 1})
	assert.EqualValues(t, 2, held(at(10*time.Second-1)))
	assert.EqualValues(t, 1, held(at(10*time.Second)))
	assert.EqualValues(t, 0, held(at(11*time.Second)))
	assert.EqualValues(t, 2, held(at(-time.Hour)), "stepped back")
	assert.EqualValues(t, 0, held(at(-time.Hour+10*time.Second)), "locked out for one TTL at most")
	l.Renew(&s, at(0), 7, 1)
	assert.False(t, l.Idle(&s, at(0).Now))
	l.Release(&s, 7)
	l.Release(&s, 7)
	assert.True(t, l.Idle(&s, at(0).Now))
}
