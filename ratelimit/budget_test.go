package ratelimit_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

var account = seawall.NewKey("account")

func spend(cost int64) *seawall.Request { return &seawall.Request{Key: account, Cost: cost} }

// budget returns one on a store in memory whose clock is the test's.
func budget(t testing.TB, policies ...ratelimit.Policy) *ratelimit.Budget {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	s := memstore.New(memstore.Config{Now: time.Now})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	b, err := ratelimit.NewBudget(s, l)
	require.NoError(t, err)
	return b
}

func quota(name string, q ratelimit.Quota) ratelimit.Policy {
	return ratelimit.Policy{Name: name, Quota: q}
}

func allow(t testing.TB, b *ratelimit.Budget, cost int64) *ratelimit.Answer {
	t.Helper()
	a, err := b.Allow(t.Context(), spend(cost))
	require.NoError(t, err)
	return a
}

func TestBudgetSpendsFromAllPoliciesOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t,
			quota("second", ratelimit.TokenBucket(ratelimit.PerSecond(1), 5)),
			quota("day", ratelimit.FixedWindow(7, ratelimit.Daily())))
		a := allow(t, b, 5)
		assert.True(t, a.Admitted)
		assert.Zero(t, a.Remaining)
		a = allow(t, b, 3)
		assert.False(t, a.Admitted)
		assert.Equal(t, "second", a.Policy)
		assert.Equal(t, 24*time.Hour, a.RetryAfter, "the longest of both: the bubble's clock starts at midnight")
		time.Sleep(5 * time.Second)
		a = allow(t, b, 3)
		assert.Equal(t, "day", a.Policy, "the bucket is full again, and a refusal cost it nothing")
		second, ok := a.Of("second")
		assert.True(t, ok && second.Admitted)
		assert.Equal(t, int64(5), second.Remaining)
		_, ok = a.Of("minute")
		assert.False(t, ok)
		assert.Equal(t, int64(2), a.Remaining)
		assert.Equal(t, seawall.Never, allow(t, b, 6).RetryAfter, "more than the bucket holds")
	})
}

func TestPeekSpendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, q := range everyQuota() {
			b := budget(t, quota("it", q))
			for range 3 {
				a, err := b.Peek(t.Context(), spend(10))
				require.NoError(t, err)
				assert.True(t, a.Admitted, name)
				assert.Equal(t, int64(10), a.Remaining, name)
				require.NoError(t, b.Refund(t.Context(), a))
			}
			require.True(t, allow(t, b, 4).Admitted)
			a, err := b.Peek(t.Context(), spend(7))
			require.NoError(t, err)
			assert.False(t, a.Admitted, name)
			assert.Equal(t, int64(6), a.Remaining, name)
			assert.Positive(t, a.RetryAfter, name)
		}
	})
}

// everyQuota is ten by every algorithm.
func everyQuota() map[string]ratelimit.Quota {
	return map[string]ratelimit.Quota{
		"bucket":  ratelimit.TokenBucket(ratelimit.PerMinute(1), 10),
		"log":     ratelimit.SlidingLog(10, time.Minute),
		"counter": ratelimit.SlidingCounter(10, time.Minute),
		"window":  ratelimit.FixedWindow(10, ratelimit.Every(time.Minute)),
	}
}

func TestRefundIsAsIfItHadNotBeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, q := range everyQuota() {
			b := budget(t, quota("it", q))
			require.True(t, allow(t, b, 3).Admitted)
			a := allow(t, b, 7)
			require.True(t, a.Admitted, name)
			require.Zero(t, a.Remaining, name)
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			for range 3 { // once, whoever has hung up
				require.NoError(t, b.Refund(gone, a))
			}
			peek, err := b.Peek(t.Context(), spend(7))
			require.NoError(t, err)
			assert.True(t, peek.Admitted, name)
			assert.Equal(t, int64(7), peek.Remaining, name)
			refused := allow(t, b, 8)
			require.False(t, refused.Admitted, name)
			require.NoError(t, b.Refund(t.Context(), refused))
			assert.Equal(t, int64(7), allow(t, b, 8).Remaining, "%s: a refusal has nothing to give back", name)
		}
	})
}

// TestLateRefundGivesNoMoreThanIsMissing spends all, lets it come back, spends all again, and refunds the first.
func TestLateRefundGivesNoMoreThanIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, q := range map[string]ratelimit.Quota{
			"bucket":  ratelimit.TokenBucket(ratelimit.PerMinute(10), 10),
			"log":     ratelimit.SlidingLog(10, time.Minute),
			"counter": ratelimit.SlidingCounter(10, time.Minute),
			"window":  ratelimit.FixedWindow(10, ratelimit.Every(time.Minute)),
		} {
			b := budget(t, quota("it", q))
			first := allow(t, b, 10)
			require.True(t, first.Admitted)
			time.Sleep(2 * time.Minute)
			second := allow(t, b, 10)
			require.True(t, second.Admitted, name)
			require.NoError(t, b.Refund(t.Context(), first))
			assert.Zero(t, allow(t, b, 1).Remaining, name)
			time.Sleep(30 * time.Second)
			require.NoError(t, b.Refund(t.Context(), second))
			assert.True(t, allow(t, b, 10).Admitted, "%s: the second is worth what has not come back by itself", name)
			time.Sleep(30 * time.Second)
		}
	})
}

func TestResetForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, q := range everyQuota() {
			b := budget(t, quota("it", q))
			require.True(t, allow(t, b, 10).Admitted)
			require.NoError(t, b.Reset(t.Context(), spend(1)))
			assert.True(t, allow(t, b, 10).Admitted, name)
		}
	})
}

func TestBudgetWithoutAKeyIsAnError(t *testing.T) {
	b := budget(t, quota("it", ratelimit.SlidingLog(1, time.Minute)))
	_, err := b.Allow(t.Context(), &seawall.Request{})
	require.ErrorContains(t, err, "Request.Key is zero")
	other := quota("it", ratelimit.SlidingLog(1, time.Minute))
	other.Routes = []string{"/elsewhere"}
	a, err := budget(t, other).Allow(t.Context(), spend(5))
	require.NoError(t, err)
	assert.True(t, a.Admitted)
	assert.EqualValues(t, math.MaxInt64, a.Remaining, "no policy is about it")
	for _, nothing := range []func() (*ratelimit.Budget, error){
		func() (*ratelimit.Budget, error) { return ratelimit.NewBudget(nil, nil) },
		func() (*ratelimit.Budget, error) {
			return ratelimit.NewBudget(memstore.New(memstore.Config{Now: time.Now}), nil)
		},
	} {
		_, err := nothing()
		require.ErrorContains(t, err, "ratelimit: NewBudget was given no")
	}
}

// failing is a store that fails in some way.
type failing struct {
	seawall.Store
	err error
}

func (s failing) Apply(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	return dst, s.err
}

// undone is an error of a call that was not sent.
type undone struct{}

func (undone) Error() string { return "nobody was there" }

func (undone) Undone() bool { return true }

func TestItIsSaidWhetherItMayHaveBeenSpent(t *testing.T) {
	l := limiter(t, quota("it", ratelimit.SlidingLog(10, time.Hour)))
	for _, c := range []struct {
		err     error
		unknown bool
	}{{errors.New("no answer"), true}, {undone{}, false}, {context.DeadlineExceeded, true}} {
		b, err := ratelimit.NewBudget(failing{err: c.err}, l)
		require.NoError(t, err)
		_, err = b.Wait(t.Context(), spend(1))
		require.ErrorIs(t, err, c.err)
		assert.Equal(t, c.unknown, errors.Is(err, ratelimit.ErrUnknown), "%v", err)
		_, refused := errors.AsType[*ratelimit.RefusedError](err)
		assert.False(t, refused)
		_, err = b.Peek(t.Context(), spend(1))
		require.ErrorIs(t, err, c.err)
		require.NotErrorIs(t, err, ratelimit.ErrUnknown, "a peek spends nothing")
	}
}

// heldUp is a store whose refunds arrive late.
type heldUp struct {
	seawall.Store
	by time.Duration
}

func (s heldUp) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if checks[0].Op == seawall.Refund {
		time.Sleep(s.by)
	}
	return s.Store.Apply(ctx, dst, checks)
}

// TestARefundThatIsHeldUpGivesNoMore sends a refund just before a boundary that arrives behind it.
func TestARefundThatIsHeldUpGivesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, q := range map[string]ratelimit.Quota{
			"bucket": ratelimit.TokenBucket(ratelimit.PerMinute(10), 10),
			"window": ratelimit.FixedWindow(10, ratelimit.Every(time.Minute)),
		} {
			b, err := ratelimit.NewBudget(heldUp{memstore.New(memstore.Config{Now: time.Now}), time.Minute}, limiter(t, quota("it", q)))
			require.NoError(t, err)
			first := allow(t, b, 10)
			require.True(t, first.Admitted)
			var all sync.WaitGroup
			all.Go(func() { assert.NoError(t, b.Refund(t.Context(), first)) })
			all.Wait()
			second := allow(t, b, 10)
			require.True(t, second.Admitted, name)
			require.NoError(t, b.Refund(t.Context(), first), "once")
			assert.Zero(t, allow(t, b, 1).Remaining, name)
		}
	})
}

func TestAnAnswerIsRefundedByItsOwnBudget(t *testing.T) {
	one, other := budget(t, quota("it", everyQuota()["log"])), budget(t, quota("it", everyQuota()["log"]))
	a := allow(t, one, 10)
	require.ErrorContains(t, other.Refund(t.Context(), a), "another Budget's")
	require.NoError(t, one.Refund(t.Context(), a))
	assert.Equal(t, int64(9), allow(t, one, 1).Remaining, "and it still can be")
}

func TestABlockedCallerNeedsNoStore(t *testing.T) {
	p := quota("it", everyQuota()["log"])
	p.Plan = func(*seawall.Request) string { return ratelimit.PlanBlock }
	b, err := ratelimit.NewBudget(failing{err: errors.New("no answer")}, limiter(t, p))
	require.NoError(t, err)
	_, err = b.Wait(t.Context(), spend(1))
	require.ErrorIs(t, err, ratelimit.ErrNever)
}
