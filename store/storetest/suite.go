package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// Run runs the suite. Each case opens a Subject of its own.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"I1 a bucket admits its burst, then its rate", burstThenRate},
		{"I1 a bucket of a rate that is no whole number of nanoseconds holds its burst", oddRates},
		{"I1 a bucket that takes a century to fill is exact to the microsecond", longBucket},
		{"I1 never over-admits under concurrency", concurrentBucket},
		{"I2 a denial costs nothing in every check", allOrNothing},
		{"I3 RetryAfter is exact", retryAfter},
		{"I3 a cost that cannot fit says never", never},
		{"I6 a clock that steps back locks nobody out", clockBack},
		{"I3 RetryAfter and ResetAfter of every quota are exact", exactRetry},
		{"I1 a sliding log holds every cost for a whole window", weightedLog},
		{"I1 a fixed window begins at its boundary", windowEdge},
		{"I1 a sliding counter weighs the window before", counterWeight},
		{"I6 a clock that steps back costs no quota's caller more than a refill", clockBackOfQuotas},
		{"what is peeked at, refunded or reset", undone},
		{"a peek and a refund among checks that decide", undoneAmongOthers},
		{"a policy of another algorithm begins afresh", otherKind},
		{"what was spent under another algorithm is not refunded from this one", otherKindRefunded},
		{"a window made longer tells waits that come true", longerWindow},
		{"a raised or lowered quota keeps what was spent", changedQuotas},
		{"advisory checks commit only if every check admits", advisoryChecks},
		{"count-only checks always admit and commit", countOnly},
		{"a changed limit keeps the debt in time", changedLimit},
		{"slots are taken and given back", slotsTaken},
		{"a release is idempotent and only of its own lease", releaseTwice},
		{"a lease that is not renewed expires, one that is stays", expiry},
		{"a lease of several slots takes and gives back as many", weights},
		{"who waits for a slot is served in order, also before those who do not wait", waiting},
		{"who does not ask again loses its place in line", waitingForgotten},
		{"a lease is never taken beyond the cap under concurrency", concurrentLease},
		{"the fleet keeps its reserve and never refuses critical", fleetReserve},
		{"a finished context is an error or an answer, and what it took can be released", finishedContext},
		{"keys of callers do not meet", keysApart},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func burstThenRate(t *testing.T, s Subject) {
	c := bucket(t, "api", "a", ratelimit.PerSecond(10), 20, 1)
	for i := range int64(20) {
		r := s.apply(t, c)[0]
		require.True(t, r.Admitted && r.Committed, "request %d", i)
		assert.Equal(t, seawall.Result{
			Admitted: true, Committed: true, Limit: 20, Remaining: 19 - i,
			NextAfter: 100 * time.Millisecond, ResetAfter: time.Duration(i+1) * 100 * time.Millisecond,
		}, r)
	}
	assert.Equal(t, seawall.Result{
		Limit: 20, RetryAfter: 100 * time.Millisecond, NextAfter: 100 * time.Millisecond, ResetAfter: 2 * time.Second,
	}, s.apply(t, c)[0])
	s.Advance(250 * time.Millisecond)
	assert.True(t, s.apply(t, c)[0].Admitted)
	assert.True(t, s.apply(t, c)[0].Admitted)
	r := s.apply(t, c)[0]
	assert.False(t, r.Admitted)
	assert.Equal(t, 50*time.Millisecond, r.RetryAfter)
}

func oddRates(t *testing.T, s Subject) {
	for _, rate := range []ratelimit.Rate{
		ratelimit.PerSecond(3), ratelimit.PerSecond(7),
		{Count: 11, Per: 2000 * time.Second},
		ratelimit.PerSecond(999_999),
		ratelimit.PerDay(1),
		{Count: 1, Per: 30 * 24 * time.Hour},
	} {
		for _, burst := range []int64{1, 3, 99} {
			c := bucket(t, "odd", rate.String()+string(rune('a'+burst)), rate, burst, 1)
			for i := range burst {
				require.Equal(t, burst-1-i, s.apply(t, c)[0].Remaining, "%v, burst %d, request %d", rate, burst, i)
			}
			assert.False(t, s.apply(t, c)[0].Admitted, "%v, burst %d", rate, burst)
		}
	}
}

// longBucket counts in more nanoseconds than a double holds.
func longBucket(t *testing.T, s Subject) {
	const burst, month = 1217, 30*24*time.Hour - 1
	micros := func(tokens int64) time.Duration {
		return time.Duration(tokens*int64(month)+999) / time.Microsecond * time.Microsecond
	}
	ask := func(cost int64) seawall.Result {
		return s.apply(t, bucket(t, "century", "a", ratelimit.Rate{Count: 1, Per: month}, burst, cost))[0]
	}
	assert.Equal(t, seawall.Result{Limit: burst, Remaining: burst, RetryAfter: seawall.Never}, ask(burst+1))
	spent := int64(0)
	for _, cost := range []int64{1, 615, 600} {
		spent += cost
		assert.Equal(t, seawall.Result{
			Admitted: true, Committed: true, Limit: burst, Remaining: burst - spent, NextAfter: micros(1), ResetAfter: micros(spent),
		}, ask(cost))
	}
	assert.Equal(t, seawall.Result{
		Limit: burst, Remaining: 1, RetryAfter: micros(1), NextAfter: micros(1), ResetAfter: micros(spent),
	}, ask(2))
	assert.True(t, ask(1).Committed)
	s.Advance(month.Truncate(time.Microsecond))
	assert.Equal(t, time.Microsecond, ask(1).RetryAfter, "less than that is missing")
	s.Advance(time.Microsecond)
	assert.True(t, ask(1).Committed)
}

func concurrentBucket(t *testing.T, s Subject) {
	c := bucket(t, "api", "busy", ratelimit.PerDay(1), 100, 1)
	assert.Equal(t, int64(100), hammer(t, s, c))
}

func concurrentLease(t *testing.T, s Subject) {
	assert.Equal(t, int64(7), hammer(t, s, lease(t, "busy", 7)))
}

// hammer applies c 400 times from 16 goroutines and returns how often it was committed.
func hammer(t *testing.T, s Subject, c seawall.Check) int64 {
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 25 {
				results, err := s.Store.Apply(context.Background(), nil, []seawall.Check{c})
				if assert.NoError(t, err) && results[0].Committed {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	return admitted.Load()
}

func allOrNothing(t *testing.T, s Subject) {
	wide := bucket(t, "wide", "a", ratelimit.PerHour(1), 100, 10)
	narrow := bucket(t, "narrow", "a", ratelimit.PerHour(1), 1, 1)
	slot := lease(t, "a", 5)
	first := s.apply(t, wide, slot, narrow)
	require.True(t, first[0].Committed && first[1].Committed && first[2].Committed)
	for range 3 {
		r := s.apply(t, wide, slot, narrow)
		assert.True(t, r[0].Admitted, "the wide limit alone admits")
		assert.False(t, r[0].Committed || r[1].Committed)
		if !r[0].Fallback { // it was asked, though it is known that another denies
			assert.Equal(t, int64(90), r[0].Remaining, "what is left after nothing was spent")
			assert.Equal(t, int64(4), r[1].Remaining)
		}
		assert.Zero(t, r[0].RetryAfter)
		assert.False(t, r[2].Admitted)
		assert.Equal(t, time.Hour, r[2].RetryAfter)
	}
}

func retryAfter(t *testing.T, s Subject) {
	for _, rate := range []ratelimit.Rate{ratelimit.PerSecond(8), {Count: 1, Per: 100 * time.Second}, ratelimit.PerDay(1)} {
		for _, cost := range []int64{1, 3, 5} {
			c := bucket(t, "api", rate.String()+string(rune('a'+cost)), rate, 5, cost)
			full := c
			full.Cost = 5
			require.True(t, s.apply(t, full)[0].Admitted)
			wait := s.apply(t, c)[0].RetryAfter
			assert.Equal(t, time.Duration(cost)*rate.Per/time.Duration(rate.Count), wait)
			s.Advance(wait - time.Millisecond)
			early := s.apply(t, c)[0]
			require.False(t, early.Admitted, "%v: admitted 1 ms early", rate)
			assert.Equal(t, time.Millisecond, early.RetryAfter)
			s.Advance(time.Millisecond)
			require.True(t, s.apply(t, c)[0].Admitted, "%v: refused after RetryAfter", rate)
		}
	}
}

func never(t *testing.T, s Subject) {
	c := bucket(t, "api", "a", ratelimit.PerSecond(1), 10, 11)
	r := s.apply(t, c)[0]
	assert.False(t, r.Admitted)
	assert.Equal(t, seawall.Never, r.RetryAfter)
	assert.Equal(t, int64(10), r.Remaining)
}

func clockBack(t *testing.T, s Subject) {
	c := bucket(t, "api", "a", ratelimit.PerSecond(1), 5, 1)
	slot := lease(t, "a", 1)
	for range 5 {
		require.True(t, s.apply(t, c)[0].Admitted)
	}
	s.Advance(-time.Hour)
	r := s.apply(t, c)[0]
	assert.False(t, r.Admitted)
	assert.Equal(t, time.Second, r.RetryAfter, "not an hour and a second")
	assert.Equal(t, 5*time.Second, r.ResetAfter)
	s.Advance(time.Second)
	assert.False(t, s.apply(t, bucket(t, "api", "a", ratelimit.PerSecond(1), 5, 5))[0].Admitted)
	assert.True(t, s.apply(t, c)[0].Admitted, "what it was told comes true")
	s.Advance(5 * time.Second)
	assert.True(t, s.apply(t, bucket(t, "api", "a", ratelimit.PerSecond(1), 5, 5))[0].Admitted, "full again")
	_, taken := s.take(t, slot)
	assert.True(t, taken.Committed)
}

func advisoryChecks(t *testing.T, s Subject) {
	open := bucket(t, "open", "a", ratelimit.PerHour(1), 1000, 1)
	empty := bucket(t, "empty", "a", ratelimit.PerHour(1), 1, 1)
	require.True(t, s.apply(t, empty)[0].Committed)
	left := func() int64 { return s.apply(t, advisory(open), empty)[0].Remaining } // spends nothing

	r := s.apply(t, open, advisory(empty)) // an advisory refusal vetoes nothing
	assert.True(t, r[0].Committed)
	assert.False(t, r[1].Admitted || r[1].Committed)
	assert.Equal(t, int64(999), left())

	r = s.apply(t, advisory(open), advisory(empty)) // behaves as if both were enforced
	assert.True(t, r[0].Admitted)
	assert.False(t, r[0].Committed || r[1].Committed)
	assert.Equal(t, int64(999), left())

	r = s.apply(t, advisory(open), empty)
	assert.False(t, r[0].Committed || r[1].Committed)
	assert.Equal(t, int64(999), left())

	r = s.apply(t, advisory(open))
	assert.True(t, r[0].Committed)
	assert.Equal(t, int64(998), left())
}

func countOnly(t *testing.T, s Subject) {
	c := lease(t, "a", 1)
	c.CountOnly = true
	for i := range 3 {
		r := s.apply(t, c)[0]
		assert.True(t, r.Admitted && r.Committed, "request %d", i)
		assert.Zero(t, r.Remaining)
	}
	c.CountOnly = false
	assert.False(t, s.apply(t, c)[0].Admitted, "what was counted is held")
}

func changedLimit(t *testing.T, s Subject) {
	for range 10 {
		require.True(t, s.apply(t, bucket(t, "api", "a", ratelimit.PerHour(10), 10, 1))[0].Admitted)
	}
	r := s.apply(t, bucket(t, "api", "a", ratelimit.PerHour(1000), 10, 1))[0]
	assert.False(t, r.Admitted)
	assert.Equal(t, 3600*time.Millisecond, r.RetryAfter, "the debt of an hour is cut to the new burst's 36 s")
	s.Advance(r.RetryAfter)
	r = s.apply(t, bucket(t, "api", "a", ratelimit.PerHour(1000), 10, 1))[0]
	assert.True(t, r.Admitted, "for good: what a refused caller was told comes true")

	for range 10 {
		require.True(t, s.apply(t, bucket(t, "api", "b", ratelimit.PerHour(10), 10, 1))[0].Admitted)
	}
	r = s.apply(t, bucket(t, "api", "b", ratelimit.PerHour(10), 20, 1))[0]
	assert.True(t, r.Admitted, "an hour of debt leaves ten of twenty")
	assert.Equal(t, int64(9), r.Remaining)
}

func finishedContext(t *testing.T, s Subject) {
	gone := lease(t, "gone", 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 5 {
		checks := []seawall.Check{gone}
		results, err := s.Store.Apply(ctx, nil, checks)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			assert.Empty(t, results)
		}
		if err != nil || results[0].Committed {
			s.release(t, checks[0])
		}
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		results, err := s.Store.Apply(context.Background(), nil, []seawall.Check{gone})
		require.NoError(t, err)
		require.True(t, results[0].Committed, "what was released, whether or not it was taken, is free")
	}, 5*time.Second, 20*time.Millisecond)
}

func keysApart(t *testing.T, s Subject) {
	for _, caller := range []string{"", "{", "}", "{a}", "a}b", "a:b", "a", "\x00", "\r\n", "é", string(make([]byte, 1<<20))} {
		c := bucket(t, "api", caller, ratelimit.PerHour(1), 1, 1)
		require.True(t, s.apply(t, c)[0].Admitted, "%.10q", caller)
		require.False(t, s.apply(t, c)[0].Admitted, "%.10q", caller)
	}
}
