package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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
)

func TestPeer_envoy_ratelimit_withoutRedisRequestsTakeMilliseconds(t *testing.T) { // 43
	t.Parallel()
	for name, hit := range map[string]func(*redistest.Server){"killed": (*redistest.Server).Kill, "frozen": (*redistest.Server).Stop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			stack, seen := peerStack(t, openReal(t, server), seawall.FailOpen)
			byRedis(t, stack, seen)
			hit(server)
			var took []time.Duration
			for range 21 {
				began := time.Now()
				assert.False(t, decide(t, stack).Denied)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			assert.Less(t, took[10], 200*time.Millisecond, "the median, generously; all: %v", took)
			assert.GreaterOrEqual(t, len(seen.Fallbacks()), 20, "Redis did not decide")
			if name == "frozen" {
				server.Cont()
			} else {
				server.Restart(t)
			}
			byRedis(t, stack, seen)
		})
	}
}

func TestPeer_envoy_ratelimit_aFailoverNeedsNoRestart(t *testing.T) { // 44
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	stack, seen := peerStack(t, openPatient(t, server), seawall.FailOpen)
	byRedis(t, stack, seen)
	for range 2 {
		require.NoError(t, admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
		require.Eventually(t, func() bool {
			assert.False(t, decide(t, stack).Denied)
			all := seen.Fallbacks()
			return len(all) > 0 && all[len(all)-1].Reason == "readonly"
		}, soon, time.Millisecond)
		require.NoError(t, admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
		byRedis(t, stack, seen)
	}
}

func TestPeer_envoy_ratelimit_anOutageIsNoStormOfConnections(t *testing.T) { // 44
	t.Parallel()
	server := redistest.Start(t)
	client, dialled := connect(t, server), new(dials)
	client.AddHook(dialled)
	stack, seen := peerStack(t, openOn(t, client), seawall.FailOpen)
	byRedis(t, stack, seen)
	storm := func(during time.Duration) (requests int64) {
		var n atomic.Int64
		var all sync.WaitGroup
		for began, i := time.Now(), 0; i < 64; i++ {
			all.Go(func() {
				for time.Since(began) < during {
					assert.False(t, decide(t, stack).Denied)
					n.Add(1)
				}
			})
		}
		all.Wait()
		return n.Load()
	}
	server.Kill()
	before := dialled.all.Load()
	requests := storm(500 * time.Millisecond)
	assert.LessOrEqual(t, dialled.all.Load()-before, int64(40), "of %d requests: the pool's ten, and a few tries", requests)
	server.Restart(t)
	storm(100 * time.Millisecond)
	byRedis(t, stack, seen)
	assert.LessOrEqual(t, dialled.most.Load(), int64(10), "at a time")
	assert.LessOrEqual(t, client.PoolStats().TotalConns, uint32(10))
}

func TestPeer_envoy_ratelimit_anAbsentRedisIsNoCrashLoop(t *testing.T) { // 44
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	stack, seen := peerStack(t, openPatient(t, server), seawall.FailLocal) // asserts that there is no error
	for range 20 {
		require.NotPanics(t, func() { assert.False(t, decide(t, stack).Denied) })
	}
	require.Len(t, seen.Fallbacks(), 2*20)
	assert.Empty(t, seen.Failures())
	server.Restart(t)
	byRedis(t, stack, seen)
}

func TestPeer_rate_limiter_flexible_onlyErrorsGoToTheLocalStore(t *testing.T) { // 47
	onBothStores(t, func(t *testing.T, f *peerFleet) {
		own, err := store.NewFailover(store.FailoverConfig{Shared: f.Store, Local: memstore.New(memstore.Config{})})
		require.NoError(t, err)
		t.Cleanup(func() { _ = own.Close(context.Background()) })
		rate, slot := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerDay(1), 4)), lease(t, "b", 4, time.Minute)
		for range 4 { // others use up what the local store knows nothing of
			require.True(t, apply(t, f.other, rate)[0].Admitted)
			require.True(t, apply(t, f.other, slot)[0].Admitted)
		}
		for range 3 {
			for _, c := range []seawall.Check{rate, slot} {
				got := apply(t, own, c)[0]
				assert.False(t, got.Admitted, "over the limit is over the limit")
				assert.False(t, got.Fallback)
			}
		}
		require.NoError(t, f.Store.(interface{ Close(context.Context) error }).Close(short(t, soon)))
		taken := 0
		for range 5 {
			got, err := own.Apply(t.Context(), nil, []seawall.Check{slot})
			require.Error(t, err)
			require.Len(t, got, 1)
			assert.True(t, got[0].Fallback)
			if got[0].Committed {
				taken++
			}
		}
		assert.Contains(t, []int{2, 4}, taken, "an error is for the local store to decide: by its share of two instances, or all if it has not seen the other")
	})
}

func TestPeer_go_redis_aContextThatIsDoneEndsTheWait(t *testing.T) { // 49
	t.Parallel()
	server := redistest.Start(t)
	s := openPatient(t, server)
	warm(t, s)
	c := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerSecond(10), 10))
	apply(t, s, c)
	server.Stop()
	defer server.Cont()
	fastest := time.Hour
	for range 5 {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.Apply(ctx, nil, []seawall.Check{c})
		fastest = min(fastest, time.Since(began))
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "timeout", reasonOf(err))
	}
	assert.GreaterOrEqual(t, fastest, 20*time.Millisecond)
	assert.Less(t, fastest, 200*time.Millisecond, "not when the socket gives up")
}

func TestPeer_spring_cloud_gateway_aCrossSlotErrorIsNoAnswer(t *testing.T) { // 50
	t.Parallel()
	client := patient(t, redistest.Start(t, "--cluster-enabled", "yes").URL())
	require.NoError(t, client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(client.ClusterInfo(context.Background()).Val(), "cluster_state:ok")
	}, soon, 5*time.Millisecond)
	s := openOn(t, client)
	a, b := spends(t, "a", ratelimit.TokenBucket(ratelimit.PerDay(1), 5)), spends(t, "b", ratelimit.TokenBucket(ratelimit.PerDay(1), 5))
	require.NotEqual(t, client.ClusterKeySlot(t.Context(), bucketKey("a")).Val(), client.ClusterKeySlot(t.Context(), bucketKey("b")).Val())
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		results, err := s.Apply(context.Background(), nil, []seawall.Check{a, b})
		require.ErrorContains(t, err, "CROSSSLOT")
		assert.Equal(t, "moved", reasonOf(err))
		assert.Empty(t, results)
	}, soon, 5*time.Millisecond)

	for fails, denied := range map[seawall.Failure]bool{seawall.FailLocal: false, seawall.FailOpen: false, seawall.FailClosed: true} {
		l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "caller", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5), OnFailure: fails},
			{
				Name: "account", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5), OnFailure: fails,
				Key: func(r *seawall.Request) seawall.Key { return r.More[0] },
			},
		}})
		require.NoError(t, err)
		stack, err := seawall.New(seawall.Config{Store: s, Wait: soon, WaitClosed: soon}, l)
		require.NoError(t, err)
		admission := stack.Admit(t.Context(), &seawall.Request{Key: a.Key, More: []seawall.Key{b.Key}})
		assert.Equal(t, denied, admission.Decision().Denied, "%v", fails)
		for _, res := range admission.Results() {
			assert.True(t, res.Fallback, "the failure policy decided")
			assert.GreaterOrEqual(t, res.Remaining, int64(0))
		}
		admission.Done(t.Context())
	}
}

func TestPeer_gravitee_aScriptThatRedisDoesNotKnowIsSent(t *testing.T) { // 50
	t.Parallel()
	server := redistest.Start(t)
	s, client := openPatient(t, server), server.Client(t)
	inAllAlgorithms(t, 10, time.Hour, func(t *testing.T, c seawall.Check) {
		for i := range int64(5) { // a master that took over has never seen a script
			require.NoError(t, client.ScriptFlush(t.Context()).Err())
			assert.Equal(t, 9-i, apply(t, s, c)[0].Remaining)
		}
	})
	held, ok := take(t, s, lease(t, "a", 1, time.Minute))
	require.True(t, ok)
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	release(t, s, held)
	holds(t, client, leasesKey("a"), 0)
}

func TestPeer_go_redis_nothingDependsOnLoadingScripts(t *testing.T) { // 50
	t.Parallel()
	server := redistest.Start(t, "--rename-command", "SCRIPT", "")
	client := server.Client(t)
	require.ErrorContains(t, client.ScriptLoad(t.Context(), "return 1").Err(), "unknown command")
	stack, seen := peerStack(t, openPatient(t, server), seawall.FailOpen) // prepares its scripts
	byRedis(t, stack, seen)
	byRedis(t, stack, seen)
	assert.Positive(t, server.CommandCalls(t, "eval"))
}

func TestPeer_apisix_aPooledConnectionKeepsItsDatabase(t *testing.T) { // 51
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	quota := ratelimit.TokenBucket(ratelimit.PerDay(1), 1000)
	var stores []seawall.Store
	var clients []*redis.Client
	for i := range 2 {
		c := patient(t, fmt.Sprintf("%s/%d", server.URL(), i))
		stores, clients = append(stores, openOn(t, c)), append(clients, c)
	}
	for round := range int64(3) {
		for i, s := range stores {
			check := spends(t, fmt.Sprint("caller of ", i), quota)
			require.Eventually(t, func() bool { // connections were cut
				_, err := s.Apply(short(t, soon), nil, []seawall.Check{peeking(check)})
				return err == nil
			}, soon, time.Millisecond)
			assert.Equal(t, 20, (&peerFleet{Store: s, other: s}).atOnce(t, check, 20))
			assert.Equal(t, 1000-20*(round+1), apply(t, s, peeking(check))[0].Remaining)
		}
		require.NoError(t, admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	}
	for i, c := range clients {
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			keys, err := c.Keys(context.Background(), "*ratelimit*").Result()
			assert.NoError(t, err)
			assert.Equal(t, []string{bucketKey(fmt.Sprint("caller of ", i))}, keys)
		}, soon, 5*time.Millisecond)
	}
}
