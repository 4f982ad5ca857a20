package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// slotsTTL is how long a slot stays taken that nobody renews.
const slotsTTL = time.Hour

// player has the rules decide about requests in the time of the log. Whatever it is given, its clock never steps back. All
// policies that are about a request must admit it, or none is charged, as where they are enforced.
type player struct {
	callers *callers
	routes  *routes
	tick    int64 // nanoseconds: rates see whole ones
	now     int64 // the latest time of all requests
	clock   time.Time
	renewed int64

	layers  []seawall.Layer
	store   *memstore.Store
	checks  []seawall.Check
	results []seawall.Result
	ends    queue[end, *end]

	tallies  []*tally
	of       map[*seawall.Limit]*tally
	requests int64
	refused  int64 // by any policy
	from     int64 // the first time of all
	over     series
}

// newPlayer returns a player of the rates, and of a cap on what a caller has in flight, unless that is zero.
func newPlayer(policies []ratelimit.Policy, slots int64, tick time.Duration, c *callers, r *routes) (*player, error) {
	p := &player{callers: c, routes: r, tick: int64(tick), of: map[*seawall.Limit]*tally{}, from: math.MaxInt64}
	if len(policies) > 0 {
		rates, err := ratelimit.New(ratelimit.Config{Policies: policies})
		if err != nil {
			return nil, err
		}
		p.layers = append(p.layers, rates)
	}
	if slots != 0 {
		caps, err := concurrency.New(concurrency.Config{MaxInFlight: slots, TTL: slotsTTL})
		if err != nil {
			return nil, fmt.Errorf("flag -in-flight: %w", err)
		}
		p.layers = append(p.layers, caps)
	}
	for _, l := range p.layers {
		for _, limit := range l.Limits() {
			if l.Name() == concurrency.Name && limit.Policy() != concurrency.DefaultPolicy {
				continue // a log does not tell of long-lived requests
			}
			t := &tally{layer: l.Name(), name: limit.Policy(), rule: fmt.Sprintf("%d in flight", slots), routes: map[int32]*part{}}
			for i := range policies {
				if l.Name() == ratelimit.Name && policies[i].Name == t.name {
					t.rule = policies[i].Quota.String()
				}
			}
			p.tallies, p.of[limit] = append(p.tallies, t), t
		}
	}
	p.store = memstore.New(memstore.Config{Now: func() time.Time { return p.clock }, MaxKeys: math.MaxInt})
	return p, nil
}

// play has the rules decide about the next request.
func (p *player) play(r *request) error {
	p.requests++
	p.now, p.from = max(p.now, r.start), min(p.from, r.start)
	tick := p.now - p.now%p.tick
	p.clock = time.Unix(0, tick)
	p.giveBack()
	who := &p.callers.all[r.caller]
	who.requests++
	asked := seawall.Request{Key: who.key, Authenticated: who.signedIn, Route: p.routes.told(r.route)}
	p.checks, p.results = p.checks[:0], p.results[:0]
	for _, l := range p.layers {
		if l.Name() == concurrency.Name && r.took < 0 {
			continue
		}
		p.checks = l.Plan(p.checks, &asked)
	}
	if len(p.checks) == 0 {
		p.over.add(tick, false)
		return nil
	}
	var err error
	if p.results, err = p.store.Apply(context.Background(), p.results, p.checks); err != nil {
		return err
	}
	p.count(r, tick)
	return nil
}

// count adds up what the policies have answered, and has what was taken be given back when the request is over.
func (p *player) count(r *request, tick int64) {
	refused := false
	var leases []seawall.Lease
	for i := range p.checks {
		c, res := &p.checks[i], &p.results[i]
		refused = refused || !res.Admitted
		if l, ok := c.Lease(); ok && res.Committed {
			leases = append(leases, l)
		}
		if t := p.of[c.Limit]; t != nil {
			t.add(tick, r, c, res)
		}
	}
	if refused {
		p.refused++
	}
	p.over.add(tick, refused)
	if len(leases) > 0 {
		p.ends.push(end{at: p.now + r.took, caller: r.caller, leases: leases})
	}
}

// giveBack ends the requests that are over by now.
func (p *player) giveBack() {
	for len(p.ends) > 0 && p.ends[0].at <= p.now {
		_ = p.store.Release(context.Background(), p.ends.pop().leases...) // in memory it always succeeds
	}
	if len(p.ends) > 0 && p.now-p.renewed > int64(slotsTTL)/3 {
		p.renewed = p.now
		p.store.Renew()
	}
}

func (p *player) close() error { return p.store.Close(context.Background()) }
