package concurrency_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

var sms = seawall.NewKey("sms")

// guard is a limiter of so many slots on a store in memory, for which so many may wait.
func guard(t *testing.T, slots int64, waiting int, policies ...concurrency.Policy) *concurrency.Limiter {
	t.Helper()
	store := memstore.New(memstore.Config{})
	t.Cleanup(func() { require.NoError(t, store.Close(context.Background())) })
	return guardOn(t, store, slots, waiting, policies...)
}

func guardOn(t *testing.T, store seawall.Store, slots int64, waiting int, policies ...concurrency.Policy) *concurrency.Limiter {
	t.Helper()
	l, err := concurrency.New(concurrency.Config{MaxInFlight: slots, Store: store, MaxWaiting: waiting, Policies: policies})
	require.NoError(t, err)
	return l
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestAcquire(t *testing.T) {
	l := guard(t, 2, 0)
	a, err := l.Acquire(t.Context(), sms)
	require.NoError(t, err)
	_, err = l.Acquire(t.Context(), sms)
	require.NoError(t, err)
	_, err = l.Acquire(t.Context(), sms)
	require.ErrorIs(t, err, concurrency.ErrFull)
	require.EqualError(t, err, `concurrency: policy "in-flight": no slot is free`)
	_, err = l.Acquire(t.Context(), seawall.NewKey("mail"))
	require.NoError(t, err, "another one's")
	for range 3 {
		a.Release()
	}
	_, err = l.Acquire(t.Context(), sms)
	require.NoError(t, err)
	_, err = l.Acquire(t.Context(), sms)
	require.ErrorIs(t, err, concurrency.ErrFull, "released thrice is released once")
	concurrency.Lease{}.Release()
}

func TestAcquireOfPoliciesIsAllOrNothing(t *testing.T) {
	l := guard(t, 2, 0, concurrency.Policy{
		Name: "heavy", MaxInFlight: 5, Routes: []string{"/query"}, Weight: func(r *seawall.Request) int64 { return r.Cost },
	})
	take := func(cost int64) (concurrency.Lease, error) {
		return l.AcquireFor(t.Context(), &seawall.Request{Key: sms, Route: "/query", Cost: cost})
	}
	_, err := take(6)
	require.ErrorIs(t, err, concurrency.ErrTooHeavy)
	a, err := take(3)
	require.NoError(t, err)
	_, err = take(3)
	require.EqualError(t, err, `concurrency: policy "heavy": no slot is free`)
	_, err = l.Acquire(t.Context(), sms)
	require.NoError(t, err, "what was refused has taken no slot of the other policy")
	_, err = take(1)
	require.EqualError(t, err, `concurrency: policy "in-flight": no slot is free`)
	a.Release()
	_, err = take(5)
	require.NoError(t, err)
}

func TestAcquireSaysWhatIsMissing(t *testing.T) {
	_, err := guardOn(t, nil, 1, 0).Acquire(t.Context(), sms)
	require.ErrorContains(t, err, "Config.Store is nil")
	_, err = guard(t, 1, 0).Acquire(t.Context(), seawall.Key{})
	require.ErrorContains(t, err, "the key is zero")
	for _, n := range []int{-1, 10_001} {
		_, err = concurrency.New(concurrency.Config{MaxInFlight: 1, MaxWaiting: n})
		require.ErrorContains(t, err, "MaxWaiting is")
	}
	l, err := concurrency.New(concurrency.Config{
		Policies: []concurrency.Policy{{Name: "reports", MaxInFlight: 1, Routes: []string{"/reports"}}}, Store: &seawalltest.Store{},
	})
	require.NoError(t, err)
	free, err := l.Acquire(t.Context(), sms)
	require.NoError(t, err, "no policy is about it")
	free.Release()
}

// TestAcquireHoldsNothingAfterAnError has a store that takes leases and fails, and callers who do not wait for it.
func TestAcquireHoldsNothingAfterAnError(t *testing.T) {
	for _, waiting := range []int{0, 3} {
		store := &seawalltest.Store{}
		l := guardOn(t, store, 1, waiting)
		store.Fail(errors.New("boom"))
		_, err := l.Acquire(t.Context(), sms)
		require.ErrorContains(t, err, "boom")
		assert.Empty(t, store.Held())
		store.Fail(nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = l.Acquire(ctx, sms)
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, store.Held())
	}
}

// TestWaitingIsInOrder has ten wait for one slot, who came one after the other.
func TestWaitingIsInOrder(t *testing.T) {
	l := guard(t, 1, 10)
	first, err := l.Acquire(t.Context(), sms)
	require.NoError(t, err)
	var mu sync.Mutex
	var served []int
	var all sync.WaitGroup
	ctx := within(t, 20*time.Second)
	for i := range 10 {
		all.Go(func() {
			lease, err := l.Acquire(ctx, sms)
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			served = append(served, i)
			mu.Unlock()
			lease.Release()
		})
		require.Eventually(t, func() bool { return l.Waiting("in-flight", sms) == i+1 }, 10*time.Second, time.Millisecond)
	}
	_, err = l.Acquire(t.Context(), sms)
	require.ErrorIs(t, err, concurrency.ErrFull, "as many wait already")
	first.Release()
	all.Wait()
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, served)
	assert.Zero(t, l.Waiting("in-flight", sms))
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	l := guard(t, 1, 2)
	held, err := l.Acquire(t.Context(), sms)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 2 { // the first of the line, and one behind
		all.Go(func() {
			_, err := l.Acquire(within(t, 50*time.Millisecond), sms)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
	all.Wait()
	held.Release()
	_, err = l.Acquire(within(t, 10*time.Second), sms)
	require.NoError(t, err, "who gave up is not waited for")
	_, err = l.AcquireFor(t.Context(), &seawall.Request{Key: sms, LongLived: true})
	require.NoError(t, err, "another policy")
}

// TestRequestsStandBehindThoseWhoWait mounts the same limiter in a Stack.
func TestRequestsStandBehindThoseWhoWait(t *testing.T) {
	store := memstore.New(memstore.Config{})
	l := guardOn(t, store, 1, 5)
	s, err := seawall.New(seawall.Config{Store: store}, l)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	admitted := s.Admit(t.Context(), &seawall.Request{Key: sms})
	require.False(t, admitted.Decision().Denied)
	got := make(chan concurrency.Lease)
	go func() {
		lease, err := l.Acquire(within(t, 10*time.Second), sms)
		assert.NoError(t, err)
		got <- lease
	}()
	require.Eventually(t, func() bool { return l.Waiting("in-flight", sms) == 1 }, 10*time.Second, time.Millisecond)
	admitted.Done(t.Context())
	lease := <-got
	refused := s.Admit(t.Context(), &seawall.Request{Key: sms})
	assert.True(t, refused.Decision().Denied)
	refused.Done(t.Context())
	lease.Release()
	again := s.Admit(t.Context(), &seawall.Request{Key: sms})
	assert.False(t, again.Decision().Denied)
	again.Done(t.Context())
}

// TestWhoWaitsForOtherSlotsIsNotWaitedFor has one wait for a stream's slot while another kind of slot is free.
func TestWhoWaitsForOtherSlotsIsNotWaitedFor(t *testing.T) {
	l := guard(t, 1, 5)
	stream := &seawall.Request{Key: sms, LongLived: true}
	_, err := l.AcquireFor(t.Context(), stream)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		_, err := l.AcquireFor(ctx, stream)
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, concurrency.ErrFull)
	})
	require.Eventually(t, func() bool { return l.Waiting("long-lived", sms) == 1 }, 10*time.Second, time.Millisecond)
	_, err = l.Acquire(within(t, 10*time.Second), sms)
	require.NoError(t, err)
	cancel()
	waiting.Wait()
}
