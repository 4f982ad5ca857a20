package bench

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// pacedRate is how many requests a second come by the clock, whatever becomes of those before.
const pacedRate = 3200

// guarded is an instance with what stands in for Redis.
type guarded struct {
	*remote
	failover *store.Failover
	stack    *seawall.Stack
}

func newGuarded(t testing.TB, server *redistest.Server, q quota, instances int64) *guarded {
	t.Helper()
	g := &guarded{remote: newRemote(t, server, q, "", nil)}
	var err error
	g.failover, err = store.NewFailover(store.FailoverConfig{
		Shared: g.store, Local: memstore.New(memstore.Config{}), ExpectedInstances: instances, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	g.stack, err = seawall.New(seawall.Config{Store: g.failover}, g.rate, g.slots, g.fleet)
	require.NoError(t, err)
	t.Cleanup(func() { // without Redis it cannot leave the fleet
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.stack.Close(ctx)
	})
	return g
}

// answered is a request at a Redis that freezes.
type answered struct {
	at     time.Time
	added  time.Duration // to the request, by the decision and by giving back
	served bool
	shared bool
}

// pass has a caller pass, as a request does whose handler takes no time.
func (g *guarded) pass(k seawall.Key) answered {
	a := answered{at: time.Now()}
	admission := g.stack.Admit(context.Background(), &seawall.Request{Key: k})
	a.served = !admission.Decision().Denied
	a.shared = len(admission.Results()) > 0 && !admission.Results()[0].Fallback
	admission.Done(context.Background())
	a.added = time.Since(a.at)
	return a
}

// frozen is about what requests wait for a Redis that does not answer.
func (b *bench) frozen(t *testing.T) {
	var before, after []float64
	served, all := 0, 0
	for range b.pace.freezes {
		w, l, ok, n := freeze(t, b.pace.frozen)
		before, after = append(before, w), append(after, l)
		served, all = served+ok, all+n
	}
	b.line(Line{Name: "frozen-before", Ours: spread(before)})
	b.line(Line{Name: "frozen-after", Ours: spread(after)})
	b.line(Line{Name: "frozen-served", Ours: exactly(100 * float64(served) / float64(all))})
}

// freeze stops a Redis for a while and returns the p99 of what was added until the breaker opened, and from then on, in ms.
func freeze(t *testing.T, d time.Duration) (before, after float64, served, all int) {
	t.Helper()
	server := redistest.Start(t)
	g := newGuarded(t, server, ample, 1)
	callers := make([]seawall.Key, 64)
	for i, name := range names(len(callers)) {
		callers[i] = seawall.NewKey(name)
	}
	warm := 0
	require.Eventually(t, func() bool {
		if warm++; !g.pass(callers[warm%len(callers)]).shared {
			warm = 0
		}
		return warm > 100
	}, soon, 100*time.Microsecond, "Redis decides")

	const calm = 500 * time.Millisecond
	answers := make([]answered, int(pacedRate*(calm+d)/time.Second))
	var stopped, opened, thawed atomic.Pointer[time.Time]
	now := func() *time.Time { n := time.Now(); return &n }
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		time.Sleep(calm) // Redis is well for as long
		stopped.Store(now())
		server.Stop()
		for time.Since(*stopped.Load()) < d {
			if opened.Load() == nil && g.failover.Open() {
				opened.Store(now())
			}
			time.Sleep(200 * time.Microsecond) // between looks at the breaker
		}
		thawed.Store(now())
		server.Cont()
	}()
	openloop.Run(t.Context(), openloop.Load{Rate: pacedRate, For: calm + d}, func(i int) {
		answers[i] = g.pass(callers[i%len(callers)])
	})
	<-watched
	require.NotNil(t, opened.Load(), "the breaker has opened while Redis was frozen for %v", d)
	var waited, late openloop.Latencies
	calmly := 0
	for _, a := range answers {
		if a.served {
			served++
		}
		switch {
		case a.at.IsZero() || !a.at.Before(*thawed.Load()):
		case a.at.Before(*stopped.Load()):
			if a.shared {
				calmly++
			}
		case a.at.Before(*opened.Load()):
			waited = append(waited, a.added)
		default:
			assert.False(t, a.shared, "decided by a Redis that is frozen")
			late = append(late, a.added)
		}
	}
	slices.Sort(waited)
	slices.Sort(late)
	require.Positive(t, calmly, "Redis decided before")
	require.NotEmpty(t, waited)
	require.NotEmpty(t, late)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return ms(waited.P(0.99)), ms(late.P(0.99)), served, len(answers)
}
