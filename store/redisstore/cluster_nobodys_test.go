package redisstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
)

// TestLeasesInASlotThatIsNobodys has callers of a lost master hold and give back slots, which no other master's callers notice.
func TestLeasesInASlotThatIsNobodys(t *testing.T) { // alone: other tests would keep the processors from its callers
	for name, lose := range map[string]func(*redistest.Server){
		"dead":   (*redistest.Server).Kill,
		"frozen": (*redistest.Server).Stop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, 3, 0)
			g := asUsers(t, cluster)
			lost := g.ordinary(cluster)
			id := lost.Client(t).ClusterMyID(t.Context()).Val()
			callers := at(g.shared, lost.Addr(), 20)
			lose(lost)
			if name == "frozen" {
				t.Cleanup(lost.Cont)
			}
			for _, m := range cluster.Masters {
				if m != lost {
					require.NoError(t, m.Client(t).ClusterForget(t.Context(), id).Err())
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			var busy sync.WaitGroup
			for i, caller := range callers {
				busy.Go(func() {
					for ctx.Err() == nil {
						checks := []seawall.Check{lease(t, caller, 1000, 3*time.Second)}
						wait, done := seawall.Patient(context.Background(), 20*time.Millisecond)
						results, _ := g.Apply(wait, nil, checks)
						done()
						time.Sleep(time.Duration(20+i%2*380) * time.Millisecond) // it is served
						if results[0].Committed {
							_ = g.Release(context.Background(), leaseOf(checks[0]))
						}
					}
				})
			}
			time.Sleep(1500 * time.Millisecond) // until all know
			for a, caller := range g.callers {
				if a != lost.Addr() {
					g.isWell(t, caller, 0, 2500*time.Millisecond)
				}
			}
			stop()
			busy.Wait()
		})
	}
}
