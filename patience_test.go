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
		assert.NoError(t, p.Err())
	})
}

// TestPatienceDoesNotCountLostTime plays a process that had no processor: a tick comes late.
func TestPatienceDoesNotCountLostTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patient(context.Background(), 5*time.Millisecond)
		p.Done()
		p.timer.Stop()
		time.Sleep(50 * time.Millisecond)
		p.tick()
		assert.NoError(t, p.Err(), "50 ms without a processor are one slice")
		time.Sleep(4 * time.Millisecond)
		synctest.Wait()
		assert.ErrorIs(t, p.Err(), context.DeadlineExceeded)
		p.stop()
	})
}
