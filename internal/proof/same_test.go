package proof

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/model"
)

// TestStoresAreTheModel walks the model, a store in memory and one on Redis through the same traces.
func TestStoresAreTheModel(t *testing.T) {
	draws(80)
	redis, _ := onRedis(t)
	var names callers
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				mem, _ := memory()
				w := &world{subjects: []subject{mem, redis}, accounts: drawAccounts(t, &names, 3, draw...)}
				w.set(drawStart(t))
				for range rapid.IntRange(1, 40).Draw(t, "steps") {
					w.step(t)
				}
			})
		})
	}
}

// drawAccounts draws one to four accounts of one caller or several, each with up to so many limits in turn.
func drawAccounts(t *rapid.T, names *callers, turns int, draw ...limits) []*account {
	var accounts []*account
	key := names.next()
	for i := range rapid.IntRange(1, 4).Draw(t, "accounts") {
		if odds(t, "another caller", 2) {
			key = names.next()
		}
		of := oneOf(t, "kind", draw...)
		var list []limit
		for range rapid.IntRange(1, turns).Draw(t, "limits in turn") {
			if odds(t, "another kind", 4) {
				of = oneOf(t, "kind", draw...)
			}
			list = append(list, of(t))
		}
		accounts = append(accounts, newAccount(t, "policy-"+string(rune('a'+i)), key, list...))
	}
	return accounts
}

// step moves the clock and asks, refunds or resets.
func (w *world) step(t *rapid.T) {
	a := oneOf(t, "account", w.accounts...)
	w.set(drawMove(t, w, a, true))
	switch p := rapid.IntRange(0, 19).Draw(t, "step is"); {
	case p == 0:
		w.ask(t, []check{{account: a, cost: 1, op: seawall.Reset}})
	case p <= 3 && len(a.spent) > 0:
		w.refund(t, a)
	default:
		w.ask(t, drawRequest(t, w, a))
	}
}

// drawRequest draws a request of one to three checks, one of them on the account.
func drawRequest(t *rapid.T, w *world, a *account) []check {
	checks := []check{drawCheck(t, a)}
	for _, other := range w.accounts {
		if other != a && len(checks) < 3 && odds(t, "and "+other.name, 3) {
			checks = append(checks, drawCheck(t, other))
		}
	}
	return checks
}

func drawCheck(t *rapid.T, a *account) check {
	c := check{account: a, of: rapid.IntRange(0, len(a.limits)-1).Draw(t, "limit")}
	c.cost = drawCost(t, a, c.limit().real.Limit())
	if odds(t, "peek", 5) {
		c.op = seawall.Peek
	}
	c.advisory, c.countOnly, c.timed = odds(t, "advisory", 4), odds(t, "count only", 16), odds(t, "timed", 2)
	return c
}

// drawCost draws what is just left, one more, all, one more, little, or anything.
func drawCost(t *rapid.T, a *account, limit int64) int64 {
	return max(1, oneOf(t, "cost",
		func() int64 { return a.last.Remaining },
		func() int64 { return a.last.Remaining + 1 },
		func() int64 { return limit },
		func() int64 { return limit + 1 },
		func() int64 { return 1 },
		func() int64 { return upTo(t, "cost", min(limit, 10)) },
		func() int64 { return upTo(t, "cost", limit) },
	)())
}

// refund takes back something spent, as if it had been when it was, or earlier, or at any time. A store on Redis that does not know the time, as here, does not find the calendar window of a refund, and learns the
// time from what is asked: so a peek goes first, and windows are not shorter than what may pass until the refund.
func (w *world) refund(t *rapid.T, a *account) {
	s := oneOf(t, "spent", a.spent...)
	c := s.check
	c.op, c.advisory, c.countOnly = seawall.Refund, false, false
	c.at, c.timed = s.at*1000, false
	switch rapid.IntRange(0, 3).Draw(t, "at") {
	case 0:
		c.at = max(0, c.at-upTo(t, "earlier", int64(c.limit().real.Window())))
	case 1:
		c.at = max(0, w.now*1000-rapid.Int64Range(-1000, int64(2*c.limit().real.Window())).Draw(t, "any"))
	}
	if r, ok := c.limit().explained.(model.Window); ok {
		if began, next := r.Calendar.Around(w.now); next-began < 60e6 {
			return
		}
		w.ask(t, []check{{account: a, of: c.of, cost: 1, op: seawall.Peek}})
	}
	w.ask(t, []check{c})
	if w.model.New(w.now, c.explained()) { // such a past may be forgotten at any time, for example now
		w.ask(t, []check{{account: a, of: c.of, cost: 1, op: seawall.Reset}})
	}
}
