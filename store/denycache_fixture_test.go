package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// denying is a DenyCache on a memstore, both by a clock that stands still unless it is moved.
type denying struct {
	*store.DenyCache
	seawalltest.Clock
	bare    *memstore.Store
	reached atomic.Int64
	// behind, if any, is asked in the memstore's place.
	behind func(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error)
}

// behindCache is the store that a denying's cache wraps.
type behindCache struct {
	*memstore.Store
	d *denying
}

func (b behindCache) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	b.d.reached.Add(1)
	if b.d.behind != nil {
		return b.d.behind(ctx, dst, checks)
	}
	return b.Store.Apply(ctx, dst, checks)
}

// calls returns how many calls reached the memstore.
func (d *denying) calls() int { return int(d.reached.Load()) }

func newDenying(tb testing.TB, cfg store.DenyCacheConfig) *denying {
	tb.Helper()
	d := &denying{}
	d.bare = memstore.New(memstore.Config{Now: d.Now})
	cfg.Store = behindCache{d.bare, d}
	var err error
	d.DenyCache, err = store.NewDenyCache(cfg)
	require.NoError(tb, err)
	d.SetClock(d.Now)
	tb.Cleanup(func() { assert.NoError(tb, d.Close(context.Background())) })
	return d
}

// ask applies the checks and returns the results, and whether the store was asked for them. That a denial says whether it
// is a repeated one is asserted, and then left out, so that the results can be compared with the store's.
func (d *denying) ask(tb testing.TB, checks ...seawall.Check) (results []seawall.Result, asked bool) {
	tb.Helper()
	calls, saved := d.calls(), d.Saved()
	results, err := d.Apply(tb.Context(), nil, checks)
	require.NoError(tb, err)
	require.Len(tb, results, len(checks))
	require.EqualValues(tb, 1, uint64(d.calls()-calls)+d.Saved()-saved, "asked or saved")
	asked = d.calls() > calls
	for i := range results {
		_, constant := checks[i].Rule.(seawall.Constant)
		denies := !results[i].Admitted && !constant
		require.Equal(tb, denies && !asked, results[i].Repeated)
		results[i].Repeated = false
	}
	return results, asked
}

// exhaust spends n units of a check's limit, and has the next be denied.
func (d *denying) exhaust(tb testing.TB, c seawall.Check, n int64) seawall.Result {
	tb.Helper()
	for range n {
		results, _ := d.ask(tb, c)
		require.True(tb, results[0].Committed)
	}
	results, asked := d.ask(tb, c)
	require.True(tb, asked)
	require.False(tb, results[0].Admitted)
	return results[0]
}

// spends is a check of caller "a" on the policy's quota, of cost 1.
func spends(tb testing.TB, policy string, q ratelimit.Quota) seawall.Check {
	tb.Helper()
	limit, err := seawall.NewLimit(ratelimit.Name, policy, seawall.FailLocal)
	require.NoError(tb, err)
	return seawall.Check{Limit: limit, Rule: ruleOf(tb, q), Key: seawall.NewKey("a"), Cost: 1}
}

func ruleOf(tb testing.TB, q ratelimit.Quota) seawall.Rule {
	tb.Helper()
	rule, err := q.Rule()
	require.NoError(tb, err)
	return rule
}

// perSecond is a bucket of one token a second.
func perSecond(burst int64) ratelimit.Quota {
	return ratelimit.TokenBucket(ratelimit.PerSecond(1), burst)
}

// slotOf is a check on a caller's slots.
func slotOf(tb testing.TB, caller string, slots int64) seawall.Check {
	tb.Helper()
	layer, err := concurrency.New(concurrency.Config{MaxInFlight: slots})
	require.NoError(tb, err)
	return layer.Plan(nil, &seawall.Request{Key: seawall.NewKey(caller)})[0]
}

func costing(c seawall.Check, cost int64) seawall.Check { c.Cost = cost; return c }

func doing(c seawall.Check, op seawall.Op) seawall.Check { c.Op = op; return c }

func advisory(c seawall.Check) seawall.Check { c.Advisory = true; return c }

// unasked is the result of what is not evaluated.
var unasked = seawall.Result{Admitted: true, Fallback: true}

// later is a result as it is told some time later.
func later(r seawall.Result, d time.Duration) seawall.Result {
	for _, left := range []*time.Duration{&r.RetryAfter, &r.NextAfter, &r.ResetAfter} {
		if *left > 0 {
			*left -= d
		}
	}
	return r
}
