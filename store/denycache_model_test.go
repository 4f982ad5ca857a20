package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestDecisionsAreTheSameWithTheCache drives a store, and one behind a cache, with the same random requests: all
// that is told must be the same, to the microsecond.
func TestDecisionsAreTheSameWithTheCache(t *testing.T) {
	inHundredWorlds(t, 1, 3, false)
}

// TestDecisionsAreTheSameUnderChangingPlans has plans of one window, and requests of one check: a check under a
// plan with less also cuts what is owed, or forgets what its shorter window does not hold, and one that is not asked
// does neither.
func TestDecisionsAreTheSameUnderChangingPlans(t *testing.T) {
	inHundredWorlds(t, 3, 1, false)
}

// TestOthersCanOnlyMakeADenialLonger has another instance spend, too, of which the cache knows nothing: then the
// decisions must be the same, and the numbers may be older.
func TestOthersCanOnlyMakeADenialLonger(t *testing.T) {
	inHundredWorlds(t, 1, 3, true)
}

// inHundredWorlds runs a hundred pairs of stores, which have at most so many plans of a limit and checks of a request.
func inHundredWorlds(t *testing.T, plans, checks int, others bool) {
	t.Helper()
	saved := uint64(0)
	for seed := range uint64(100) {
		saved += newTwins(t, seed, plans, checks).run(t, others)
	}
	t.Logf("%d calls saved", saved)
	assert.Greater(t, saved, uint64(1000))
}

// twins are a store, and one behind a cache.
type twins struct {
	seed   uint64
	rnd    *rand.Rand
	cached *denying
	plain  *memstore.Store
	limits []*seawall.Limit
	rules  [][]seawall.Rule // of each limit; of a plan each
	most   int              // checks of a request
	spent  [][2]seawall.Check
}

func newTwins(t *testing.T, seed uint64, plans, most int) *twins {
	w := &twins{seed: seed, most: most, rnd: rand.New(rand.NewPCG(seed, 4)), cached: newDenying(t, store.DenyCacheConfig{})}
	w.plain = memstore.New(memstore.Config{Now: w.cached.Now})
	for i := range 4 {
		c := spends(t, fmt.Sprint("policy-", i), perSecond(1))
		w.limits = append(w.limits, c.Limit)
		var rules []seawall.Rule
		kind, window := w.rnd.IntN(4), windows[w.rnd.IntN(len(windows))]
		for range 1 + w.rnd.IntN(plans) {
			rules = append(rules, ruleOf(t, w.quota(kind, window)))
		}
		w.rules = append(w.rules, rules)
	}
	w.limits = append(w.limits, slotOf(t, "a", 1).Limit)
	w.rules = append(w.rules, []seawall.Rule{slotOf(t, "a", 3).Rule})
	return w
}

var windows = []time.Duration{time.Second, 2 * time.Second, 10 * time.Second, 24 * time.Hour}

func (w *twins) quota(kind int, window time.Duration) ratelimit.Quota {
	n := 1 + w.rnd.Int64N(10)
	switch kind {
	case 0:
		return ratelimit.SlidingLog(n, window)
	case 1:
		return ratelimit.SlidingCounter(n, window)
	case 2:
		return ratelimit.FixedWindow(n, ratelimit.Every(window))
	}
	return ratelimit.TokenBucket(ratelimit.Rate{Count: 1 + w.rnd.Int64N(10), Per: window}, n)
}

func (w *twins) run(t *testing.T, others bool) (saved uint64) {
	t.Helper()
	for step := range 1000 {
		switch p := w.rnd.IntN(20); {
		case p == 0:
			w.cached.Advance(time.Duration(w.rnd.IntN(3_000_000)) * time.Microsecond)
		case p < 4:
			w.cached.Advance(time.Duration(w.rnd.IntN(100_000)) * time.Microsecond)
		case p < 5 && len(w.spent) > 0:
			w.undo(t)
		case p < 7 && others:
			w.other(t)
		default:
			w.request(t, others)
		}
		if t.Failed() {
			t.Fatalf("seed %d, step %d", w.seed, step)
		}
	}
	return w.cached.Saved()
}

// checks are those of a random request.
func (w *twins) checks() (checks []seawall.Check) {
	key := seawall.NewKey([]string{"a", "b"}[w.rnd.IntN(2)])
	peeks := w.rnd.IntN(10) == 0
	for _, i := range w.rnd.Perm(len(w.limits))[:1+w.rnd.IntN(w.most)] {
		c := seawall.Check{
			Limit: w.limits[i], Rule: w.rules[i][w.rnd.IntN(len(w.rules[i]))], Key: key, Cost: 1, Timed: true,
			Advisory: w.rnd.IntN(5) == 0, CountOnly: w.rnd.IntN(40) == 0,
		}
		if q, ok := c.Rule.(ratelimit.Rule); ok && w.rnd.IntN(2) == 0 {
			c.Cost = 1 + w.rnd.Int64N(q.Limit()+2)
		}
		if peeks || w.rnd.IntN(20) == 0 {
			c.Op = seawall.Peek
		}
		checks = append(checks, c)
	}
	return checks
}

func (w *twins) request(t *testing.T, others bool) {
	t.Helper()
	checks := w.checks()
	theirs, mine := slices.Clone(checks), slices.Clone(checks)
	want, err := w.plain.Apply(t.Context(), nil, theirs)
	require.NoError(t, err)
	got, asked := w.cached.ask(t, mine...)
	assert.Equal(t, refused(checks, want), refused(checks, got), "%+v", checks)
	for i := range checks {
		switch {
		case got[i] == unasked && !asked:
			assert.Equal(t, seawall.Spend, checks[i].Op, "check %d of %+v", i, checks)
		case others:
			assert.Equal(t, want[i].Admitted, got[i].Admitted, "check %d of %+v", i, checks)
			assert.Equal(t, want[i].Committed, got[i].Committed, "check %d of %+v", i, checks)
		default:
			assert.Equal(t, want[i], got[i], "check %d of %+v", i, checks)
		}
		if _, slot := checks[i].Rule.(seawall.Holder); want[i].Committed && !slot {
			w.spent = append(w.spent, [2]seawall.Check{theirs[i], mine[i]})
		}
	}
}

// refused tells whether an enforced check vetoes, and whether an advisory one that is counted would.
func refused(checks []seawall.Check, results []seawall.Result) [2]bool {
	enforced, counted := false, false
	for i, r := range results {
		switch {
		case r.Admitted || checks[i].Op != seawall.Spend:
		case checks[i].Advisory:
			counted = counted || !enforced
		default:
			enforced = true
		}
	}
	return [2]bool{enforced, counted}
}

// undo gives back what an earlier request spent, or all.
func (w *twins) undo(t *testing.T) {
	t.Helper()
	i := w.rnd.IntN(len(w.spent))
	pair := w.spent[i]
	w.spent = slices.Delete(w.spent, i, i+1)
	op := seawall.Refund
	if w.rnd.IntN(4) == 0 {
		op = seawall.Reset
	}
	pair[0].Op, pair[1].Op = op, op
	w.apply(t, w.plain, pair[0])
	w.apply(t, w.cached, pair[1])
}

// other is a request of another instance. Its plans are the same, or it might change what is owed.
func (w *twins) other(t *testing.T) {
	t.Helper()
	checks := w.checks()
	w.apply(t, w.plain, checks...)
	w.apply(t, w.cached.bare, checks...)
}

func (*twins) apply(t *testing.T, s seawall.Store, checks ...seawall.Check) {
	t.Helper()
	_, err := s.Apply(t.Context(), nil, slices.Clone(checks))
	require.NoError(t, err)
}
