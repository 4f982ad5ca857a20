package redisstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// gate is a hook that keeps pipelines from going out while it is closed, and notes the scripts
// that did not have to wait.
type gate struct {
	mu      sync.Mutex
	opened  sync.Cond
	closed  bool
	waiting int
	sent    []*redis.IntSliceCmd
}

func newGate() *gate {
	g := &gate{}
	g.opened.L = &g.mu
	return g
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return asPipeline(g.ProcessPipelineHook, next)
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		g.mu.Lock()
		g.waiting++
		held := g.closed
		for g.closed {
			g.opened.Wait()
		}
		g.waiting--
		for _, cmd := range cmds {
			if asks, ok := cmd.(*redis.IntSliceCmd); ok && !held {
				g.sent = append(g.sent, asks)
			}
		}
		g.mu.Unlock()
		return next(ctx, cmds)
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.sent = true, nil
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.opened.Broadcast()
}

func (g *gate) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// crowd is a store whose requests can be made to wait, and go out together.
type crowd struct {
	*redisstore.Store
	gate   *gate
	client *redis.Client
	server *redistest.Server
}

func openCrowd(t *testing.T) *crowd {
	t.Helper()
	server := redistest.Start(t)
	client := connect(t, server)
	g := newGate()
	client.AddHook(g)
	// It announces itself once: what a heartbeat learns of the clock is not what a test says of it.
	s, err := redisstore.NewTuned(redisstore.Config{Client: client, Namespace: "test"}, time.Hour, time.Hour)
	require.NoError(t, err)
	closeAtEnd(t, s)
	require.Eventually(t, func() bool { return s.Fleet().Announced }, soon, tick)
	c := &crowd{s, g, connect(t, server), server}
	warm(t, c.Store)
	return c
}

// together applies the requests, which are queued in this order before any goes out, and returns their results and
// errors, and the replies of the scripts that were asked for them. before, if not nil, is run ahead of queueing each.
func (c *crowd) together(t *testing.T, requests [][]seawall.Check, before func(i int)) (results [][]seawall.Result, errs []error, replies [][]int64) {
	t.Helper()
	results, errs = make([][]seawall.Result, len(requests)), make([]error, len(requests))
	ctx, plug := short(t, soon), bucket(t, "plug", ratelimit.PerSecond(1_000_000), 1_000_000)
	_, _ = c.Apply(ctx, nil, []seawall.Check{plug}) // Redis knows its script, then; a test may have Redis refuse it
	var all sync.WaitGroup
	c.gate.close()
	defer c.gate.open()
	for i := range redisstore.Workers { // one after the other, or one worker takes them all
		checks := []seawall.Check{plug}
		all.Go(func() { _, _ = c.Apply(ctx, nil, checks) })
		require.Eventually(t, func() bool { return c.gate.held() == i+1 }, soon, tick)
	}
	for i, checks := range requests {
		if before != nil {
			before(i)
		}
		all.Go(func() { results[i], errs[i] = c.Apply(ctx, nil, checks) })
		require.Eventually(t, func() bool { return c.Waiting() == i+1 }, soon, tick)
	}
	c.gate.open()
	all.Wait()
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	for _, cmd := range c.gate.sent {
		if cmd.Err() == nil { // not one whose script had to be sent first
			replies = append(replies, cmd.Val())
		}
	}
	return results, errs, replies
}

// all is together where nothing fails.
func (c *crowd) all(t *testing.T, requests ...[]seawall.Check) (results [][]seawall.Result, scripts int) {
	t.Helper()
	results, errs, replies := c.together(t, requests, nil)
	for _, err := range errs {
		require.NoError(t, err)
	}
	return results, len(replies)
}
