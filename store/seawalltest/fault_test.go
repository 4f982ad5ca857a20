package seawalltest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store/seawalltest"
)

func TestFailAndPanicUntilToldOtherwise(t *testing.T) {
	var s seawalltest.Store
	checks := []seawall.Check{rate(t, "api")}
	ask := func() error { _, err := s.Apply(t.Context(), nil, checks); return err }
	s.Fail(assert.AnError)
	for range 2 {
		assert.Equal(t, assert.AnError, ask())
	}
	s.Panic("driver bug")
	assert.PanicsWithValue(t, "driver bug", func() { _ = ask() }, "a panic comes before an error")
	s.Panic(nil)
	assert.Equal(t, assert.AnError, ask())
	s.Fail(nil)
	assert.NoError(t, ask())
	assert.Len(t, s.Applied(), 5, "the panic was asked, too")
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s seawalltest.Store
		checks := []seawall.Check{slot(t)}
		ask := func(ctx context.Context) (took time.Duration, err error) {
			start := time.Now()
			_, err = s.Apply(ctx, nil, checks)
			return time.Since(start), err
		}
		s.Delay(3 * time.Second)
		took, err := ask(t.Context())
		assert.NoError(t, err)
		assert.Equal(t, 3*time.Second, took)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		took, err = ask(short)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "timeout", seawall.Reason(err))
		assert.Equal(t, time.Second, took)
		took, err = ask(short)
		assert.ErrorIs(t, err, context.DeadlineExceeded, "it was done before")
		assert.Zero(t, took)

		s.Fail(assert.AnError)
		took, err = ask(t.Context())
		assert.ErrorIs(t, err, assert.AnError)
		assert.Equal(t, 3*time.Second, took, "it fails late")

		s.Delay(0)
		s.Fail(nil)
		took, err = ask(short)
		assert.NoError(t, err, "what does not wait does not look at ctx")
		assert.Zero(t, took)
	})
}

// TestADoneContextWins is in real time, where a delay can be over before one looks.
func TestADoneContextWins(t *testing.T) {
	var s seawalltest.Store
	s.Delay(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 {
		_, err := s.Apply(ctx, nil, nil)
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestACallWhoseContextIsCanceledEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s seawalltest.Store
		s.Delay(time.Hour)
		checks := []seawall.Check{rate(t, "api")}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := s.Apply(ctx, nil, checks)
			done <- err
		}()
		synctest.Wait()
		assert.Len(t, s.Applied(), 1, "nobody else waits for who waits")
		cancel()
		assert.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestReleaseWaitsOnlyForALastSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s seawalltest.Store
		s.Answer("concurrency", seawall.Result{Admitted: true, Last: true})
		checks := []seawall.Check{slot(t), slot(t)}
		results, err := s.Apply(t.Context(), nil, checks)
		require.NoError(t, err)
		assert.True(t, results[0].Last)
		s.Delay(time.Second)
		s.Fail(assert.AnError)
		release := func(ctx context.Context, l seawall.Lease) (took time.Duration, err error) {
			start := time.Now()
			err = s.Release(ctx, l)
			return time.Since(start), err
		}
		last := s.Held()[0]
		assert.True(t, last.Last)
		took, err := release(t.Context(), last)
		assert.NoError(t, err, "an outage is no reason to fail")
		assert.Equal(t, time.Second, took)
		took, err = release(t.Context(), last)
		assert.NoError(t, err)
		assert.Zero(t, took, "it is free already")

		other := s.Held()[0]
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = release(ctx, other)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, s.Held(), "it is given back all the same")

		checks = []seawall.Check{slot(t)}
		s.Answer("concurrency", seawall.Result{Admitted: true})
		_, err = s.Apply(t.Context(), nil, checks)
		assert.ErrorIs(t, err, assert.AnError)
		took, _ = release(t.Context(), leaseOf(checks[0]))
		assert.Zero(t, took, "no last slot")
	})
}
