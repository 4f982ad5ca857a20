package proof

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/proof/stepped"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// darkGround is a store under test, for one trace after another.
type darkGround struct {
	subject
	again func() subject
}

// fresh returns a store that knows nobody, save callers that nobody asks for again.
func (g darkGround) fresh() darkGround {
	g.subject = g.again()
	return g
}

func darkMemory() darkGround {
	return darkGround{again: func() subject {
		s, _ := memory()
		return s
	}}
}

// darkRedis is one store on Redis. Of one trace nothing is left to the next but the fleet, which is reset. Windows of a
// calendar tell the store the stepped time, by which its heartbeats then are late: they are no concern here.
func darkRedis(t *testing.T) darkGround {
	clock := stepped.New(t, redistest.Start(t))
	quiet := slog.New(slog.DiscardHandler)
	store, err := redisstore.New(redisstore.Config{Client: clock.Client(), Namespace: namespace, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		require.NoError(t, store.Close(ctx))
	})
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 1})
	require.NoError(t, err)
	resets := append(fleet.Plan(nil, &seawall.Request{}), fleet.Plan(nil, &seawall.Request{Tier: seawall.Critical})...)
	for i := range resets {
		resets[i].Op, resets[i].CountOnly = seawall.Reset, false
	}
	return darkGround{again: func() subject {
		_, err := store.Apply(context.Background(), nil, resets)
		require.NoError(t, err)
		return subject{"redis", store, clock.Set, func() int64 { return clock.Now() * 1000 }}
	}}
}

var darkRuns atomic.Int64

// darkKeys returns the keys of callers whom nobody has seen, and of their groups.
func darkKeys() (keys []seawall.Key) {
	n := darkRuns.Add(1)
	for i := range darkCallers + 2 {
		keys = append(keys, seawall.NewKey("dark", fmt.Sprint(n), fmt.Sprint(i)))
	}
	return keys
}
