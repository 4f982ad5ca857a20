package proof

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
)

// TestWaitsComeTrueAfterChanges shows I3 where limits change and state is forgotten: whoever is refused under a
// limit is refused until the wait is over that he was told, whatever limit he spent under, and not for longer.
func TestWaitsComeTrueAfterChanges(t *testing.T) {
	draws(200)
	redis, clock := onRedis(t)
	clock.Expire(true)
	var names callers
	for name, draw := range kinds {
		if name == "mixed" {
			continue // what was spent by another algorithm does not count
		}
		t.Run(name+" on redis", func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { waitOutRefusal(t, redis, func() {}, drawAccounts(t, &names, 3, draw...)[:1]) })
		})
		t.Run(name+" in memory", func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				mem, store := memory()
				waitOutRefusal(t, mem, store.Sweep, drawAccounts(t, &names, 3, draw...)[:1])
			})
		})
	}
}

// waitOutRefusal spends under one limit and another, and waits out the first refusal.
func waitOutRefusal(t *rapid.T, s subject, forget func(), accounts []*account) {
	w := &world{subjects: []subject{s}, accounts: accounts}
	a := accounts[0]
	ask := func(c check) seawall.Result {
		forget()
		return w.tell(t, []check{c})[0]
	}
	w.set(drawStart(t))
	for range 20 {
		c := drawCheck(t, a)
		c.advisory, c.countOnly = false, false
		r := ask(c)
		if r.Admitted || r.RetryAfter == seawall.Never {
			w.set(drawMove(t, w, a, false))
			continue
		}
		at := w.now + r.RetryAfter.Microseconds()
		if early := at - 1; early > w.now {
			w.set(early)
			if ask(c).Admitted {
				t.Fatalf("a microsecond early:\n%s", strings.Join(w.history, "\n"))
			}
		}
		w.set(at)
		if !ask(c).Admitted {
			t.Fatalf("not then:\n%s", strings.Join(w.history, "\n"))
		}
		return
	}
}
