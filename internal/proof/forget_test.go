package proof

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
)

// tick is how much longer Redis keeps a key at most, since it counts whole milliseconds.
const tick = 3 * time.Millisecond

// TestForgettingIsInvisible is TestStoresAreTheModel where keys expire on Redis and memory is swept. Limits do
// not change and the clock does not step back, for what is forgotten then is not said. It also looks at every
// key: it lives until the state is as good as none (I5), and no longer than one period more.
func TestForgettingIsInvisible(t *testing.T) {
	draws(60)
	redis, clock := onRedis(t)
	clock.Expire(true)
	var names callers
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				mem, store := memory()
				w := &world{subjects: []subject{mem, redis}, accounts: drawAccounts(t, &names, 1, draw...)}
				w.set(drawStart(t))
				for range rapid.IntRange(1, 40).Draw(t, "steps") {
					a := oneOf(t, "account", w.accounts...)
					w.set(drawMove(t, w, a, false))
					if odds(t, "sweep", 3) {
						store.Sweep()
					}
					if len(a.spent) > 0 && odds(t, "refund", 6) {
						w.refund(t, a)
						continue
					}
					for _, c := range drawAndAsk(t, w, a) {
						told := c.account.last
						left, there, err := clock.Left(t.Context(), keyOn(c.real()))
						require.NoError(t, err)
						require.True(t, there || told.ResetAfter == 0, "%v is told that its state lasts for another %v, and there is none", c, told.ResetAfter)
						if there {
							require.GreaterOrEqual(t, left, told.ResetAfter, "%v", c)
							require.LessOrEqual(t, left, told.ResetAfter+c.limit().real.Window()+tick, "%v", c)
						}
					}
				}
			})
		})
	}
}

// drawAndAsk asks something, and returns what.
func drawAndAsk(t *rapid.T, w *world, a *account) []check {
	checks := drawRequest(t, w, a)
	w.ask(t, checks)
	return checks
}

// TestSweptStateIsGone shows I5 in memory: what is as good as none is dropped by a sweep, and not a
// microsecond before. Whether it is there shows when the clock is set back to when it was spent.
func TestSweptStateIsGone(t *testing.T) {
	draws(500)
	var names callers
	rapid.Check(t, func(t *rapid.T) {
		mem, store := memory()
		a := drawAccounts(t, &names, 1, buckets, logs, counters, windows)[0]
		start := drawStart(t)
		spend := check{account: a, cost: drawCost(t, a, a.limits[0].real.Limit()), id: 1}
		spend.cost = min(spend.cost, a.limits[0].real.Limit())
		peek := spend
		peek.op = seawall.Peek
		mem.set(start)
		last := mem.apply(t, []seawall.Check{spend.real()})[0]
		require.True(t, last.Committed)
		for _, c := range []struct {
			sweep time.Duration
			there bool
		}{{0, true}, {last.ResetAfter - time.Microsecond, true}, {last.ResetAfter, false}} {
			mem.set(start + c.sweep.Microseconds())
			store.Sweep()
			mem.set(start)
			got := mem.apply(t, []seawall.Check{peek.real()})[0].Remaining
			require.Equal(t, c.there, got < last.Limit, "%v, swept after %v of %v: %d", spend, c.sweep, last.ResetAfter, got)
		}
	})
}
