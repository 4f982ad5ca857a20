package faults

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/openloop"
)

// outage is a fault that comes in the middle of a load, and goes.
type outage struct {
	name         string // if a fault has several
	before       func() // if not nil, makes good what an earlier try has left
	inject, heal func()
	shows        string        // what a new client is told meanwhile; "" if it is told nothing wrong
	reasons      []string      // the labels that fallbacks have: the first in any case
	losses       int           // how often Redis loses its data
	brief        bool          // the breaker need not open
	added        time.Duration // what may be added until it does: addedBefore
	// ends is how long it takes at most, if it ends by itself, which heal waits for; otherwise it is as long as all.
	ends time.Duration
}

// survives puts a rig under load, has the outage come and go, and asserts the usual promise. If a time is missed on a
// machine that did not let this process run when it wanted to, all of it is done again.
func (r *row) survives(t *testing.T, s setup, o outage) (out *outcome) {
	t.Helper()
	name := o.name
	if name == "" {
		name = "load"
	}
	for try := 1; ; try++ {
		counted := t.Run(name, func(t *testing.T) { out = r.load(t, s, o) })
		if out == nil { // -run asked for others
			return &outcome{}
		}
		missed := out.missed(s, o)
		if long() && counted && len(missed) > 0 && out.pauses > quietPauses/2 && try < tries {
			t.Logf("%s: %v, but the machine paused for %v: measured again", name, missed, out.pauses)
			continue
		}
		r.mu.Lock()
		r.outages = append(r.outages, out)
		r.mu.Unlock()
		r.note("%s", out)
		if long() {
			assert.Empty(t, missed, "promises that were not kept; the machine's own pauses: %v", out.pauses)
		}
		return out
	}
}

// load has an outage come and go under load, and asserts what can be counted.
func (r *row) load(t *testing.T, s setup, o outage) *outcome {
	t.Helper()
	if o.before != nil {
		o.before()
	}
	if long() {
		awaitQuiet(t)
	}
	g := newRig(t, s)
	g.ready(t)
	p := thePace()
	if o.ends > 0 {
		p.faulty = o.ends
	}
	calls := make([]call, p.calls())
	recorded := make(chan *openloop.Record, 1)
	watch := watchRig(g)
	go func() {
		recorded <- openloop.Run(context.Background(), openloop.Load{Rate: p.rate, For: p.total()}, func(i int) { calls[i] = g.request(i) })
	}()
	time.Sleep(p.healthy)
	watch.fault()
	began := time.Now()
	o.inject()
	if o.shows != "" {
		g.shows(t, o.shows)
	}
	if o.ends == 0 {
		time.Sleep(time.Until(began.Add(p.faulty))) // how long the fault lasts
	}
	o.heal()
	watch.healed()
	assert.Eventually(t, func() bool { return g.probe(t) == nil }, soon, 10*time.Millisecond, "the fault is gone")
	rec := <-recorded
	watch.stop()

	out := watch.outcome(o.name, rec, calls)
	assert.Equal(t, out.asked, out.served, "everything but logins is served")
	r.logins(t, calls, rec.Began, o.losses)
	if o.losses == 0 {
		assert.Zero(t, strangers(calls, g.instances), "answers that were another's")
	}
	g.shared(t)
	g.labels(t, o)
	r.settled(t, g)
	return out
}

// logins asserts that no account got more than its limit, and that no login was admitted unasked.
func (r *row) logins(t *testing.T, calls []call, began time.Time, losses int) {
	t.Helper()
	admitted := map[int]int{}
	beyond := 0
	for i := range calls {
		switch c := &calls[i]; {
		case !c.login:
		case !c.denied && !c.at.IsZero():
			admitted[c.account]++
			refilled := int(c.at.Sub(began).Minutes() * loginBurst)
			if admitted[c.account] > (1+losses)*loginBurst+refilled {
				beyond++
			}
			assert.False(t, c.fallback, "a login was admitted without Redis")
		case c.fallback:
			assert.Equal(t, seawall.CauseUnavailable, c.cause)
			assert.GreaterOrEqual(t, c.retry, time.Second, "Retry-After")
		}
	}
	assert.NotEmpty(t, admitted, "logins are admitted at first")
	assert.Zero(t, beyond, "logins beyond the limit")
	r.beyond += beyond
}

// strangers counts the answers that tell of another caller's tokens.
func strangers(calls []call, instances []*instance) (n int) {
	for i := range calls {
		if c := &calls[i]; !c.login && !c.at.IsZero() && c.remaining >= 0 {
			k := int64(i / len(instances) % callers)
			if most := 1_000_000 - k*band; c.remaining > most || c.remaining <= most-band {
				n++
			}
		}
	}
	return n
}

// labels asserts that fallbacks say why, and that none admitted a login.
func (g *rig) labels(t *testing.T, o outage) {
	t.Helper()
	reasons := map[string]int{}
	for _, in := range g.instances {
		in.seen.mu.Lock()
		for f, n := range in.seen.fallbacks {
			reasons[f.reason] += n
			assert.False(t, f.limit == "ratelimit:login" && f.outcome == seawall.Allowed, "a login fell back and was admitted")
		}
		if !slices.Contains(o.reasons, "panic") {
			assert.Empty(t, in.seen.failures)
		}
		in.seen.mu.Unlock()
	}
	said := slices.DeleteFunc(slices.Sorted(maps.Keys(reasons)), func(reason string) bool {
		return reason == "timeout" // which a busy machine may add to every fault
	})
	if len(o.reasons) == 0 {
		assert.Empty(t, said, "labels of fallbacks: %v", reasons)
		return
	}
	assert.Subset(t, o.reasons, said, "labels of fallbacks: %v", reasons)
	assert.Positive(t, reasons[o.reasons[0]], "labels of fallbacks: %v", reasons)
}

// settled asserts that nothing is held any more.
func (r *row) settled(t *testing.T, g *rig) {
	t.Helper()
	left := g.leftLeases(t, g.dial(t))
	assert.Zero(t, left, "leases left on Redis")
	r.left += left
	for _, in := range g.instances {
		assert.Zero(t, in.seen.holding(), "in flight by the layers' count")
	}
}
