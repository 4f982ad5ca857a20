package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// at returns so many callers that a master has.
func at(s *redisstore.Cluster, addr string, n int) (callers []string) {
	for i := 1000; len(callers) < n; i++ {
		if name := fmt.Sprint("caller", i); s.MasterOf(seawall.NewKey(name)) == addr {
			callers = append(callers, name)
		}
	}
	return callers
}

// but returns a master that is none of the addresses.
func but(t *testing.T, cluster *redistest.Cluster, addrs ...string) *redistest.Server {
	t.Helper()
	for _, m := range cluster.Masters {
		if !strings.Contains(strings.Join(addrs, " "), m.Addr()) {
			return m
		}
	}
	t.Fatal("no such master")
	return nil
}

// TestAShardGivesBackWhatHasGoneElsewhere as who was asked for a lease gives it back where it was taken, if another place denies.
func TestAShardGivesBackWhatHasGoneElsewhere(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	s := openCluster(t, cluster)
	each(t, s, 2)
	from := s.MasterOf(seawall.NewKey("a"))
	shard := s.Shard(seawall.NewKey("a"))
	l, ok := take(t, shard, lease(t, "a", 10, 3*time.Second))
	require.True(t, ok)
	to := but(t, cluster, from)
	cluster.Move(t, leasesKey("a"), to)
	s.Reload()
	require.Eventually(t, func() bool { return s.MasterOf(seawall.NewKey("a")) == to.Addr() }, soon, tick)
	time.Sleep(1500 * time.Millisecond) // until it is due
	require.Equal(t, 1, s.Held())
	release(t, shard, l)
	assert.Zero(t, s.Held())
	holds(t, to.Client(t), leasesKey("a"), 0)
}

// TestARefusalEndsWithWhatWasRefused where that has gone to another master.
func TestARefusalEndsWithWhatWasRefused(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	s := openCluster(t, cluster)
	each(t, s, 3)
	fleet := s.MasterOf(seawall.FleetKey())
	from := but(t, cluster, fleet)
	to := but(t, cluster, fleet, from.Addr())
	callers := at(s, from.Addr(), 2)
	l, ok := take(t, s, lease(t, callers[0], 10, time.Minute))
	require.True(t, ok)
	admin := from.Client(t)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "default", "-zrem").Err())
	require.NoError(t, s.Release(t.Context(), l))
	refused := func() bool {
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{lease(t, callers[1], 10, time.Minute)})
		return err != nil && strings.Contains(err.Error(), "cannot be given back")
	}
	require.Eventually(t, refused, soon, tick)
	time.Sleep(1800 * time.Millisecond) // until it is tried again each second only, or the client might learn of the move from it
	cluster.Move(t, leasesKey(callers[0]), to)
	s.Reload()
	holds(t, to.Client(t), leasesKey(callers[0]), 0)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "default", "+zrem").Err())
	assert.Eventually(t, func() bool { return !refused() }, 5*time.Second, tick)
}

// TestRightsAreEachMastersOwn has one master, which is not the fleet's, lack a right.
func TestRightsAreEachMastersOwn(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	for _, m := range cluster.Masters {
		become(t, m, append(rights(t, "~test:*"), "+cluster|slots", "+asking"))
	}
	o, err := redisstore.ClusterOptions("redis://seawall:password@" + cluster.Addrs()[0] + "?read_timeout=5s")
	require.NoError(t, err)
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	s, err := redisstore.NewCluster(redisstore.Config{Client: client, Namespace: "test", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	closesWell(t, s)
	callers := each(t, s, 2)
	lacks := but(t, cluster, s.MasterOf(seawall.FleetKey()))
	caller := callers[lacks.Addr()]
	check := bucket(t, caller, ratelimit.PerDay(1), 3)
	require.True(t, apply(t, s, check)[0].Admitted)
	require.NoError(t, lacks.Client(t).Do(t.Context(), "ACL", "SETUSER", "seawall", "-get").Err())
	time.Sleep(2500 * time.Millisecond) // two heartbeats
	admitted := 0
	for range 20 {
		res, err := s.Apply(short(t, soon), nil, []seawall.Check{check})
		if err == nil && res[0].Committed {
			admitted++
		}
	}
	assert.LessOrEqual(t, admitted, 2)
	_, err = s.Apply(short(t, soon), nil, []seawall.Check{check})
	require.ErrorContains(t, err, "FORBIDDEN this user may not call GET")
	assert.Equal(t, "auth", seawall.Reason(err))
	well := bucket(t, callers[s.MasterOf(seawall.FleetKey())], ratelimit.PerDay(1), 3)
	assert.True(t, apply(t, s, well)[0].Admitted, "the other master")
	require.NoError(t, lacks.Client(t).Do(t.Context(), "ACL", "SETUSER", "seawall", "+get").Err())
	require.Eventually(t, func() bool {
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{check})
		return err == nil
	}, soon, tick)
}

// TestCloseWaitsNoLongerForALaneThatEnds than its context, if that lane's master hangs.
func TestCloseWaitsNoLongerForALaneThatEnds(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	s, err := redisstore.NewForgetfulCluster(redisstore.Config{
		Client: clusterClient(t, cluster), Namespace: "test", Logger: slog.New(slog.DiscardHandler),
	}, 20*time.Millisecond)
	require.NoError(t, err)
	callers := each(t, s, 2)
	hangs := but(t, cluster, s.MasterOf(seawall.FleetKey()))
	s.Shard(seawall.NewKey(callers[hangs.Addr()]))
	hangs.Stop()
	defer hangs.Cont()
	require.Eventually(t, func() bool { return s.Lanes() == 0 }, soon, time.Millisecond)
	began := time.Now()
	_ = s.Close(short(t, 100*time.Millisecond))
	assert.Less(t, time.Since(began), 900*time.Millisecond)
	hangs.Cont()
	require.Eventually(t, func() bool { return s.Close(short(t, soon)) == nil }, soon, tick, "of two masters one is no majority: the cluster was down")
}

// TestAnInstanceStartsWhileAServerHangs which is none that it needs to announce itself.
func TestAnInstanceStartsWhileAServerHangs(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{"as it is": "", "patient": "&read_timeout=2s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, 3, 0)
			probe := openCluster(t, cluster)
			each(t, probe, 3)
			fleet := probe.MasterOf(seawall.FleetKey())
			hangs := but(t, cluster, fleet)
			hangs.Stop()
			t.Cleanup(hangs.Cont)
			client, err := redisstore.NewClusterClient("redis://" + fleet + "?addr=" + but(t, cluster, fleet, hangs.Addr()).Addr() + query)
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			s, err := redisstore.NewCluster(redisstore.Config{Client: client, Namespace: "test", Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			defer func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_ = s.Close(ctx)
			}()
			s.Prepare([]seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 3)})
			s.Join(3)
			assert.Eventually(t, func() bool { return s.Fleet().Announced }, 10*time.Second, tick)
		})
	}
}

// TestAClusterThatIsClosedAnswers at once, also about what it was never asked about before.
func TestAClusterThatIsClosedAnswers(t *testing.T) {
	t.Parallel()
	s := openCluster(t, redistest.StartCluster(t, 1, 0))
	require.NoError(t, s.Close(short(t, soon)))
	ctx := short(t, soon)
	_, err := s.Apply(ctx, nil, []seawall.Check{lease(t, "a", 10, time.Minute)})
	require.ErrorContains(t, err, "closed")
	require.NoError(t, ctx.Err())
	require.NoError(t, s.Close(ctx))
	assert.NoError(t, ctx.Err())
}
