package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// asUsers is openGuarded with a client's waits as users have them.
func asUsers(t *testing.T, cluster *redistest.Cluster) *guarded {
	t.Helper()
	client, err := redisstore.NewClusterClient("redis://" + cluster.Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return guard(t, cluster, client)
}

// patiently is the context of a request that waits so long.
func patiently(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	ctx, stop := seawall.Patient(t.Context(), wait)
	t.Cleanup(stop)
	return ctx
}

// isWell has a caller of a well master ask from when all should be well, and wants at most one of twenty requests refused, or
// decided without Redis. A busy machine does that to some, for a while, so one good time of three is enough: what a test is about
// does it to most, all the time.
func (g *guarded) isWell(t *testing.T, caller string, mends, lasts time.Duration) {
	t.Helper()
	var asked, wrong int
	for range 3 {
		if asked, wrong = g.bystander(t, caller, mends, lasts); asked > 20 && wrong <= asked/20 {
			return
		}
		mends, lasts = 0, lasts-mends
	}
	t.Errorf("%d of %d requests: refused, or decided without Redis", wrong, asked)
}

// bystander has a caller of a well master make one request after the other, with two slots, and returns how many it made once
// all should be well, and how many of those were refused or decided without Redis.
func (g *guarded) bystander(t *testing.T, caller string, mends, lasts time.Duration) (asked, wrong int) {
	t.Helper()
	for began := time.Now(); time.Since(began) < lasts; {
		checks := []seawall.Check{lease(t, caller, 2, time.Minute), bucket(t, caller, ratelimit.PerSecond(1_000_000), 1_000_000)}
		results, _ := g.Apply(patiently(t, 50*time.Millisecond), nil, checks)
		if time.Since(began) > mends {
			asked++
			if !results[0].Admitted || results[0].Fallback {
				wrong++
			}
		}
		if results[0].Committed {
			l := leaseOf(checks[0])
			l.Last = results[0].Last
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_ = g.Release(ctx, l) // it goes on
			cancel()
		}
		time.Sleep(10 * time.Millisecond) // between two requests
	}
	return asked, wrong
}

// TestLeasesGoWhereTheirSlotsGo has a caller's slot go to a master that then dies or hangs. Its leases, which were taken at the one
// where the slot was, must not hold up that one's callers.
func TestLeasesGoWhereTheirSlotsGo(t *testing.T) { // alone: other tests would keep the processors from its callers
	for name, c := range map[string]struct {
		leases   int
		frozen   bool // and not dead
		released bool
		mends    time.Duration // from when on nobody notices
	}{
		// The client learns of the move, and finds nobody, or waits in vain.
		"many to give back, to a dead one": {600, false, true, time.Second},
		"some to give back, to a frozen":   {100, true, true, 2500 * time.Millisecond},
		"some to renew, at a frozen":       {20, true, false, 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, 3, 0)
			g := asUsers(t, cluster)
			from := g.ordinary(cluster)
			var to *redistest.Server
			for _, m := range cluster.Masters {
				if m != from && m.Addr() != g.shared.MasterOf(seawall.FleetKey()) {
					to = m
				}
			}
			moved := ""
			for i := 100; moved == ""; i++ {
				if name := fmt.Sprint("caller", i); g.shared.MasterOf(seawall.NewKey(name)) == from.Addr() {
					moved = name
				}
			}
			var held []seawall.Lease
			for range c.leases {
				l, ok := take(t, g, lease(t, moved, 100_000, 3*time.Second))
				require.True(t, ok)
				held = append(held, l)
			}
			cluster.Move(t, leasesKey(moved), to)
			if c.frozen {
				to.Stop()
				t.Cleanup(to.Cont) // before the store is closed, which gives back
			} else {
				to.Kill()
			}
			if c.released {
				require.NoError(t, g.Release(t.Context(), held...))
			}
			g.isWell(t, g.callers[from.Addr()], c.mends, 5*time.Second)
		})
	}
}

// TestASlotThatIsNobodysIsNoFaultOfMasters has the slots of a dead master be nobody's while all callers ask.
func TestASlotThatIsNobodysIsNoFaultOfMasters(t *testing.T) { // alone, as above
	cluster := redistest.StartCluster(t, 3, 0)
	g := asUsers(t, cluster)
	dead := g.ordinary(cluster)
	id := dead.Client(t).ClusterMyID(t.Context()).Val()
	dead.Kill()
	for _, m := range cluster.Masters {
		if m != dead {
			require.NoError(t, m.Client(t).ClusterForget(t.Context(), id).Err())
		}
	}
	lost := g.callers[dead.Addr()]
	well, local := 0, 0
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		for _, caller := range g.callers {
			results, _ := g.Apply(patiently(t, 50*time.Millisecond), nil, []seawall.Check{bucket(t, caller, ratelimit.PerSecond(1_000_000), 1_000_000)})
			assert.True(t, results[0].Admitted)
			if caller != lost {
				well++
				if results[0].Fallback {
					local++
				}
			}
		}
		time.Sleep(2 * time.Millisecond) // between two rounds
	}
	assert.LessOrEqual(t, local, well/20, "of %d requests of callers whose masters are well", well)
	results, err := g.Apply(patiently(t, 10*time.Millisecond), nil, []seawall.Check{bucket(t, lost, ratelimit.PerDay(1), 100)})
	require.True(t, results[0].Fallback)
	assert.Contains(t, []string{"moved", "refused"}, seawall.Reason(err), "%v", err)
}

// TestWhatFailsClosedIsTakenBackBehindAFailover too: a login at a lost master costs its caller nothing elsewhere.
func TestWhatFailsClosedIsTakenBackBehindAFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	g := asUsers(t, cluster)
	lost := g.ordinary(cluster)
	well := ""
	for at, caller := range g.callers {
		if at != lost.Addr() {
			well = caller
		}
	}
	lost.Kill()
	login := bucket(t, g.callers[lost.Addr()], ratelimit.PerDay(1), 100)
	var err error
	login.Limit, err = seawall.NewLimit(ratelimit.Name, "login", seawall.FailClosed)
	require.NoError(t, err)
	spend := bucket(t, well, ratelimit.PerDay(1), 100)
	for range 10 {
		results, err := g.Apply(patiently(t, time.Second), nil, []seawall.Check{spend, lease(t, well, 100, time.Minute), login})
		require.Error(t, err)
		assert.False(t, results[0].Committed || results[1].Committed)
	}
	spend.Op = seawall.Peek
	assert.EqualValues(t, 100, apply(t, g.shared, spend)[0].Remaining)
}

// TestLanesEndWithTheirMasters has a master change its address again and again.
func TestLanesEndWithTheirMasters(t *testing.T) {
	cluster := redistest.StartCluster(t, 1, 0)
	addr := cluster.Masters[0].Addr()
	o, err := redisstore.ClusterOptions("redis://" + addr)
	require.NoError(t, err)
	var pod atomic.Int64
	o.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: fmt.Sprintf("pod%d:6379", pod.Load())}}}}, nil
	}
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, addr) }
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	shared, err := redisstore.NewForgetfulCluster(redisstore.Config{Client: client, Namespace: "test", Logger: slog.New(slog.DiscardHandler)}, 10*time.Millisecond)
	require.NoError(t, err)
	failover, err := store.NewFailover(store.FailoverConfig{Shared: shared, Local: memstore.New(memstore.Config{}), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	closesWell(t, failover)
	before := 0
	for i := range 12 {
		pod.Add(1)
		client.ReloadState(t.Context())
		name := fmt.Sprintf("pod%d:6379", pod.Load())
		require.Eventually(t, func() bool { return shared.MasterOf(seawall.NewKey("a")) == name }, soon, tick)
		l, ok := take(t, failover, lease(t, "a", 100, time.Minute))
		require.True(t, ok)
		release(t, failover, l)
		require.Eventually(t, func() bool { return shared.Lanes() <= 1 }, soon, tick)
		if i == 1 {
			before = runtime.NumGoroutine()
		}
	}
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+8 }, soon, tick, "with the second %d", before)
}
