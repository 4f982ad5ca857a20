package ratelimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// exact is the largest whole number up to which doubles, Lua's numbers, are exact.
const exact = int64(1) << 53

// FuzzRule makes rules of any numbers: they are refused with an error, or give scripts arguments that Lua's
// numbers hold, results that make sense, and the same answers as long as the clock stands still.
func FuzzRule(f *testing.F) {
	for algorithm := range uint8(8) {
		f.Add(algorithm, int64(10), int64(time.Second), int64(20), int64(3), int64(1_800_000_000_000_000_000), int64(5))
		f.Add(algorithm, int64(1), int64(30*24*time.Hour), int64(1217), int64(1217), int64(1), int64(1))
		f.Add(algorithm, int64(1_000_000), int64(time.Second), int64(1_000_000_000), int64(1<<62), int64(4_000_000_000_000_000_000), int64(-1))
		f.Add(algorithm, int64(-1), int64(-1), int64(-1), int64(-1<<63), int64(0), int64(-1<<63))
	}
	f.Fuzz(func(t *testing.T, algorithm uint8, count, per, limit, cost, now, age int64) {
		d := time.Duration(per)
		q := []Quota{
			TokenBucket(Rate{count, d}, limit), SlidingLog(limit, d), SlidingCounter(limit, d), FixedWindow(limit, Every(d)),
			FixedWindow(limit, Daily().At(d)), FixedWindow(limit, Weekly(time.Weekday(count)).At(d)),
			FixedWindow(limit, Monthly(int(count))), FixedWindow(limit, Every(d).From(time.Unix(count, 0))),
		}[algorithm%8]
		rule, err := q.Rule()
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		const year = 365 * 24 * int64(time.Hour)
		now = 2*year + max(0, now)%(150*year)                      // until 2121: a bucket may be full again a century later
		env := seawall.Env{Now: now / 1000 * 1000, Instance: "i-"} // whole microseconds, as Redis has
		for _, op := range []seawall.Op{seawall.Spend, seawall.Refund} {
			for _, arg := range rule.Args(nil, env, &seawall.Check{Cost: cost, ID: 1, Op: op, At: max(0, env.Now-max(0, age))}) {
				n, ok := arg.(int64)
				if _, long := rule.(*bucket); long && op == seawall.Spend { // its script splits what is long
					require.True(t, !ok || n > 0, "%v: argument %d", q, n)
				} else if ok {
					require.True(t, -exact < n && n < exact, "%v: argument %d", q, n)
				}
			}
		}
		var s seawall.State
		c := &seawall.Check{Cost: cost, ID: 1}
		for step := range 4 {
			seen, ok := rule.Check(&s, env, c)
			if ok {
				rule.Commit(&s, env, c)
			}
			res := rule.Result(seen, ok, ok, env, c)
			require.Equal(t, max(1, cost) <= limit-int64(step)*max(1, cost), ok, "%v, step %d, cost %d", q, step, cost)
			require.True(t, 0 <= res.Remaining && res.Remaining <= res.Limit, "%v: %+v", q, res)
			require.True(t, res.NextAfter >= 0 && res.ResetAfter >= res.NextAfter, "%v: %+v", q, res)
			switch {
			case ok:
				require.Zero(t, res.RetryAfter)
			case cost > limit:
				require.Equal(t, seawall.Never, res.RetryAfter)
			default:
				require.Positive(t, res.RetryAfter, "%v: %+v", q, res)
				require.LessOrEqual(t, res.RetryAfter, res.ResetAfter)
			}
			if !ok {
				break
			}
		}
		rule.Refund(&s, env, &seawall.Check{Cost: cost, ID: 1, At: env.Now - max(0, age)})
		rule.Idle(&s, env.Now)
	})
}

// FuzzParseRate reads rates: what it accepts, a bucket accepts.
func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"1", "0.01", "1e6", "1e-400", "NaN", "1/3", "0x1p4", "999999.999999999999999999999", ".5", "1e309"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			return
		}
		_, err = TokenBucket(r, 1).Rule()
		require.NoError(t, err, "%q is read as %v", s, r)
	})
}
