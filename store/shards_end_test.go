package store_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

var errRefused = errors.New("refused")

// passing plays a shared store whose only place is another one after a while.
type passing struct {
	seawall.Store
	place atomic.Pointer[failingPlace]
}

func (p *passing) Shard(seawall.Key) seawall.Shard                 { return p.place.Load() }
func (p *passing) Probe(context.Context) error                     { return nil }
func (p *passing) Release(context.Context, ...seawall.Lease) error { return nil }

// failingPlace is one that always fails, slowly when it is probed.
type failingPlace struct {
	seawall.Store
	ended, probed atomic.Bool
}

func (p *failingPlace) Ended() bool { return p.ended.Load() }

func (p *failingPlace) Apply(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	return dst, errRefused
}

func (p *failingPlace) Probe(context.Context) error {
	p.probed.Store(true)
	defer p.probed.Store(false)
	time.Sleep(800 * time.Millisecond) // of the bubble
	return errRefused
}

// TestCloseWaitsForAPlaceThatHasEnded and is being probed.
func TestCloseWaitsForAPlaceThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, first, second := &passing{}, &failingPlace{}, &failingPlace{}
		shared.place.Store(first)
		f, err := store.NewFailover(store.FailoverConfig{
			Shared: shared, Local: memstore.New(memstore.Config{}), Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		rule, err := ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1000).Rule()
		require.NoError(t, err)
		limit, err := seawall.NewLimit(ratelimit.Name, "api", seawall.FailOpen)
		require.NoError(t, err)
		ask := func() {
			_, err := f.Apply(t.Context(), nil, []seawall.Check{{Limit: limit, Rule: rule, Key: seawall.NewKey("a"), Cost: 1}})
			require.Error(t, err)
		}
		for !first.probed.Load() {
			ask()
			time.Sleep(10 * time.Millisecond) // of the bubble, between requests
		}
		first.ended.Store(true)
		shared.place.Store(second)
		ask()
		require.True(t, first.probed.Load())
		require.NoError(t, f.Close(t.Context()))
		assert.False(t, first.probed.Load())
	})
}
