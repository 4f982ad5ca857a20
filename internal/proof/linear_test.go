package proof

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// often is how many histories a test looks at.
func often(short int) int {
	if long() {
		return 40 * short
	}
	return short
}

func endless(*rand.Rand) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.Background())
}

func TestMemoryIsLinearizable(t *testing.T) {
	store := memstore.New(memstore.Config{Now: time.Now})
	var names callers
	first := seeds()
	for i := range often(60) {
		seed := first + uint64(i)
		h := newHistory(t, names.next(), store)
		h.run(seed, 8, 25, endless)
		h.mustBeLinearizable(t, seed)
	}
}

// TestRedisIsLinearizable has clients of two instances, who lose patience with some calls, and a Redis that
// is stopped for a moment.
func TestRedisIsLinearizable(t *testing.T) {
	server := redistest.Start(t)
	stores := []seawall.Store{newInstance(t, server.URL()), newInstance(t, server.URL())}
	var names callers
	first, unknown := seeds(), 0
	for i := range often(25) {
		seed := first + uint64(i)
		h := newHistory(t, names.next(), stores...)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			time.Sleep(2 * time.Millisecond)
			server.Stop()
			server.Cont()
		}()
		h.run(seed, 6, 20, impatient)
		<-stopped
		h.mustBeLinearizable(t, seed)
		unknown += h.unknowns()
	}
	t.Logf("%d calls were given up", unknown)
	require.Positive(t, unknown, "nobody lost patience")
}

func newInstance(t *testing.T, url string) *redisstore.Store {
	store, err := openLoad(url)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		require.NoError(t, store.Close(ctx))
	})
	return store
}

// impatient waits for most calls, and for some as long as they take about.
func impatient(rnd *rand.Rand) (context.Context, context.CancelFunc) {
	if rnd.IntN(8) > 0 {
		return endless(rnd)
	}
	return context.WithTimeout(context.Background(), time.Duration(50+rnd.IntN(250))*time.Microsecond)
}
