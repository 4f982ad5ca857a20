package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/race"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// The tests in this file are about what is given back: nobody is denied from memory what is there again.

// spent returns a cache that knows of an exhausted limit, and the check that exhausted it.
func spent(t *testing.T) (*denying, seawall.Check) {
	t.Helper()
	d := newDenying(t, store.DenyCacheConfig{})
	checks := []seawall.Check{spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 1))}
	checks[0].Timed = true
	results, err := d.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	require.True(t, results[0].Committed)
	d.exhaust(t, costing(checks[0], 1), 0)
	_, asked := d.ask(t, checks[0])
	require.False(t, asked)
	return d, checks[0]
}

func TestWhatIsGivenBackIsThere(t *testing.T) {
	for _, op := range []seawall.Op{seawall.Refund, seawall.Reset} {
		d, c := spent(t)
		back := doing(c, op)
		back.Rule = ruleOf(t, ratelimit.TokenBucket(ratelimit.PerHour(1), 1)) // a reload came between
		results, asked := d.ask(t, back)
		assert.True(t, asked)
		assert.Equal(t, []seawall.Result{{Admitted: true, Committed: true}}, results)
		results, asked = d.ask(t, c)
		assert.True(t, asked && results[0].Committed)
	}
}

func TestARequestThatGivesBackIsAsked(t *testing.T) {
	d, c := spent(t)
	other := spends(t, "other", perSecond(1))
	results, asked := d.ask(t, doing(other, seawall.Reset), c)
	assert.True(t, asked)
	assert.False(t, results[1].Admitted)
}

func TestAnotherCallersRefundLeavesWhatIsKnown(t *testing.T) {
	d, c := spent(t)
	other := c
	other.Key = seawall.NewKey("b")
	require.NotEqual(t, c.Key.Hash()%1024, other.Key.Hash()%1024)
	d.ask(t, doing(other, seawall.Refund))
	_, asked := d.ask(t, c)
	assert.False(t, asked)
}

// TestARefundThatFailsMayHaveTakenPlace has the store refund, and say that it is not known.
func TestARefundThatFailsMayHaveTakenPlace(t *testing.T) {
	d, c := spent(t)
	d.behind = func(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		_, _ = d.bare.Apply(ctx, dst, checks)
		return dst, errGone
	}
	_, err := d.Apply(t.Context(), nil, []seawall.Check{doing(c, seawall.Refund)})
	require.ErrorIs(t, err, errGone)
	d.behind = nil
	results, _ := d.ask(t, c)
	assert.True(t, results[0].Committed)
}

// TestARefundIsSeenBeforeItIsAnswered asks between the refund in the store and its answer.
func TestARefundIsSeenBeforeItIsAnswered(t *testing.T) {
	d, c := spent(t)
	var during []seawall.Result
	d.behind = func(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		d.behind = nil
		results, err := d.bare.Apply(ctx, dst, checks)
		during, _ = d.ask(t, c)
		return results, err
	}
	_, err := d.Apply(t.Context(), nil, []seawall.Check{doing(c, seawall.Refund)})
	require.NoError(t, err)
	require.Len(t, during, 1)
	assert.True(t, during[0].Committed)
}

// TestADenialThatIsOlderThanARefundIsNotLearnt has a refund, whole, between a denial in the store and its answer;
// and begun before the question, and ended after the answer.
func TestADenialThatIsOlderThanARefundIsNotLearnt(t *testing.T) {
	d, c := spent(t)
	d.behind = func(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		d.behind = nil
		results, err := d.bare.Apply(ctx, dst, checks)
		d.ask(t, doing(c, seawall.Refund))
		return results, err
	}
	d.Advance(time.Second) // so that it is asked
	results, err := d.Apply(t.Context(), nil, []seawall.Check{c})
	require.NoError(t, err)
	require.False(t, results[0].Admitted)
	results, asked := d.ask(t, c)
	assert.True(t, asked && results[0].Committed)

	d, c = spent(t)
	d.behind = func(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		d.behind = nil
		_, asked := d.ask(t, c)
		require.True(t, asked, "it was forgotten before the refund")
		_, asked = d.ask(t, c)
		require.False(t, asked, "learnt again")
		return d.bare.Apply(ctx, dst, checks)
	}
	_, err = d.Apply(t.Context(), nil, []seawall.Check{doing(c, seawall.Refund)})
	require.NoError(t, err)
	results, asked = d.ask(t, c)
	assert.True(t, asked && results[0].Committed)
}

// TestWhoWasRefundedIsNeverDenied races peeks, which learn denials, with refunds.
func TestWhoWasRefundedIsNeverDenied(t *testing.T) {
	bare := memstore.New(memstore.Config{})
	c, err := store.NewDenyCache(store.DenyCacheConfig{Store: bare})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	rounds := 3000
	if race.Detector {
		rounds = 500
	}
	var callers sync.WaitGroup
	for n := range 2 {
		check := spends(t, "api", ratelimit.TokenBucket(ratelimit.PerHour(1), 1))
		check.Key, check.Timed = seawall.NewKey(fmt.Sprint(n)), true
		apply := func(op seawall.Op, checks []seawall.Check) (seawall.Result, error) {
			checks[0].Op = op
			results, err := c.Apply(t.Context(), nil, checks)
			return results[0], err
		}
		over := make(chan struct{})
		for range 3 {
			callers.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
						_, err := apply(seawall.Peek, []seawall.Check{check})
						assert.NoError(t, err)
					}
				}
			})
		}
		callers.Go(func() {
			defer close(over)
			mine := []seawall.Check{check}
			for i := range rounds {
				got, err := apply(seawall.Spend, mine)
				if !assert.NoError(t, err) || !assert.True(t, got.Committed, "round %d", i) {
					return
				}
				for range 2 { // the second is answered from memory, unless the others' are on their way
					_, err = apply(seawall.Peek, []seawall.Check{check})
					assert.NoError(t, err)
				}
				undo := seawall.Refund
				if i%2 == 1 {
					undo = seawall.Reset
				}
				_, err = apply(undo, mine)
				assert.NoError(t, err)
			}
		})
	}
	callers.Wait()
	assert.Positive(t, c.Saved())
}
