package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// tens are ten a minute by every algorithm, and how long a caller who has just spent all must wait for five.
var tens = []struct {
	name  string
	quota ratelimit.Quota
	five  time.Duration
}{
	{"bucket", ratelimit.TokenBucket(ratelimit.PerMinute(10), 10), 30 * time.Second},
	{"log", ratelimit.SlidingLog(10, time.Minute), time.Minute},
	{"counter", ratelimit.SlidingCounter(10, time.Minute), 90 * time.Second},
	{"window", ratelimit.FixedWindow(10, ratelimit.Every(time.Minute)), time.Minute},
}

// toMinute moves the store's clock to the beginning of a window of a minute.
func (s Subject) toMinute(t *testing.T) {
	t.Helper()
	c := quota(t, "minute", "clock", ratelimit.FixedWindow(1, ratelimit.Every(time.Minute)), 1)
	if s.apply(t, c)[0].Committed {
		s.Advance(s.apply(t, c)[0].RetryAfter)
	}
}

func exactRetry(t *testing.T, s Subject) {
	for _, q := range tens {
		s.toMinute(t)
		all, five := quota(t, q.name, "a", q.quota, 10), quota(t, q.name, "a", q.quota, 5)
		require.True(t, s.apply(t, all)[0].Committed, q.name)
		r := s.apply(t, five)[0]
		require.False(t, r.Admitted, q.name)
		require.Equal(t, q.five, r.RetryAfter, q.name)
		s.Advance(r.RetryAfter - time.Microsecond)
		require.False(t, s.apply(t, five)[0].Admitted, "%s: admitted a microsecond early", q.name)
		s.Advance(time.Microsecond)
		require.True(t, s.apply(t, five)[0].Admitted, "%s: refused after RetryAfter", q.name)
		assert.Equal(t, seawall.Never, s.apply(t, quota(t, q.name, "a", q.quota, 11))[0].RetryAfter, q.name)
		reset := s.apply(t, five)[0].ResetAfter
		s.Advance(reset)
		assert.Equal(t, seawall.Result{Admitted: true, Limit: 10, Remaining: 10}, s.peek(t, all), "%s: as if never seen", q.name)
	}
}

func (s Subject) peek(t *testing.T, c seawall.Check) seawall.Result {
	t.Helper()
	c.Op = seawall.Peek
	return s.apply(t, c)[0]
}

func weightedLog(t *testing.T, s Subject) {
	spend := func(cost int64) seawall.Check {
		return quota(t, "log", "a", ratelimit.SlidingLog(100, time.Minute), cost)
	}
	for _, cost := range []int64{30, 30, 30} {
		require.True(t, s.apply(t, spend(cost))[0].Committed)
		s.Advance(10 * time.Second)
	}
	r := s.apply(t, spend(10))[0] // at 30 s: the first leaves at 60 s, the others at 70 s and 80 s
	assert.Equal(t, seawall.Result{Admitted: true, Committed: true, Limit: 100, NextAfter: 30 * time.Second, ResetAfter: time.Minute}, r)
	for cost, wait := range map[int64]time.Duration{1: 30, 30: 30, 31: 40, 60: 40, 61: 50, 90: 50, 91: 60, 100: 60} {
		assert.Equal(t, wait*time.Second, s.apply(t, spend(cost))[0].RetryAfter, "cost %d", cost)
	}
	s.Advance(30 * time.Second)
	assert.Equal(t, int64(30), s.peek(t, spend(1)).Remaining, "the first has left, whole")
	s.Advance(50 * time.Second)
	assert.Equal(t, int64(100), s.peek(t, spend(1)).Remaining)
}

func windowEdge(t *testing.T, s Subject) {
	s.toMinute(t)
	s.Advance(59 * time.Second)
	c := quota(t, "window", "a", ratelimit.FixedWindow(10, ratelimit.Every(time.Minute)), 10)
	assert.Equal(t, seawall.Result{
		Admitted: true, Committed: true, Limit: 10, NextAfter: time.Second, ResetAfter: time.Second,
	}, s.apply(t, c)[0])
	s.Advance(time.Second)
	assert.True(t, s.apply(t, c)[0].Admitted, "the edge's double burst is what a fixed window is")
	assert.False(t, s.apply(t, c)[0].Admitted)
}

func counterWeight(t *testing.T, s Subject) {
	s.toMinute(t)
	spend := func(cost int64) seawall.Check {
		return quota(t, "counter", "a", ratelimit.SlidingCounter(100, time.Minute), cost)
	}
	require.True(t, s.apply(t, spend(100))[0].Committed)
	s.Advance(75 * time.Second) // a quarter of the next window is over: 75 of them weigh
	r := s.apply(t, spend(5))[0]
	assert.Equal(t, seawall.Result{
		Admitted: true, Committed: true, Limit: 100, Remaining: 20, NextAfter: 600 * time.Millisecond, ResetAfter: 105 * time.Second,
	}, r)
	assert.Equal(t, 600*time.Millisecond, s.apply(t, spend(21))[0].RetryAfter)
	assert.False(t, s.apply(t, spend(21))[0].Admitted)
	assert.True(t, s.apply(t, spend(20))[0].Admitted)
}

func clockBackOfQuotas(t *testing.T, s Subject) {
	for _, q := range tens {
		s.toMinute(t)
		all, one := quota(t, q.name, "a", q.quota, 10), quota(t, q.name, "a", q.quota, 1)
		require.True(t, s.apply(t, all)[0].Committed, q.name)
		s.Advance(-24 * time.Hour)
		r := s.apply(t, one)[0]
		require.False(t, r.Admitted, "%s: what was spent was spent", q.name)
		require.LessOrEqual(t, r.RetryAfter, 2*time.Minute, "%s: nobody is locked out for a day", q.name)
		s.Advance(r.RetryAfter)
		require.True(t, s.apply(t, one)[0].Admitted, "%s: what it was told comes true", q.name)
		s.Advance(s.peek(t, one).ResetAfter)
		assert.Equal(t, int64(10), s.peek(t, one).Remaining, q.name)
	}
}

func undone(t *testing.T, s Subject) {
	for _, q := range tens {
		s.toMinute(t)
		c := quota(t, q.name, "a", q.quota, 4)
		c.Timed = true
		first, spent := s.take(t, c)
		require.NotZero(t, first.At, "%s: Timed asks for the time", q.name)
		require.True(t, spent.Committed)
		require.True(t, s.apply(t, quota(t, q.name, "a", q.quota, 3))[0].Committed)
		assert.Equal(t, int64(3), s.peek(t, first).Remaining, "%s: peeking spends nothing", q.name)
		assert.False(t, s.peek(t, first).Committed)

		back := first
		back.Op = seawall.Refund
		assert.Equal(t, seawall.Result{Admitted: true, Committed: true}, s.apply(t, back)[0], q.name)
		assert.Equal(t, int64(7), s.peek(t, first).Remaining, "%s: refunded", q.name)

		back.Op = seawall.Reset
		require.True(t, s.apply(t, back)[0].Committed)
		assert.Equal(t, seawall.Result{Admitted: true, Limit: 10, Remaining: 10}, s.peek(t, first), "%s: reset", q.name)
		back.Op = seawall.Refund
		require.True(t, s.apply(t, back)[0].Committed)
		assert.Equal(t, int64(10), s.peek(t, first).Remaining, "%s: nothing to refund", q.name)
	}
}

// undoneAmongOthers has a refund and a peek in one step with checks that decide.
func undoneAmongOthers(t *testing.T, s Subject) {
	one := quota(t, "one", "a", tens[1].quota, 10)
	one.Timed = true
	spent, _ := s.take(t, one)
	full := quota(t, "two", "a", tens[1].quota, 10)
	require.True(t, s.apply(t, full)[0].Committed)
	refund, peek := spent, full
	refund.Op, peek.Op = seawall.Refund, seawall.Peek
	r := s.apply(t, peek, refund, quota(t, "three", "a", tens[1].quota, 1))
	assert.False(t, r[0].Admitted)
	assert.True(t, r[2].Committed, "a peek that is refused vetoes nothing")
	r = s.apply(t, quota(t, "one", "a", tens[1].quota, 10), full)
	assert.True(t, r[0].Admitted, "it was refunded")
	assert.False(t, r[1].Admitted)
}

// otherKind changes the algorithm of a policy that has spent everything.
func otherKind(t *testing.T, s Subject) {
	for _, before := range tens {
		for _, after := range tens {
			if before.name == after.name {
				continue
			}
			caller := before.name + after.name
			require.True(t, s.apply(t, quota(t, "api", caller, before.quota, 10))[0].Committed)
			c := quota(t, "api", caller, after.quota, 10)
			require.True(t, s.apply(t, c)[0].Committed, "%s counts as a %s never seen", before.name, after.name)
			require.False(t, s.apply(t, c)[0].Admitted, "%s after %s", after.name, before.name)
		}
	}
}

func changedQuotas(t *testing.T, s Subject) {
	for name, change := range map[string][2]ratelimit.Quota{
		"log":     {ratelimit.SlidingLog(10, time.Minute), ratelimit.SlidingLog(12, time.Minute)},
		"counter": {ratelimit.SlidingCounter(10, time.Minute), ratelimit.SlidingCounter(12, time.Minute)},
		"window":  {ratelimit.FixedWindow(10, ratelimit.Daily()), ratelimit.FixedWindow(12, ratelimit.Daily())},
	} {
		require.True(t, s.apply(t, quota(t, name, "a", change[0], 9))[0].Committed)
		assert.Equal(t, int64(2), s.apply(t, quota(t, name, "a", change[1], 1))[0].Remaining, "%s: raised", name)
		require.True(t, s.apply(t, quota(t, name, "a", change[1], 2))[0].Committed)
		lowered := s.apply(t, quota(t, name, "a", change[0], 1))[0]
		assert.False(t, lowered.Admitted, "%s: lowered", name)
		assert.Zero(t, lowered.Remaining)
		assert.Positive(t, lowered.RetryAfter)
	}
}

// otherKindRefunded refunds what was spent under a policy that has another algorithm by now.
func otherKindRefunded(t *testing.T, s Subject) {
	for _, before := range tens {
		for _, after := range tens {
			caller := before.name + after.name
			one := quota(t, "api", caller, before.quota, 10)
			one.Timed = true
			spent, _ := s.take(t, one)
			c := quota(t, "api", caller, after.quota, 10)
			if before.name != after.name {
				require.True(t, s.apply(t, c)[0].Committed)
			}
			spent.Op = seawall.Refund
			require.True(t, s.apply(t, spent)[0].Committed)
			assert.Equal(t, before.name == after.name, s.peek(t, c).Admitted, "%s, then %s", before.name, after.name)
		}
	}
}

// longerWindow makes the window longer of a quota of which everything was spent.
func longerWindow(t *testing.T, s Subject) {
	for name, change := range map[string][2]ratelimit.Quota{
		"log":     {ratelimit.SlidingLog(10, time.Second), ratelimit.SlidingLog(10, time.Minute)},
		"counter": {ratelimit.SlidingCounter(10, time.Second), ratelimit.SlidingCounter(10, time.Minute)},
	} {
		s.toMinute(t)
		require.True(t, s.apply(t, quota(t, name, "a", change[0], 10))[0].Committed)
		c := quota(t, name, "a", change[1], 1)
		refused := s.apply(t, c)[0]
		require.False(t, refused.Admitted, name)
		s.Advance(refused.RetryAfter - time.Microsecond)
		require.False(t, s.apply(t, c)[0].Admitted, "%s: admitted before the wait it was told is over", name)
		s.Advance(time.Microsecond)
		require.True(t, s.apply(t, c)[0].Admitted, name)
	}
}
