package faults

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

const (
	instances = 2 // of a rig, unless it says otherwise
	callers   = 20
	accounts  = 5
	band      = 10_000 // tokens that a caller has spent more than the one before
	work      = 150 * time.Millisecond
	// requestSpan is what the application calls the span of a request.
	requestSpan = "request"
	soon        = 15 * time.Second // generous: what takes longer does not happen
)

// rig is a fleet in this process: instances that share one Redis as processes would.
type rig struct {
	setup
	id        string // of those who ask, who are nobody else's
	callers   [callers]seawall.Key
	instances []*instance
	working   sync.WaitGroup // requests whose decision is made and whose work is not
	newcomers atomic.Int64
}

// newRig returns a rig that ends with its test.
func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	s = s.usual()
	g := &rig{setup: s, id: rand.Text()[:8]}
	for i := range s.instances {
		of := s
		if s.differs != nil {
			of = s.differs(i, s)
		}
		g.instances = append(g.instances, newInstance(t, of))
	}
	t.Cleanup(g.working.Wait) // before the instances are closed
	return g
}

// ready waits until all instances know each other and decide by Redis, and sets the callers apart.
func (g *rig) ready(t testing.TB) {
	t.Helper()
	for _, in := range g.instances {
		require.Eventually(t, func() bool {
			f := in.cache.Fleet()
			return f.Announced && f.Instances == int64(len(g.instances))
		}, soon, 5*time.Millisecond, "the instances know each other")
	}
	for k := range g.callers {
		require.Eventually(t, func() bool {
			g.callers[k] = g.newcomer() // what was not answered may have been spent
			return k == 0 || g.api != plentiful || !g.spend(g.instances[0], g.callers[k], int64(k*band)).fallback
		}, soon, time.Millisecond)
	}
	g.shared(t)
	g.forget()
}

// forget has the instances' fallbacks count from zero.
func (g *rig) forget() {
	for _, in := range g.instances {
		in.seen.forget()
	}
}

// failed counts their rate limits' fallbacks but for timeouts.
func (g *rig) failed() (n int) {
	for _, in := range g.instances {
		n += in.seen.failed()
	}
	return n
}

// newcomer is the key of a caller who never asked before.
func (g *rig) newcomer() seawall.Key {
	return seawall.NewKey("caller", g.id, strconv.FormatInt(g.newcomers.Add(1), 10))
}

// shared waits until every instance decides by Redis.
func (g *rig) shared(t testing.TB) {
	t.Helper()
	for _, in := range g.instances {
		inARow := 0
		require.Eventually(t, func() bool {
			inARow++
			if g.spend(in, g.newcomer(), 1).fallback {
				inARow = 0
			}
			return inARow >= 20
		}, soon, time.Millisecond, "decisions are shared")
	}
}

// call is what became of one request.
type call struct {
	login, denied, fallback bool // fallback: its rate limit was not asked of Redis
	cause                   seawall.Cause
	retry                   time.Duration
	account                 int
	remaining               int64 // of the caller's tokens, unless Redis was not asked
	at                      time.Time
}

// spend has the caller spend tokens.
func (g *rig) spend(in *instance, key seawall.Key, cost int64) call {
	return g.ask(in, &seawall.Request{Key: key, Route: "/v1/charges", Cost: cost}, 0)
}

// request is the ith request of a load: one of many callers, or a login. One in ten takes a while.
func (g *rig) request(i int) call {
	in := g.instances[i%len(g.instances)]
	i /= len(g.instances)
	takes := time.Duration(0)
	if i%10 == 9 {
		takes = work
	}
	if i%10 == 4 {
		account := i / 10 % accounts
		name := strconv.Itoa(account)
		c := g.ask(in, &seawall.Request{
			Key: seawall.NewKey("address", g.id, name), More: []seawall.Key{seawall.NewKey("login", g.id, name)},
			Tier: seawall.Write, Route: loginRoute,
		}, takes)
		c.login, c.account = true, account
		return c
	}
	r := &seawall.Request{Key: g.callers[i%callers], Route: "/v1/charges"}
	if i%3 == 0 {
		r.Tier = seawall.Critical
	}
	return g.ask(in, r, takes)
}

// ask decides about a request and, if it is served, ends it after its work, for which nobody waits.
func (g *rig) ask(in *instance, r *seawall.Request, takes time.Duration) call {
	ctx, span := g.tracer.Start(context.Background(), requestSpan)
	defer span.End()
	a := in.stack.Admit(ctx, r)
	d := a.Decision()
	c := call{denied: d.Denied, cause: d.Cause, retry: d.RetryAfter, remaining: -1, at: time.Now()}
	for i, res := range a.Results() {
		switch limit := a.Checks()[i].Limit; {
		case limit.Layer() != ratelimit.Name:
		case res.Fallback:
			c.fallback = true
		case limit.Policy() == "api":
			c.remaining = res.Remaining
		}
	}
	if takes == 0 || d.Denied {
		a.Done(context.Background())
		return c
	}
	g.working.Go(func() {
		time.Sleep(takes)
		a.Done(context.Background())
	})
	return c
}

// leftLeases waits until Redis holds no lease, at most for a TTL, and returns how many are left.
func (g *rig) leftLeases(t testing.TB, c *redis.Client) int {
	t.Helper()
	g.working.Wait()
	deadline := time.Now().Add(g.ttl + time.Second)
	for {
		n := leases(t, c)
		if n == 0 || time.Now().After(deadline) {
			return n
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// leases counts what Redis holds of all callers and of the fleet.
func leases(t testing.TB, c *redis.Client) int { return leasesOf(t, c, "faults") }

// leasesOf counts the leases that have not expired by Redis' clock, of one namespace.
func leasesOf(t testing.TB, c *redis.Client, namespace string) (total int) {
	t.Helper()
	ctx := context.Background()
	now, err := c.Time(ctx).Result()
	assert.NoError(t, err)
	names, err := c.Keys(ctx, namespace+":*").Result()
	assert.NoError(t, err)
	for _, name := range names {
		if strings.Contains(name, ":concurrency:") || strings.Contains(name, ":fleetshed:") {
			n, err := c.ZCount(ctx, name, fmt.Sprintf("(%d", now.UnixMilli()), "+inf").Result()
			assert.NoError(t, err, name)
			total += int(n)
		}
	}
	return total
}
