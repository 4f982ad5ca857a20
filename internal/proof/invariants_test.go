package proof

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// TestI2DenialsCostNothing has two stores, of which one is not asked what the other denies or only peeks at.
func TestI2DenialsCostNothing(t *testing.T) {
	draws(500)
	var names callers
	rapid.Check(t, func(t *rapid.T) {
		accounts := drawAccounts(t, &names, 1, buckets, logs, counters, windows)
		asked, spared := worldOf(accounts), worldOf(accounts)
		start := drawStart(t)
		asked.set(start)
		denials := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			a := oneOf(t, "account", accounts...)
			now := drawMove(t, asked, a, false)
			asked.set(now)
			spared.set(now)
			checks := drawRequest(t, asked, a)
			got := asked.tell(t, checks)
			granted := false
			for _, r := range got {
				granted = granted || r.Committed
			}
			if !granted {
				denials++
				continue
			}
			if want := spared.tell(t, checks); !slices.Equal(want, got) {
				t.Fatalf("%d denials made a difference:\n%s\nand without them\n%s", denials,
					strings.Join(asked.history, "\n"), strings.Join(spared.history, "\n"))
			}
		}
	})
}

// worldOf returns a world with one store in memory.
func worldOf(accounts []*account) *world {
	mem, _ := memory()
	return &world{subjects: []subject{mem}, accounts: accounts}
}

// TestI3RetryAfterIsExact retries a refused check when it was told to, and a millisecond and a microsecond before.
func TestI3RetryAfterIsExact(t *testing.T) {
	draws(500)
	var names callers
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		w := worldOf(drawAccounts(t, &names, 1, buckets, logs, counters, windows))
		w.set(drawStart(t))
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			a := oneOf(t, "account", w.accounts...)
			w.set(drawMove(t, w, a, false))
			w.tell(t, drawRequest(t, w, a))
		}
		a := oneOf(t, "account", w.accounts...)
		c := check{account: a, cost: drawCost(t, a, a.limits[0].real.Limit())}
		r := w.tell(t, []check{c})[0]
		if r.Admitted || r.RetryAfter == seawall.Never {
			return
		}
		refused++
		at := w.now + r.RetryAfter.Microseconds()
		for _, early := range []int64{1000, 1} {
			if at-early > w.now {
				w.set(at - early)
				require.False(t, w.tell(t, []check{c})[0].Admitted, "%d µs before %v", early, r.RetryAfter)
			}
		}
		w.set(at)
		require.True(t, w.tell(t, []check{c})[0].Admitted, "after %v", r.RetryAfter)
	})
	require.Positive(t, refused, "nothing was shown")
}

// TestRefundsGiveNoMoreThanTheirSpend compares a caller who spends something and gets it back with one who did
// not spend it: from then on the first never has more left.
func TestRefundsGiveNoMoreThanTheirSpend(t *testing.T) {
	draws(500)
	var names callers
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				spender, _ := memory()
				other, _ := memory()
				both := &world{subjects: []subject{spender, other}, accounts: drawAccounts(t, &names, 1, draw...)[:1]}
				a := both.accounts[0]
				both.set(drawStart(t))
				id := uint64(0)
				spendOn := func(subjects ...subject) (c check, ok bool) {
					id++
					c = check{account: a, cost: drawCost(t, a, a.limits[0].real.Limit()), id: id}
					both.note("%v", c)
					peek := c
					peek.op = seawall.Peek
					for _, s := range both.subjects { // where one would be refused, neither asks
						a.last = s.apply(t, []seawall.Check{peek.real()})[0]
						if !a.last.Admitted {
							return c, false
						}
					}
					for _, s := range subjects {
						a.last = s.apply(t, []seawall.Check{c.real()})[0]
					}
					return c, true
				}
				wander := func() {
					for range rapid.IntRange(0, 5).Draw(t, "spends") {
						both.set(drawMove(t, both, a, false))
						spendOn(both.subjects...)
					}
				}
				wander()
				c, ok := spendOn(spender)
				if !ok {
					return
				}
				at := both.now
				wander()
				c.op = seawall.Refund
				c.at = at*1000 - int64(oneOf[time.Duration](t, "earlier", 0, 1, time.Hour))
				both.note("%v", c)
				spender.apply(t, []seawall.Check{c.real()})
				for range 4 {
					c.op, c.cost = seawall.Peek, 1
					has, would := spender.apply(t, []seawall.Check{c.real()})[0], other.apply(t, []seawall.Check{c.real()})[0]
					require.LessOrEqual(t, has.Remaining, would.Remaining, "%v", both.history)
					a.last = has
					both.set(drawMove(t, both, a, false))
				}
			})
		})
	}
}

// TestRangeIsAccepted asks for the corners of what the design promises, and for what lies just outside.
func TestRangeIsAccepted(t *testing.T) {
	for _, c := range []struct {
		quota ratelimit.Quota
		ok    bool
	}{
		{ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: slowest}, 1), true},
		{ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: slowest + 1}, 1), false},
		{ratelimit.TokenBucket(ratelimit.PerSecond(1_000_000), most), true},
		{ratelimit.TokenBucket(ratelimit.PerSecond(1_000_001), 1), false},
		{ratelimit.TokenBucket(ratelimit.PerSecond(1), most+1), false},
		{ratelimit.TokenBucket(ratelimit.PerSecond(1), most), true},
		{ratelimit.TokenBucket(ratelimit.PerDay(1), 36_525), true},
		{ratelimit.TokenBucket(ratelimit.PerDay(1), 36_526), false},
		{ratelimit.SlidingLog(most, time.Millisecond), true},
		{ratelimit.SlidingLog(1, maxWindow), true},
		{ratelimit.SlidingLog(1, maxWindow+time.Millisecond), false},
		{ratelimit.SlidingCounter(most, maxWindow), true},
		{ratelimit.SlidingCounter(1, time.Second-time.Millisecond), false},
		{ratelimit.FixedWindow(most, ratelimit.Every(maxWindow)), true},
		{ratelimit.FixedWindow(most+1, ratelimit.Daily()), false},
	} {
		_, err := c.quota.Rule()
		require.Equal(t, c.ok, err == nil, "%v: %v", c.quota, err)
	}
}
