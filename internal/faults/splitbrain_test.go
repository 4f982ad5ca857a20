package faults

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// border is what one instance's connections pass, but for those to a server on its own side. While it is shut there are
// none.
type border struct {
	mu     sync.Mutex
	shut   bool
	conns  []net.Conn
	inside map[string]string // what others know by one address, and this side by another
}

// client is one that has to pass the border.
func (b *border) client(url string) (*redis.Client, error) {
	o, err := redisstore.SentinelOptions(url)
	if err != nil {
		return nil, err
	}
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if direct, ok := b.inside[addr]; ok {
			return dial(ctx, network, direct)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.shut {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the border is shut")}
		}
		conn, err := dial(ctx, network, addr)
		if err == nil {
			b.conns = append(b.conns, conn)
		}
		return conn, err
	}
	return redis.NewFailoverClient(o), nil
}

func (b *border) set(shut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = shut
	for _, conn := range b.conns {
		_ = conn.Close()
	}
	b.conns = nil
}

// greedy is one caller of all instances of a rig, who asks without end.
type greedy struct {
	admitted [instances]atomic.Int64
	byRedis  [instances]atomic.Int64 // decided, admitted or not: one may get each token that there is
	over     context.CancelFunc
	ended    chan struct{}
}

func (g *rig) greedy() *greedy {
	ctx, over := context.WithCancel(context.Background())
	a := &greedy{over: over, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		openloop.Run(ctx, openloop.Load{Rate: 500, For: time.Minute}, func(i int) {
			k := i % instances
			c := g.spend(g.instances[k], g.callers[0], 1)
			if !c.denied {
				a.admitted[k].Add(1)
			}
			if !c.fallback {
				a.byRedis[k].Add(1)
			}
		})
	}()
	return a
}

func (a *greedy) stop() { a.over(); <-a.ended }

func (a *greedy) all() (n int) {
	for k := range a.admitted {
		n += int(a.admitted[k].Load())
	}
	return n
}

// splitBrain has the master and the second of two instances cut off from all others, which get another master, and then
// has them meet again.
func splitBrain(t *testing.T, r *row) {
	const rate, burst = 50, 50
	fronts := map[string]*proxy{} // by the address of the server behind
	sentinel := redistest.StartSentinelBehind(t, func(addr string) string {
		fronts[addr] = proxyTo(t, addr)
		return fronts[addr].proxy.Listen
	})
	old := sentinel.Master(t)
	front := fronts[old.Addr()]
	b := &border{inside: map[string]string{front.proxy.Listen: old.Addr()}}
	opened := 0
	g := newRig(t, setup{
		url: sentinel.URL(), api: ratelimit.TokenBucket(ratelimit.PerSecond(rate), burst), proxied: true,
		open: func() (*redis.Client, error) {
			if opened++; opened == instances {
				return b.client(sentinel.URL())
			}
			return redisstore.NewSentinelClient(sentinel.URL())
		},
	})
	g.ready(t)
	// granted is the limit of some time, once the burst is spent.
	granted := func(since time.Time) int { return int(rate * time.Since(since).Seconds()) }
	a := g.greedy()
	defer a.stop()
	time.Sleep(thePace().healthy) // all is well

	split, n := time.Now(), a.all()
	b.set(true)
	front.cut()
	next := sentinel.NextMaster(t, old)
	for _, server := range []*redistest.Server{old, next} {
		require.NoError(t, probe(t, server.URL()), "the fault is there: both are masters")
	}
	aside, joined := a.byRedis[1].Load(), a.byRedis[0].Load()
	require.Eventually(t, func() bool { return a.byRedis[0].Load() > joined }, soon, time.Millisecond, "one decides by the new master")
	time.Sleep(thePace().faulty) // how long the split lasts
	assert.Greater(t, a.byRedis[1].Load(), aside, "the fault is there: the other decides by the old one")

	front.mend()
	b.set(false)
	require.Eventually(t, func() bool { return old.Role() == "slave" }, soon, time.Millisecond, "the old master hears of the new one")
	apart, limit := a.all()-n, burst+granted(split)
	r.note("%d admitted in %s of two masters, %.2f × the limit", apart, text(time.Since(split)), float64(apart)/float64(limit))
	assert.LessOrEqual(t, apart, 2*limit)
	assert.Greater(t, apart, limit, "the fault is there")

	again, n := time.Now(), a.all()
	one := a.byRedis[1].Load()
	met := until(func() bool { return a.byRedis[1].Load() > one })
	time.Sleep(thePace().healed) // what is admitted behind it is counted
	after, limit := a.all()-n, granted(again)
	a.stop()
	r.within(t, "then both by the new one after", met, 2*time.Second)
	r.note("%d admitted in the %s after, a limit of %d and a burst", after, text(time.Since(again)), limit)
	assert.LessOrEqual(t, after, limit+burst)
	g.shared(t)
	r.settled(t, g)
}
