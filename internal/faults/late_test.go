package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// times are the faults of when something happens.
func times() []fault {
	return []fault{
		{
			number: 29, name: "Late execution", injection: "`kill -STOP`, calls abandoned, `-CONT`: Redis executes them then",
			promise: "leases of calls that nobody waits for: 0 after their TTL", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				g := newRig(t, setup{url: server.URL()})
				g.ready(t)
				server.Stop()
				shows(t, g.url, "timeout")
				abandoned := 0
				for i := range 50 {
					if g.spend(g.instances[i%2], g.callers[i%callers], 1).fallback {
						abandoned++
					}
				}
				time.Sleep(300 * time.Millisecond)
				server.Cont()
				began := time.Now()
				r.settled(t, g)
				r.note("%d calls abandoned; leases left %d, %s after the thaw", abandoned, r.left, text(time.Since(began)))
				assert.Positive(t, abandoned)
				g.shared(t)
				r.settled(t, g)
			},
		},
		{
			number: 30, name: "Redis' clock steps", injection: "an hour back, an hour ahead, by a preloaded `gettimeofday`",
			promise: "back: nobody is refused for longer than a refill period; ahead: a burst more at most, live leases kept", short: true,
			run: func(t *testing.T, r *row) {
				server, clock := startWithClock(t)
				g, c := newRig(t, setup{url: server.URL(), api: ratelimit.TokenBucket(ratelimit.PerSecond(10), 10), slots: 2}), admin(t, server)
				g.ready(t)
				held := []*seawall.Admission{g.hold(t), g.hold(t)}
				assert.True(t, g.full(), "both slots are taken")

				g.exhaust(g.callers[1])
				clock.set(t, server, -time.Hour)
				r.denied = until(func() bool { return !g.spend(g.instances[0], g.callers[1], 1).denied })
				r.within(t, "an hour back: refused for", r.denied, time.Second)
				assert.Less(t, until(g.full), soon, "leases live on")

				g.exhaust(g.callers[2])
				began := time.Now()
				clock.set(t, server, time.Hour)
				extra := g.exhaust(g.callers[2])
				until(g.full)
				r.within(t, "2 hours ahead: leases counted again after", time.Since(began), g.ttl/3+time.Second)
				extra += g.exhaust(g.callers[2])
				allowed := 10 + int(10*time.Since(began).Seconds()) + 1
				r.note("%d admitted, %d are allowed", extra, allowed)
				assert.LessOrEqual(t, extra, allowed)
				for _, a := range held {
					a.Done(context.Background())
				}
				r.left = g.leftLeases(t, c)
				assert.Zero(t, r.left)
			},
		},
	}
}

// until returns how long it takes until the function says so; at most soon.
func until(so func() bool) time.Duration {
	began := time.Now()
	for !so() && time.Since(began) < soon {
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// exhaust has the caller ask until it is refused, and returns how often it was admitted.
func (g *rig) exhaust(who seawall.Key) (admitted int) {
	for ; admitted < 1000 && !g.spend(g.instances[0], who, 1).denied; admitted++ {
	}
	return admitted
}

// hold takes a slot of the caller who holds some, until Done.
func (g *rig) hold(t *testing.T) *seawall.Admission {
	t.Helper()
	a := g.instances[0].stack.Admit(context.Background(), holder())
	assert.False(t, a.Decision().Denied)
	return a
}

// full tells whether that caller is refused another.
func (g *rig) full() bool {
	a := g.instances[1].stack.Admit(context.Background(), holder())
	defer a.Done(context.Background())
	return a.Decision().Denied && a.Decision().Layer == "concurrency"
}

func holder() *seawall.Request {
	return &seawall.Request{Key: seawall.NewKey("holder"), Route: "/v1/reports"}
}
