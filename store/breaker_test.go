package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// because is an error with a reason.
type because string

func (b because) Error() string  { return "because of " + string(b) }
func (b because) Reason() string { return string(b) }

// fail reports n failures at once, of calls that were allowed.
func fail(b *breaker, n int, err error) {
	for range n {
		if call, refused := b.allow(); refused == nil {
			call.report(err, 0)
		}
	}
}

// inBubble runs f with a new breaker in virtual time, and counts how often that opened.
func inBubble(t *testing.T, f func(t *testing.T, b *breaker, opened *int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		f(t, newBreaker(seawall.DefaultWait, func() { opened++ }), &opened)
	})
}

func TestABreakerOpensAfterSomeFailuresInSomeTime(t *testing.T) {
	inBubble(t, func(t *testing.T, b *breaker, opened *int) {
		fail(b, 1000, because("timeout"))
		assert.False(t, b.isOpen(), "one stall, whatever waits for it")
		time.Sleep(failing - 1)
		fail(b, 1, because("timeout"))
		assert.False(t, b.isOpen())
		time.Sleep(time.Nanosecond)
		fail(b, 1, because("refused"))
		assert.True(t, b.isOpen())
		assert.Equal(t, 1, *opened)
		_, refused := b.allow()
		require.NotNil(t, refused)
		assert.Equal(t, "refused", seawall.Reason(refused), "the last one's")
		assert.True(t, seawall.Undone(refused))
		assert.ErrorContains(t, refused, "because of refused")
	})
	inBubble(t, func(t *testing.T, b *breaker, _ *int) {
		for range 2 {
			fail(b, failuresInRow-1, because("timeout"))
			time.Sleep(time.Hour)
			fail(b, 1, nil)
		}
		fail(b, failuresInRow-1, because("timeout"))
		assert.False(t, b.isOpen(), "an answer begins a new row")
		time.Sleep(time.Hour)
		fail(b, 1, because("timeout"))
		assert.True(t, b.isOpen(), "however rare the calls are")
	})
}

func TestWhatSaysNothingOfTheStoreDoesNotOpenABreaker(t *testing.T) {
	inBubble(t, func(t *testing.T, b *breaker, _ *int) {
		for range 10 {
			fail(b, 100, because("script"))
			fail(b, 100, because("panic"))
			fail(b, 100, because("moved"))
			fail(b, 100, &panicError{"bug"})
			fail(b, 100, context.Canceled)
			time.Sleep(time.Second)
		}
		assert.False(t, b.isOpen())
		for _, reason := range []string{"timeout", "refused", "tls", "readonly", "oom", "auth", "loading", "busy", "error"} {
			b := newBreaker(seawall.DefaultWait, func() {})
			fail(b, failuresInRow, because(reason))
			time.Sleep(failing)
			fail(b, 1, because(reason))
			assert.True(t, b.isOpen(), reason)
		}
		b = newBreaker(seawall.DefaultWait, func() {})
		fail(b, failuresInRow-1, context.DeadlineExceeded)
		fail(b, 50, because("script")) // between two of a row, and no end of it
		time.Sleep(failing)
		fail(b, 1, context.DeadlineExceeded)
		assert.True(t, b.isOpen())
	})
}

func open(b *breaker) {
	fail(b, failuresInRow, because("timeout"))
	time.Sleep(failing)
	fail(b, 1, because("timeout"))
}

// TestOnlyProbesCloseABreaker waits for years, and loses outcomes at every moment: nothing is half-open.
func TestOnlyProbesCloseABreaker(t *testing.T) {
	inBubble(t, func(t *testing.T, b *breaker, opened *int) {
		early, refused := b.allow()
		require.Nil(t, refused)
		_, _ = b.allow() // never reports
		open(b)
		for range 20 {
			time.Sleep(365 * 24 * time.Hour)
			_, refused := b.allow()
			require.NotNil(t, refused)
		}
		early.report(nil, 0)
		assert.True(t, b.isOpen(), "a late success is no probe")
		assert.True(t, b.probed(nil))
		assert.False(t, b.isOpen())
		early.report(because("timeout"), 0)
		lost := 0
		for range 100 {
			_, refused := b.allow()
			require.Nil(t, refused)
			lost++
		}
		fail(b, 100, nil)
		assert.False(t, b.isOpen(), "whatever gets lost")
		assert.Equal(t, 1, *opened)
	})
}

func TestABreakerThatFlapsGetsWary(t *testing.T) {
	inBubble(t, func(t *testing.T, b *breaker, opened *int) {
		for i, need := range []int{1, 1, 2, 4, 8, 8, 8} {
			open(b)
			require.True(t, b.isOpen())
			assert.False(t, b.probed(errSlow))
			for n := 1; n < need; n++ {
				require.False(t, b.probed(nil), "opening %d", i)
			}
			if need > 1 { // a bad one undoes a good one, and no more
				require.False(t, b.probed(errSlow), "opening %d", i)
				require.False(t, b.probed(nil), "opening %d", i)
			}
			require.True(t, b.probed(nil), "opening %d", i)
		}
		assert.Equal(t, 7, *opened)
		time.Sleep(calm)
		open(b)
		assert.True(t, b.probed(nil), "after a calm time it trusts again")
	})
}

// TestABreakerUnderRace has calls, probes and trips meet; in the end it works as a new one does.
func TestABreakerUnderRace(t *testing.T) {
	b := newBreaker(seawall.DefaultWait, func() {})
	var all sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch i {
				case 0:
					fail(b, 20, because("timeout"))
				case 1:
					fail(b, 1, nil)
				case 2:
					b.trip(errors.New("tripped"))
				case 3:
					if b.isOpen() {
						b.probed(nil)
					}
				}
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	close(stop)
	all.Wait()
	b.trip(errors.New("tripped"))
	require.True(t, b.isOpen())
	_, refused := b.allow()
	require.NotNil(t, refused)
	for range wary {
		if b.probed(nil) {
			break
		}
	}
	require.False(t, b.isOpen())
	call, refused := b.allow()
	require.Nil(t, refused)
	call.report(nil, 0)
}
