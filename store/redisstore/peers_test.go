package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// The tests in this file take inputs that gave wrong results in other limiters, which they are named after:
// TestPeer_<system>_<what is right>. Those that are about what a store decides run on both stores side by side.

// peerFleet is two instances of a service that share their state, by a clock that stands still unless it is advanced.
type peerFleet struct {
	seawall.Store // of the first instance
	other         seawall.Store
	advance       func(time.Duration)
	renew         func() // what the first instance holds and is due
}

// onBothStores runs a case on a store in memory, where both instances are one, and on Redis.
func onBothStores(t *testing.T, run func(t *testing.T, f *peerFleet)) {
	t.Helper()
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		s := openMemory(t)
		run(t, &peerFleet{s.Store, s.Store, s.Advance, s.Renew})
	})
	t.Run("redis", func(t *testing.T) { run(t, twoOnRedis(t)) })
}

func twoOnRedis(t *testing.T) *peerFleet {
	t.Helper()
	server := redistest.Start(t)
	var now atomic.Int64
	now.Store(start.UnixNano())
	open := func() *redisstore.Store {
		s, err := redisstore.NewStepped(redisstore.Config{Client: patient(t, server.URL()), Namespace: "test"},
			func() time.Time { return time.Unix(0, now.Load()) })
		require.NoError(t, err)
		closeAtEnd(t, s)
		return s
	}
	first := open()
	return &peerFleet{first, open(), func(d time.Duration) { now.Add(int64(d)) }, first.Renew}
}

// patient returns a client that never takes Redis for slow because this machine is, for tests that are not about that.
func patient(t testing.TB, url string) *redis.Client {
	t.Helper()
	const long = "10s"
	o, err := redisstore.Options(url + "?dial_timeout=" + long + "&read_timeout=" + long + "&write_timeout=" + long + "&pool_timeout=" + long)
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// openPatient returns a store on Redis' own clock, with such a client.
func openPatient(t *testing.T, server *redistest.Server) *redisstore.Store {
	t.Helper()
	return openOn(t, patient(t, server.URL()))
}

// spends returns a caller's check on a quota, that costs 1.
func spends(t *testing.T, caller string, quota ratelimit.Quota) seawall.Check {
	t.Helper()
	rule, err := quota.Rule()
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, ratelimit.Name, "api"), Rule: rule, Key: seawall.NewKey(caller), Cost: 1}
}

func costing(c seawall.Check, cost int64) seawall.Check {
	c.Cost = cost
	return c
}

func peeking(c seawall.Check) seawall.Check {
	c.Op = seawall.Peek
	return c
}

// inAllAlgorithms runs a case with limit per window in each algorithm, for a caller of its own.
func inAllAlgorithms(t *testing.T, limit int64, window time.Duration, run func(t *testing.T, c seawall.Check)) {
	t.Helper()
	for _, quota := range []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.Rate{Count: limit, Per: window}, limit), ratelimit.SlidingLog(limit, window),
		ratelimit.SlidingCounter(limit, window), ratelimit.FixedWindow(limit, ratelimit.Every(window)),
	} {
		t.Run(quota.String(), func(t *testing.T) { run(t, spends(t, quota.String(), quota)) })
	}
}

// admitted asks n times, the instances in turn, and returns how often the answer was yes.
func (f *peerFleet) admitted(t *testing.T, c seawall.Check, n int) (yes int) {
	t.Helper()
	for i := range n {
		s := f.Store
		if i%2 == 1 {
			s = f.other
		}
		if apply(t, s, c)[0].Admitted {
			yes++
		}
	}
	return yes
}

// atOnce asks n times at once, the instances in turn, and returns how often the answer was yes.
func (f *peerFleet) atOnce(t *testing.T, c seawall.Check, n int) int {
	t.Helper()
	var yes atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		s := []seawall.Store{f.Store, f.other}[i%2]
		all.Go(func() {
			<-begin
			results, err := s.Apply(context.Background(), nil, []seawall.Check{c})
			if assert.NoError(t, err) && results[0].Committed {
				yes.Add(1)
			}
		})
	}
	close(begin)
	all.Wait()
	return int(yes.Load())
}

// skewed is a rule on an instance whose clock is wrong.
type skewed struct {
	ratelimit.Rule
	by time.Duration
}

func (s skewed) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	env.Now += int64(s.by)
	return s.Rule.Args(dst, env, c)
}

// useAtOnce uses n connections of the client's pool at the same time, and tells whether all worked.
func useAtOnce(c *redis.Client, n int) bool {
	ok := true
	for range n {
		conn := c.Conn()
		defer func() { _ = conn.Close() }()
		ok = conn.Ping(context.Background()).Err() == nil && ok
	}
	return ok
}

// timeless are the callers' keys that never expire.
func timeless(t *testing.T, c *redis.Client) (keys []string) {
	t.Helper()
	for _, key := range c.Keys(t.Context(), "test:*").Val() {
		if c.PTTL(t.Context(), key).Val() == -1 { // no expiry
			keys = append(keys, key)
		}
	}
	return keys
}

// # TTL, clock, reload

// timely runs a case, for a caller of its own, until one run took no longer than a time after which another
// answer would be right.
func timely(t *testing.T, most time.Duration, run func(caller string) (check func())) {
	t.Helper()
	for i := range 20 {
		began := time.Now()
		check := run(fmt.Sprint("caller ", i))
		if time.Since(began) < most {
			check()
			return
		}
	}
	t.Fatalf("this machine is too slow: want less than %v", most)
}

// dials counts the connections of a client.
type dials struct{ all, now, most atomic.Int64 }

func (d *dials) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d.all.Add(1)
		for n, most := d.now.Add(1), d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
		}
		defer d.now.Add(-1)
		return next(ctx, network, addr)
	}
}

func (d *dials) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (d *dials) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// # Failure

// peerStack is a stack of a rate policy that fails in the given way, and of slots.
func peerStack(t *testing.T, s seawall.Store, fails seawall.Failure) (*seawall.Stack, *seawalltest.Recorder) {
	t.Helper()
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1000), 100_000), OnFailure: fails},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1000})
	require.NoError(t, err)
	seen := &seawalltest.Recorder{}
	stack, err := seawall.New(seawall.Config{Store: s, Observer: seen}, rate, slots)
	require.NoError(t, err)
	return stack, seen
}

// decide is one request from begin to end.
func decide(t *testing.T, s *seawall.Stack) seawall.Decision {
	a := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")})
	defer a.Done(t.Context())
	return a.Decision()
}

// byRedis waits until a request is decided by Redis.
func byRedis(t *testing.T, s *seawall.Stack, seen *seawalltest.Recorder) {
	t.Helper()
	require.Eventually(t, func() bool {
		before := len(seen.Fallbacks())
		decide(t, s)
		return len(seen.Fallbacks()) == before
	}, soon, 5*time.Millisecond)
}

// onlySlots is a stack of one slot per caller.
func onlySlots(t *testing.T, s seawall.Store, ttl, wait time.Duration) (*seawall.Stack, *seawalltest.Recorder) {
	t.Helper()
	l, err := concurrency.New(concurrency.Config{MaxInFlight: 1, TTL: ttl})
	require.NoError(t, err)
	seen := &seawalltest.Recorder{}
	stack, err := seawall.New(seawall.Config{Store: s, Wait: wait, Observer: seen}, l)
	require.NoError(t, err)
	return stack, seen
}
