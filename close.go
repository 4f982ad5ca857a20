package seawall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// layerTime bounds the closing of one layer, so that one that hangs leaves time for the store.
	layerTime = time.Second
	// lastWords is how long Close waits, once its time is over, for what is about to return.
	lastWords = 50 * time.Millisecond
)

// Close stops what the layers and the store do in the background: the layers' samplers first, then the
// store, which gives back what it holds and leaves the fleet. Call it when no request is in flight any
// more; it returns when ctx is done, or a moment later, at the latest, whatever hangs. Stacks that share a
// store must not close it under each other: close the layers and the store yourself then.
func (s *Stack) Close(ctx context.Context) error {
	var errs []error
	for _, l := range s.layers {
		if c, ok := l.Layer.(io.Closer); ok {
			ctx, cancel := context.WithTimeout(ctx, layerTime)
			errs = append(errs, bounded(ctx, "layer "+l.Name(), c.Close))
			cancel()
		}
	}
	if c, ok := s.store.(interface {
		Close(ctx context.Context) error
	}); ok {
		errs = append(errs, bounded(ctx, "the store", func() error { return c.Close(ctx) }))
	}
	return errors.Join(errs...)
}

// bounded closes something that may hang or panic, and does not wait for it once ctx is done.
func bounded(ctx context.Context, what string, closes func() error) error {
	closed := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				closed <- fmt.Errorf("seawall: closing %s: %w", what, &panicError{p})
			}
		}()
		closed <- closes()
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	select { // what keeps to ctx has a moment to say how far it came
	case err := <-closed:
		return err
	case <-time.After(lastWords):
		return fmt.Errorf("seawall: closing %s: %w", what, ctx.Err())
	}
}
