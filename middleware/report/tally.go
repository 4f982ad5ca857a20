package report

import (
	"cmp"
	"slices"
	"strings"
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
	requests      [2]atomic.Int64 // enforced, and in log-only mode
	listed        filter          // of the callers in top

	mu          sync.Mutex
	rule        seawall.Rule
	counts      counts
	unavailable int64 // not in counts
	alone       int64 // in counts, without the store
	first       time.Duration
	last        time.Duration
	peak        peak
	routes      map[place]*counts
	top         sketch
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
	cost        int64
	first, last time.Duration
	peak        peak
	shortfall   shortfall
}

// peak is the most events in any second of the clock.
type peak struct {
	second int64 // Unix
	now    int64 // in this second
	most   int64
}

func (p *peak) add(second int64) {
	if second != p.second {
		p.second, p.now = second, 0
	}
	p.now++
	p.most = max(p.most, p.now)
}

// filter tells of most keys that they are not in a set, without a lock.
type filter []atomic.Int32

// newFilter returns a filter that is right about 15 of 16 keys if a set of n is full.
func newFilter(n int) filter { return make(filter, 16*n) }

func (f filter) add(k seawall.Key, n int32) { f[k.Hash()%uint64(len(f))].Add(n) }
func (f filter) mayHave(k seawall.Key) bool { return f[k.Hash()%uint64(len(f))].Load() > 0 }

// moment is a time on the recorder's clock, which setting the wall clock does not change, and the second of the wall
// clock that it was.
type moment struct {
	at     time.Duration
	second int64
}

// refused counts a refusal.
func (t *tally) refused(now moment, r *seawall.Request, e *seawall.Event) {
	key := e.Check.Caller(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Result.Fallback && e.Check.Limit.OnFailure() == seawall.FailClosed {
		t.unavailable++
		return
	}
	if t.counts == (counts{}) {
		t.first = now.at
	}
	if _, blocked := e.Check.Rule.(seawall.Constant); t.rule == nil || !blocked {
		t.rule = e.Check.Rule
	}
	t.last = now.at
	if e.Result.Fallback {
		t.alone++
	}
	t.counts.add(e.Outcome)
	t.peak.add(now.second)
	t.at(place{r.Route, r.Tier}).add(e.Outcome)
	if key.IsZero() {
		return
	}
	c, gone := t.top.count(key)
	if c.counts == (counts{}) {
		c.first = now.at
		t.listed.add(key, 1)
		if !gone.IsZero() {
			t.listed.add(gone, -1)
		}
	}
	c.last = now.at
	c.add(e.Outcome)
	if key == r.Key && r.Name != "" && c.name != r.Name {
		c.name = strings.Clone(plain(r.Name))
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
func (t *tally) checked(now moment, instances int64, key seawall.Key, c *seawall.Check, res *seawall.Result, alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.top.find(key)
	if e == nil {
		return
	}
	e.requests++
	e.cost = plus(e.cost, c.Cost)
	e.peak.add(now.second)
	if alone && c.Rule != nil && key == c.Key {
		e.shortfall.see(now.at, instances, c, res)
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

// report returns what was counted; at turns the recorder's clock into a time. Only the copying holds requests up.
func (t *tally) report(at func(time.Duration) time.Time, id func(seawall.Key) string) Policy {
	enforced, logOnly := t.requests[seawall.Enforce].Load(), t.requests[seawall.LogOnly].Load()
	p := Policy{
		Layer: t.layer, Name: t.policy, Requests: enforced + logOnly, LogOnly: logOnly,
		Routes: []Route{}, Callers: []Caller{}, Places: int64(t.top.places),
	}
	places := make([]entry, 0, t.top.places)
	t.mu.Lock()
	for _, e := range t.top.order {
		places = append(places, *e)
	}
	for where, n := range t.routes {
		p.Routes = append(p.Routes, Route{where.route, where.tier.String(), n.refused, n.wouldRefuse})
	}
	p.Refused, p.WouldRefuse, p.Alone, p.Unavailable = t.counts.refused, t.counts.wouldRefuse, t.alone, t.unavailable
	rule, first, last, peak, unlisted := t.rule, t.first, t.last, t.peak.most, t.top.unlistedAtMost()
	t.mu.Unlock()
	if p.refusals() == 0 {
		return p
	}
	p.Rule, p.First, p.Last, p.PeakPerSecond, p.UnlistedAtMost = words(rule), at(first), at(last), peak, unlisted
	for i := range places {
		e := &places[i]
		p.Callers = append(p.Callers, Caller{
			ID: id(e.key), Name: e.name, Count: e.count, Error: e.error, Refused: e.refused, WouldRefuse: e.wouldRefuse,
			Requests: e.requests, Cost: e.cost, First: at(e.first), Last: at(e.last), PeakPerSecond: e.peak.most,
			Limit: e.shortfall.terms.limit, PerSecond: e.shortfall.terms.perSecond(),
			Enough: e.shortfall.enough, EnoughAtWorst: e.shortfall.atWorst,
		})
	}
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
