package seawall

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPatienceEndsAfterItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, 7))
		cancel()
		p := patient(parent, 5*time.Millisecond)
		assert.NoError(t, p.Err(), "a parent that is done does not matter")
		assert.Equal(t, 7, p.Value(key{}))
		time.Sleep(time.Second) // nobody waits yet
		began := time.Now()
		<-p.Done()
		assert.Equal(t, 5*time.Millisecond, time.Since(began))
		assert.ErrorIs(t, p.Err(), context.DeadlineExceeded)
		p.stop()
		p.stop()
	})
}

func TestPatienceStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patient(context.Background(), 5*time.Millisecond)
		p.Done()
		time.Sleep(3 * time.Millisecond) // virtual
		p.stop()
		time.Sleep(time.Second)
		<-p.Done() // or what waits for it would wait for ever
		assert.ErrorIs(t, p.Err(), context.Canceled)
		early := patient(context.Background(), time.Hour)
		early.stop()
		<-early.Done()
		assert.ErrorIs(t, early.Err(), context.Canceled)
	})
}

func TestPatienceProlonged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for more, want := range map[time.Duration]time.Duration{0: 5, 1: 6, 95: 100, -1: 5} {
			ctx, stop := Patient(context.Background(), 5*time.Millisecond)
			began, asked := time.Now(), 0
			Prolong(context.WithoutCancel(ctx), func() time.Duration {
				asked++
				assert.Equal(t, 5*time.Millisecond, time.Since(began))
				return more * time.Millisecond
			})
			<-ctx.Done()
			assert.Equal(t, want*time.Millisecond, time.Since(began))
			assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
			assert.Equal(t, 1, asked)
			stop()
		}
		ctx, stop := Patient(context.Background(), 5*time.Millisecond)
		defer stop()
		Prolong(ctx, func() time.Duration { panic("bug") })
		<-ctx.Done()
		ctx, stop = Patient(context.Background(), 5*time.Millisecond)
		Prolong(ctx, func() time.Duration { stop(); return time.Hour })
		<-ctx.Done()
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		Prolong(context.Background(), nil)
	})
}

// TestPatienceDoesNotCountLostTime plays a process that had no processor: a tick comes late.
func TestPatienceDoesNotCountLostTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patient(context.Background(), 5*time.Millisecond)
		p.Done()
		p.needed().timer.Stop()
		time.Sleep(50 * time.Millisecond)
		p.needed().tick()
		assert.NoError(t, p.Err(), "50 ms without a processor are one slice")
		time.Sleep(4 * time.Millisecond)
		synctest.Wait()
		assert.ErrorIs(t, p.Err(), context.DeadlineExceeded)
		p.stop()
	})
}
