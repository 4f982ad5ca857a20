package report

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// maxRoutes is how many routes and tiers of a policy are told apart. Routes are patterns, of which an application has few.
const maxRoutes = 256

// otherRoutes stands for those beyond.
const otherRoutes = "(others)"

// tally counts what one policy does.
type tally struct {
	layer, policy string
	requests      atomic.Int64
	listed        filter // of the callers in top

	mu     sync.Mutex
	rule   seawall.Rule
	counts counts
	first  time.Duration
	last   time.Duration
	peak   peak
	routes map[place]*counts
	top    sketch
}

// counts are refusals.
type counts struct{ refused, wouldRefuse int64 }

func (n *counts) add(o seawall.Outcome) {
	if o == seawall.Denied {
		n.refused++
	} else {
		n.wouldRefuse++
	}
}

type place struct {
	route string
	tier  seawall.Tier
}

// seen is what is known of a caller in the sketch.
type seen struct {
	counts
	name        string
	requests    int64
	first, last time.Duration
	peak        peak
	shortfall   shortfall
}

// peak is the most events in any second of the clock.
type peak struct {
	second time.Duration // of the clock, truncated
	now    int64         // in this second
	most   int64
}

func (p *peak) add(now time.Duration) {
	if second := now.Truncate(time.Second); second != p.second {
		p.second, p.now = second, 0
	}
	p.now++
	p.most = max(p.most, p.now)
}

// filter tells of most keys that they are not in a set, without a lock.
type filter [1024]atomic.Int32

func (f *filter) add(k seawall.Key, n int32) { f[k.Hash()%uint64(len(f))].Add(n) }
func (f *filter) mayHave(k seawall.Key) bool { return f[k.Hash()%uint64(len(f))].Load() > 0 }

// refused counts a refusal.
func (t *tally) refused(now time.Duration, r *seawall.Request, e *seawall.Event) {
	key := e.Check.Caller(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == (counts{}) {
		t.first = now
	}
	t.rule, t.last = e.Check.Rule, now
	t.counts.add(e.Outcome)
	t.peak.add(now)
	t.at(place{r.Route, r.Tier}).add(e.Outcome)
	if key.IsZero() {
		return
	}
	c, gone := t.top.count(key)
	if c.counts == (counts{}) {
		c.first = now
		t.listed.add(key, 1)
		if !gone.IsZero() {
			t.listed.add(gone, -1)
		}
	}
	c.last = now
	c.add(e.Outcome)
	if key == r.Key && r.Name != "" {
		c.name = plain(r.Name)
	}
}

func (t *tally) at(p place) *counts {
	n := t.routes[p]
	if n == nil {
		if len(t.routes) >= maxRoutes {
			p = place{otherRoutes, p.tier}
			if n = t.routes[p]; n != nil {
				return n
			}
		}
		n = &counts{}
		t.routes[p] = n
	}
	return n
}

// checked takes in the answer to a request of a caller who may be listed; alone tells that no other limit refuses it.
func (t *tally) checked(now time.Duration, key seawall.Key, c *seawall.Check, res *seawall.Result, alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.top.find(key)
	if e == nil {
		return
	}
	e.requests++
	e.peak.add(now)
	if alone && c.Rule != nil && key == c.Key {
		e.shortfall.see(now, c, res)
	}
}

// finished takes in that a request is done which would have been refused by a cap.
func (t *tally) finished(c *seawall.Check, res *seawall.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.top.find(c.Key); e != nil {
		e.shortfall.finished(c, res)
	}
}

// report returns what was counted; at turns the recorder's clock into a time.
func (t *tally) report(at func(time.Duration) time.Time, id func(seawall.Key) string) Policy {
	p := Policy{Layer: t.layer, Name: t.policy, Requests: t.requests.Load(), Routes: []Route{}, Callers: []Caller{}}
	t.mu.Lock()
	defer t.mu.Unlock()
	p.Refused, p.WouldRefuse = t.counts.refused, t.counts.wouldRefuse
	if p.refusals() == 0 {
		return p
	}
	p.Rule, p.First, p.Last, p.PeakPerSecond = words(t.layer, t.rule), at(t.first), at(t.last), t.peak.most
	for where, n := range t.routes {
		p.Routes = append(p.Routes, Route{where.route, where.tier.String(), n.refused, n.wouldRefuse})
	}
	for _, e := range t.top.order {
		p.Callers = append(p.Callers, Caller{
			ID: id(e.key), Name: e.name, Count: e.count, Error: e.error, Refused: e.refused, WouldRefuse: e.wouldRefuse,
			Requests: e.requests, First: at(e.first), Last: at(e.last), PeakPerSecond: e.peak.most,
			Limit: e.shortfall.limit, Enough: e.shortfall.enough,
		})
	}
	p.UnlistedAtMost = t.top.unlistedAtMost()
	p.sort()
	return p
}

// sort puts the most refused first, and otherwise makes the order that of names.
func (p *Policy) sort() {
	slices.SortFunc(p.Routes, func(a, b Route) int {
		return cmp.Or(cmp.Compare(b.Refused+b.WouldRefuse, a.Refused+a.WouldRefuse),
			cmp.Compare(a.Route, b.Route), cmp.Compare(a.Tier, b.Tier))
	})
	slices.SortFunc(p.Callers, func(a, b Caller) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Error, b.Error), cmp.Compare(a.ID, b.ID))
	})
}
