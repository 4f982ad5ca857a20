package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestAClosedFailoverLetsNobodyIn closes it while five wait for the one slot, which is held.
func TestAClosedFailoverLetsNobodyIn(t *testing.T) {
	f, err := store.NewFailover(store.FailoverConfig{Shared: memstore.New(memstore.Config{}), Local: memstore.New(memstore.Config{})})
	require.NoError(t, err)
	l, err := concurrency.New(concurrency.Config{MaxInFlight: 1, Store: f, MaxWaiting: 10})
	require.NoError(t, err)
	key := seawall.NewKey("gateway")
	_, err = l.Acquire(t.Context(), key)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			_, err := l.Acquire(ctx, key)
			assert.ErrorIs(t, err, memstore.ErrClosed)
		})
	}
	time.Sleep(50 * time.Millisecond) // some wait by now; those who come later are told the same
	require.NoError(t, f.Close(ctx))
	all.Wait()
}
