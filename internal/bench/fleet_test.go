package bench

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
)

// fleet is about ten instances that lose their Redis while one caller asks for three times what it may.
func (b *bench) fleet(t *testing.T) {
	const instances = 10
	q := quota{100, time.Second}
	server := redistest.Start(t)
	var all []*guarded
	for range instances {
		all = append(all, newGuarded(t, server, q, instances))
	}
	for _, g := range all {
		require.Eventually(t, func() bool { return g.store.Fleet().Instances == instances }, soon, 5*time.Millisecond, "they know each other")
	}
	caller := seawall.NewKey("caller")
	load := func(d time.Duration) (admitted, shared int64) {
		var yes, by atomic.Int64
		openloop.Run(t.Context(), openloop.Load{Rate: 3 * int(q.limit), For: d}, func(i int) {
			a := all[i%instances].pass(caller)
			if a.served {
				yes.Add(1)
			}
			if a.shared {
				by.Add(1)
			}
		})
		return yes.Load(), by.Load()
	}
	_, shared := load(time.Second)
	require.Positive(t, shared, "Redis decided before")
	server.Kill()
	began := time.Now()
	admitted, shared := load(b.pace.gone)
	limit := float64(q.limit) * (1 + time.Since(began).Seconds())
	require.Zero(t, shared, "decided by a Redis that is gone")
	ratio := exactly(float64(admitted) / limit)
	require.Greater(t, ratio.Median, 0.3, "they do not starve each other")
	b.line(Line{
		Name: "fleet", Ours: exactly(float64(admitted)), Ratio: &ratio, Limit: &Other{"burst and refill", exactly(limit)},
		Note: fmt.Sprintf("%.0f s, three times the limit asked for", b.pace.gone.Seconds()),
	})
}
