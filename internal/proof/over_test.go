package proof

import (
	"math/big"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/model"
)

// TestI1NeverOverAdmits has a greedy caller, who gets back what is not used, and looks at all that was spent and
// not given back, over every interval. Its clock has nanoseconds.
func TestI1NeverOverAdmits(t *testing.T) {
	draws(200)
	var names callers
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var now atomic.Int64
				mem, _ := memoryAt(&now)
				w := &world{accounts: drawAccounts(t, &names, 1, draw...)[:1]}
				w.set(drawStart(t))
				a := w.accounts[0]
				var taken []spent // at nanoseconds
				for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
					w.set(drawMove(t, w, a, false))
					now.Store(max(now.Load(), w.now*1000+rapid.Int64Range(0, 999).Draw(t, "ns")))
					if len(taken) > 0 && odds(t, "refund", 8) {
						taken = giveBack(t, mem, taken)
						continue
					}
					c := check{account: a, cost: drawCost(t, a, a.limits[0].real.Limit()), id: uint64(i + 1)}
					a.last = mem.apply(t, []seawall.Check{c.real()})[0]
					if a.last.Committed {
						taken = append(taken, spent{c, now.Load()})
						within(t, a.limits[0], taken)
					}
				}
			})
		})
	}
}

// giveBack refunds one of the spends, and returns the others.
func giveBack(t *rapid.T, s subject, taken []spent) []spent {
	i := rapid.IntRange(0, len(taken)-1).Draw(t, "spent")
	c := taken[i].check
	c.op = seawall.Refund
	c.at = taken[i].at - int64(oneOf[time.Duration](t, "earlier", 0, 0, 1, time.Second))
	s.apply(t, []seawall.Check{c.real()})
	return slices.Delete(taken, i, i+1)
}

// within looks at the intervals that end with the last spend.
func within(t *rapid.T, l limit, taken []spent) {
	now, sum := taken[len(taken)-1].at, int64(0)
	for i, s := range slices.Backward(taken) {
		sum += s.cost
		if most := allowed(l.explained, taken[i:], now); most != nil {
			require.LessOrEqual(t, new(big.Rat).SetInt64(sum).Cmp(most), 0,
				"%s: %d spent from %d to %d ns, allowed %v", l.text, sum, s.at, now, most)
		}
	}
}

// allowed is how much may be spent from the first of the spends until now; nil is no bound.
func allowed(r model.Rule, taken []spent, now int64) *big.Rat {
	most, since := new(big.Rat).SetInt64(r.Limit()), now-taken[0].at
	switch r := r.(type) {
	case model.Bucket:
		return most.Add(most, new(big.Rat).Mul(big.NewRat(r.Count, int64(r.Per)), new(big.Rat).SetInt64(since)))
	case model.Log:
		if since < int64(r.Window) {
			return most
		}
	case model.Window:
		if began, _ := r.Calendar.Around(now / 1000); taken[0].at >= began*1000 {
			return most
		}
	case model.Counter:
		return most.Add(most, uncounted(r, taken, now))
	}
	return nil
}

// uncounted is what a sliding counter's estimate leaves out of what was spent: of the window before, the share
// that the last window does not cover, in steps of a millionth.
func uncounted(r model.Counter, taken []spent, now int64) *big.Rat {
	length := int64(r.Window)
	began := now / length * length
	share := big.NewRat((now-began)/(length/1_000_000), 1_000_000)
	out := new(big.Rat)
	for _, s := range taken {
		switch cost := new(big.Rat).SetInt64(s.cost); {
		case s.at >= began:
		case s.at >= began-length:
			out.Add(out, cost.Mul(cost, share))
		default:
			out.Add(out, cost)
		}
	}
	return out
}
