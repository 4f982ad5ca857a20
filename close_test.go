package seawall_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
)

// closingLayer and closingStore do something when they are closed.
type closingLayer struct {
	seawall.Layer
	does func() error
}

func (c closingLayer) Close() error { return c.does() }

type closingStore struct {
	seawall.Store
	does func(ctx context.Context) error
}

func (c closingStore) Close(ctx context.Context) error { return c.does(ctx) }

// TestCloseIsInOrderAndBounded closes layers before the store, and does not wait for what hangs or panics.
func TestCloseIsInOrderAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worker, err := workershed.New(workershed.Config{Workers: 1})
		require.NoError(t, err)
		defer worker.Close()
		hang := make(chan struct{})
		defer close(hang)
		errBad := errors.New("bad")
		for name, c := range map[string]struct {
			layer func() error
			store func(ctx context.Context) error
			took  time.Duration
			says  []string
		}{
			"all is well": {func() error { return nil }, func(context.Context) error { return nil }, 0, nil},
			"a layer hangs": {
				func() error { <-hang; return nil }, func(context.Context) error { return errBad },
				1050 * time.Millisecond,
				[]string{"closing layer workershed: context deadline exceeded", "bad"},
			},
			"both panic": {
				func() error { panic("one") }, func(context.Context) error { panic("two") },
				0,
				[]string{"closing layer workershed: seawall: panic: one", "closing the store: seawall: panic: two"},
			},
			"the store hangs": {
				func() error { return errBad }, func(context.Context) error { <-hang; return nil },
				5050 * time.Millisecond,
				[]string{"bad", "closing the store: context deadline exceeded"},
			},
			"the store keeps to its time": {
				func() error { return nil }, func(ctx context.Context) error { <-ctx.Done(); return errBad },
				5 * time.Second,
				[]string{"bad"},
			},
		} {
			order := make(chan string, 2)
			layer := closingLayer{worker, func() error { order <- "layer"; return c.layer() }}
			store := closingStore{nil, func(ctx context.Context) error { order <- "store"; return c.store(ctx) }}
			stack, err := seawall.New(seawall.Config{Store: store}, layer)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			began := time.Now()
			err = stack.Close(ctx)
			cancel()
			assert.Equal(t, c.took, time.Since(began), name)
			assert.Equal(t, "layer, store", <-order+", "+<-order, name)
			if c.says == nil {
				assert.NoError(t, err, name)
			}
			for _, text := range c.says {
				assert.ErrorContains(t, err, text, name)
			}
		}
	})
}
