package redisstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
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

// asPipeline has a script call for requests, which goes alone if there is nothing else to send, pass a hook as a pipeline does.
func asPipeline(hook func(redis.ProcessPipelineHook) redis.ProcessPipelineHook, next redis.ProcessHook) redis.ProcessHook {
	around := hook(func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds[0]) })
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, asks := cmd.(*redis.IntSliceCmd); asks {
			return around(ctx, []redis.Cmder{cmd})
		}
		return next(ctx, cmd)
	}
}

// onPipeline is a hook that runs once, when armed, around what a worker sends.
type onPipeline struct {
	armed atomic.Bool
	run   func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error
}

func (*onPipeline) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *onPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return asPipeline(h.ProcessPipelineHook, next)
}

func (h *onPipeline) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !h.armed.CompareAndSwap(true, false) {
			return next(ctx, cmds)
		}
		return h.run(ctx, cmds, next)
	}
}

// gated returns a hook that, once armed, keeps the answer of a pipeline from its reader: at is closed when it
// has come, and it is handed on when open is.
func gated() (hook *onPipeline, at, open chan struct{}) {
	at, open = make(chan struct{}), make(chan struct{})
	return &onPipeline{run: func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
		err := next(ctx, cmds)
		close(at)
		<-open
		return err
	}}, at, open
}

// ride releases many leases and makes a call at once, so that they go out with it; before is run in front of
// that.
func ride(t *testing.T, s *redisstore.Store, before func()) error {
	t.Helper()
	var leases []seawall.Lease
	for range 10 {
		l, ok := take(t, s, lease(t, "rides", 1000, time.Minute))
		require.True(t, ok)
		l.Last = false
		leases = append(leases, l)
	}
	before()
	require.NoError(t, s.Release(t.Context(), leases...))
	_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "rides", ratelimit.PerSecond(1000), 1_000_000)})
	return err
}

func TestAPanicDuringARideStopsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, c := connect(t, server), connect(t, server)
	rode := false
	hook := &onPipeline{run: func(_ context.Context, cmds []redis.Cmder, _ redis.ProcessPipelineHook) error {
		rode = len(cmds) > 1
		panic("hook bug")
	}}
	client.AddHook(hook)
	s, err := redisstore.New(redisstore.Config{Client: client, Namespace: "test"})
	require.NoError(t, err)
	warm(t, s)
	for tries := 0; !rode; tries++ {
		require.Less(t, tries, 100, "no release ever rode")
		err := ride(t, s, func() { hook.armed.Store(true) })
		require.Error(t, err)
		assert.Equal(t, "panic", reasonOf(err))
	}
	_, ok := take(t, s, lease(t, "held", 1, time.Second))
	require.True(t, ok)
	<-time.After(1500 * time.Millisecond)
	live := c.ZCount(t.Context(), leasesKey("held"), fmt.Sprint(time.Now().UnixMilli()), "+inf").Val()
	assert.Equal(t, int64(1), live, "what is held is renewed")
	holds(t, c, leasesKey("rides"), 0)
	require.NoError(t, s.Close(short(t, soon)))
}

func TestASlowRideHoldsUpNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := connect(t, server)
	hook, at, open := gated()
	client.AddHook(hook)
	s := openOn(t, client)
	warm(t, s)
	other, ok := take(t, s, lease(t, "other", 1, time.Minute))
	require.True(t, ok)
	rode := make(chan error, 1)
	hook.armed.Store(true)
	slow := []seawall.Check{bucket(t, "rides", ratelimit.PerSecond(1000), 1_000_000)}
	ctx := short(t, soon)
	go func() { // its call, with or without company, is the one that is slow
		_, err := s.Apply(ctx, nil, slow)
		rode <- err
	}()
	<-at
	require.NoError(t, ride(t, s, func() {}), "another connection")
	release(t, s, other) // returns once Redis has confirmed it
	select {
	case err := <-rode:
		assert.Fail(t, "the slow call was to last until now", "%v", err)
	default:
	}
	close(open)
	require.NoError(t, <-rode)
}

func TestARefusedLeaseIsNotRenewedIntoBeing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, c := connect(t, server), connect(t, server)
	hook, at, open := gated()
	client.AddHook(hook)
	s := openOn(t, client)
	warm(t, s)
	held, ok := take(t, s, lease(t, "a", 1, time.Second))
	require.True(t, ok)
	hook.armed.Store(true)
	refused := make(chan bool, 1)
	second := []seawall.Check{lease(t, "a", 1, time.Second)}
	ctx := short(t, soon)
	go func() {
		results, err := s.Apply(ctx, nil, second)
		refused <- err == nil && !results[0].Committed
	}()
	<-at
	<-time.After(750 * time.Millisecond) // the answer lies unread for longer than a third of the TTL
	release(t, s, held)
	close(open)
	if !<-refused {
		release(t, s, seawall.Lease{Limit: second[0].Limit, Rule: second[0].Rule.(seawall.Holder), Key: second[0].Key, Cost: second[0].Cost, ID: second[0].ID})
	}
	holds(t, c, leasesKey("a"), 0)
}

func TestClaimsDoNotPileUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openReal(t, server)
	warm(t, s)
	server.Kill()
	for range 10 {
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{lease(t, "a", 100, time.Second)})
		require.Error(t, err)
	}
	for began := time.Now(); time.Since(began) < 2*time.Second; <-time.After(5 * time.Millisecond) {
		require.LessOrEqual(t, s.Claims(), 10)
	}
	server.Restart(t)
	holds(t, connect(t, server), leasesKey("a"), 10)
}
