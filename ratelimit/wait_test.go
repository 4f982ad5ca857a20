package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

func TestWaitServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, quota("it", ratelimit.TokenBucket(ratelimit.PerSecond(1), 10)))
		require.True(t, allow(t, b, 10).Admitted)
		began := time.Now()
		var mu sync.Mutex
		var order []int
		var at []time.Duration
		var all sync.WaitGroup
		for i, cost := range []int64{5, 1, 10, 1, 2} { // a small one does not overtake a large one
			all.Go(func() {
				a, err := b.Wait(t.Context(), spend(cost))
				assert.NoError(t, err)
				assert.True(t, a.Admitted)
				mu.Lock()
				defer mu.Unlock()
				order, at = append(order, i), append(at, time.Since(began))
			})
			synctest.Wait()
		}
		all.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4}, order)
		assert.Equal(t, []time.Duration{5 * time.Second, 6 * time.Second, 16 * time.Second, 17 * time.Second, 19 * time.Second}, at)
	})
}

func TestWaitOfAnotherKeyIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, quota("it", ratelimit.FixedWindow(1, ratelimit.Daily())))
		require.True(t, allow(t, b, 1).Admitted)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := b.Wait(ctx, spend(1))
			assert.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		_, err := b.Wait(t.Context(), &seawall.Request{Key: seawall.NewKey("other")})
		require.NoError(t, err)
		cancel()
		all.Wait()
	})
}

// TestCancelledWaitGivesNothingAway cancels one in the middle of a line and one at its head.
func TestCancelledWaitGivesNothingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, quota("it", ratelimit.TokenBucket(ratelimit.PerSecond(1), 10)))
		require.True(t, allow(t, b, 10).Admitted)
		began := time.Now()
		var all sync.WaitGroup
		cancels := make([]context.CancelFunc, 3)
		var served atomic.Int64
		for i := range 3 {
			var ctx context.Context
			ctx, cancels[i] = context.WithCancel(t.Context())
			all.Go(func() {
				if _, err := b.Wait(ctx, spend(4)); err == nil {
					served.Add(1)
					assert.Equal(t, 4*time.Second, time.Since(began), "as if the others had not been there")
				}
			})
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		cancels[1]()
		cancels[0]()
		all.Wait()
		cancels[2]()
		assert.EqualValues(t, 1, served.Load())
		assert.Zero(t, allow(t, b, 1).Remaining)
	})
}

func TestWaitKnowsWhenItIsHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, quota("it", ratelimit.TokenBucket(ratelimit.PerSecond(1), 10)))
		began := time.Now()
		_, err := b.Wait(t.Context(), spend(11))
		require.ErrorIs(t, err, ratelimit.ErrNever)
		assert.ErrorContains(t, err, `policy "it": it can never be admitted`)
		require.True(t, allow(t, b, 10).Admitted)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = b.Wait(ctx, spend(4))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		refused, ok := errors.AsType[*ratelimit.RefusedError](err)
		require.True(t, ok)
		assert.Equal(t, 4*time.Second, refused.Answer.RetryAfter)
		assert.ErrorContains(t, err, "for another 4s")
		assert.Zero(t, time.Since(began), "neither waits for what will not come")
		_, err = b.Wait(ctx, spend(2))
		require.NoError(t, err)
	})
}

func TestWaitSeesAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, quota("it", ratelimit.FixedWindow(1, ratelimit.Daily())))
		require.True(t, allow(t, b, 1).Admitted)
		began := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			_, err := b.Wait(t.Context(), spend(1))
			assert.NoError(t, err)
			assert.LessOrEqual(t, time.Since(began), 10*time.Second)
		})
		time.Sleep(time.Second)
		require.NoError(t, b.Reset(t.Context(), spend(1)))
		all.Wait()
	})
}

// slowStore answers only after its caller's context would have ended.
type slowStore struct {
	seawall.Store
	cancel func()
}

func (s *slowStore) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if checks[0].Op == seawall.Spend {
		s.cancel()
	}
	if ctx.Err() != nil {
		return dst, errors.New("the call was given up, and may have spent all the same")
	}
	return s.Store.Apply(ctx, dst, checks)
}

func TestCancelWhileTheStoreIsAsked(t *testing.T) {
	mem := memstore.New(memstore.Config{Now: time.Now})
	l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{quota("it", ratelimit.SlidingLog(10, time.Hour))}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	b, err := ratelimit.NewBudget(&slowStore{mem, cancel}, l)
	require.NoError(t, err)
	_, err = b.Wait(ctx, spend(6))
	require.ErrorIs(t, err, context.Canceled)
	a, err := b.Peek(t.Context(), spend(1))
	require.NoError(t, err)
	assert.Equal(t, int64(10), a.Remaining, "it is given back")
}

// TestThoseInLineAreToldWhatIsHopeless has them stand behind one who waits for tomorrow.
func TestThoseInLineAreToldWhatIsHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, quota("it", ratelimit.FixedWindow(10, ratelimit.Daily())))
		require.True(t, allow(t, b, 10).Admitted)
		tomorrow, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := b.Wait(tomorrow, spend(1))
			assert.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		began := time.Now()
		_, err := b.Wait(t.Context(), spend(11))
		require.ErrorIs(t, err, ratelimit.ErrNever)
		soon, done := context.WithTimeout(t.Context(), time.Hour)
		defer done()
		_, err = b.Wait(soon, spend(1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, time.Since(began))
		cancel()
		all.Wait()
	})
}
