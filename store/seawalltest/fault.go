package seawalltest

import (
	"context"
	"fmt"
	"time"
)

// fault is what goes wrong with a call. The zero fault is nothing.
type fault struct {
	delay  time.Duration
	panics any
	err    error
}

// strike makes it go wrong.
func (f fault) strike(ctx context.Context) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	if f.panics != nil {
		panic(f.panics)
	}
	return f.err
}

// wait waits for the delay, unless ctx is done first.
func (f fault) wait(ctx context.Context) error {
	if f.delay <= 0 {
		return nil
	}
	late := func() error { return fmt.Errorf("seawalltest: the store answers after %v: %w", f.delay, ctx.Err()) }
	if ctx.Err() != nil { // also if the delay is over as soon
		return late()
	}
	timer := time.NewTimer(f.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return late()
	}
}
