package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// exhausted returns checks of n callers on one bucket, all of them denied for the next hours.
func exhausted(tb testing.TB, n int) (*store.DenyCache, []seawall.Check) {
	tb.Helper()
	c, err := store.NewDenyCache(store.DenyCacheConfig{Store: memstore.New(memstore.Config{MaxKeys: 2 * n}), MaxAge: 10 * time.Second})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, c.Close(context.Background())) })
	checks := make([]seawall.Check, n)
	for i := range checks {
		checks[i] = spends(tb, "api", ratelimit.TokenBucket(ratelimit.PerDay(1), 1))
		checks[i].Limit, checks[i].Rule = checks[0].Limit, checks[0].Rule
		checks[i].Key = seawall.NewKey(fmt.Sprintf("customer-%08d", i))
		for range 2 { // the second is denied
			_, err := c.Apply(tb.Context(), nil, checks[i:i+1])
			require.NoError(tb, err)
		}
	}
	return c, checks
}

// BenchmarkDenyCacheHit asks about one limit, about three of a stack, and with 10,000 callers in turn.
func BenchmarkDenyCacheHit(b *testing.B) {
	layer, err := concurrency.New(concurrency.Config{MaxInFlight: 5})
	require.NoError(b, err)
	slot := layer.Plan(nil, &seawall.Request{Key: seawall.NewKey("a")})[0]
	for _, callers := range []int{1, 10_000} {
		c, checks := exhausted(b, callers)
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { hit(b, c, checks, 1) })
		three := make([]seawall.Check, 0, 3*callers)
		for _, check := range checks {
			three = append(three, check, slot, slot)
		}
		b.Run(fmt.Sprintf("callers=%d,checks=3", callers), func(b *testing.B) { hit(b, c, three, 3) })
	}
}

func hit(b *testing.B, c *store.DenyCache, checks []seawall.Check, each int) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		dst := make([]seawall.Result, 0, each)
		for i := 0; pb.Next(); i = (i + each) % len(checks) {
			results, err := c.Apply(b.Context(), dst, checks[i:i+each])
			if err != nil || results[0].Admitted && each == 1 {
				b.Fatal(results, err)
			}
		}
	})
}

// admitting is a store that admits at once, or denies for as long.
type admitting struct {
	seawall.Store
	res seawall.Result
}

func (a admitting) Apply(_ context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	for range checks {
		dst = append(dst, a.res)
	}
	return dst, nil
}

// BenchmarkDenyCacheMiss is what the cache adds to a call of the store: for callers who are admitted, and for those
// whose denial it learns each time.
func BenchmarkDenyCacheMiss(b *testing.B) {
	for name, res := range map[string]seawall.Result{
		"admitted": {Admitted: true, Committed: true},
		"learnt":   {Limit: 1, RetryAfter: time.Nanosecond},
	} {
		b.Run(name, func(b *testing.B) {
			c, err := store.NewDenyCache(store.DenyCacheConfig{Store: admitting{res: res}})
			require.NoError(b, err)
			checks := make([]seawall.Check, 1000)
			for i := range checks {
				checks[i] = spends(b, "api", perSecond(1))
				checks[i].Key = seawall.NewKey(fmt.Sprintf("customer-%08d", i))
			}
			dst := make([]seawall.Result, 0, 1)
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % len(checks) {
				_, _ = c.Apply(context.Background(), dst, checks[i:i+1])
			}
		})
	}
}
