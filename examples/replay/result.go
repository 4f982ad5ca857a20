package main

import (
	"cmp"
	"slices"
	"time"
)

// result is what is told of a replay, as JSON to the letter.
type result struct {
	Requests int64     `json:"requests"`
	BadLines int64     `json:"bad_lines"`
	Late     int64     `json:"late"` // they came later than the window in which requests are put in order
	Refused  int64     `json:"refused"`
	Callers  int       `json:"callers"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	// Identified is how many requests were of a user or had the field, where callers are known by that.
	Identified *int64 `json:"identified,omitempty"`
	Order      string `json:"order"`
	// Stopped tells that the logs were not read to their ends.
	Stopped  bool           `json:"stopped"`
	Logs     []logResult    `json:"logs"`
	Policies []policyResult `json:"policies"`
	InFlight *flightResult  `json:"in_flight,omitempty"`

	over series // for plots
}

// logResult is what one log held.
type logResult struct {
	Name   string    `json:"name"`
	Format string    `json:"format"`
	Lines  int64     `json:"lines"`
	Bad    int64     `json:"bad_lines"`
	First  []badLine `json:"first_bad_lines,omitempty"`
	Error  string    `json:"error,omitempty"`
}

type badLine struct {
	Number int64  `json:"line"`
	Text   string `json:"text"`
	Why    string `json:"why"`
}

// policyResult is what one policy would have refused.
type policyResult struct {
	Policy   string `json:"policy"`
	Layer    string `json:"layer"`
	Rule     string `json:"rule"`
	Requests int64  `json:"requests"` // that it is about
	Refused  int64  `json:"refused"`
	Callers  int    `json:"callers"` // that it is about
	// CallersRefused is how many of them it would have refused something.
	CallersRefused int            `json:"callers_refused"`
	First          time.Time      `json:"first,omitzero"` // refusal
	Last           time.Time      `json:"last,omitzero"`
	Top            []callerResult `json:"top"`
	Routes         []routeResult  `json:"routes"`
	Enough         *enough        `json:"enough,omitempty"`

	over   series
	bursts []int64 // what each caller would need, in order
}

// enough is the smallest burst, at the policy's rate, that would refuse at most a share of the callers anything.
type enough struct {
	Share float64 `json:"share"`
	Burst int64   `json:"burst"`
	// All is the burst that would refuse nobody.
	All int64 `json:"burst_for_all"`
	// LeftOut is how many callers are not among them, since no burst is known: who is blocked, or has a rule without one.
	LeftOut int `json:"callers_left_out,omitempty"`
}

type callerResult struct {
	Caller   string `json:"caller"`
	Refused  int64  `json:"refused"`
	Requests int64  `json:"requests"` // that the policy is about
	// Enough is the burst that would have let all of its requests through, where that is known.
	Enough int64 `json:"enough,omitempty"`
}

type routeResult struct {
	Route    string `json:"route"`
	Refused  int64  `json:"refused"`
	Requests int64  `json:"requests"`
}

// flightResult is how many requests were in flight at the same time.
type flightResult struct {
	// Known is how many requests the logs have durations of.
	Known int64        `json:"requests"`
	Peak  int64        `json:"peak"`
	Top   []peakResult `json:"top"`
}

type peakResult struct {
	Caller string `json:"caller"`
	Peak   int64  `json:"peak"`
}

// result sums up what was played.
func (p *player) result(o *options, f *inFlight) *result {
	r := &result{Requests: p.requests, Refused: p.refused, Callers: len(p.callers.all), Order: o.order, over: p.over, Policies: []policyResult{}}
	if o.identity.private() {
		r.Identified = &p.callers.named
	}
	if p.requests > 0 {
		r.From, r.To = at(p.from), at(p.now)
	}
	for _, t := range p.tallies {
		r.Policies = append(r.Policies, t.result(o, p.callers, p.routes))
	}
	if f.known > 0 {
		r.InFlight = f.result(o.top, p.callers)
	}
	return r
}

func at(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

func (t *tally) result(o *options, c *callers, routes *routes) policyResult {
	r := policyResult{
		Policy: t.name, Layer: t.layer, Rule: t.rule, Requests: t.requests, Refused: t.refused, over: t.over,
		Top: []callerResult{}, Routes: []routeResult{},
	}
	if t.refused > 0 {
		r.First, r.Last = at(t.first), at(t.last)
	}
	for i := range t.callers {
		s := &t.callers[i]
		if s.requests == 0 {
			continue
		}
		r.Callers++
		if s.needed.most > 0 {
			r.bursts = append(r.bursts, s.needed.most)
		}
		if s.refused > 0 {
			r.CallersRefused++
			r.Top = append(r.Top, callerResult{c.all[i].name, s.refused, s.requests, s.needed.most})
		}
	}
	if len(r.bursts) > 0 {
		slices.Sort(r.bursts)
		r.Enough = &enough{o.share, sufficient(r.bursts, portion(o.share, len(r.bursts))), sufficient(r.bursts, 0), r.Callers - len(r.bursts)}
	}
	slices.SortFunc(r.Top, func(a, b callerResult) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Caller, b.Caller))
	})
	r.Top = r.Top[:min(o.top, len(r.Top))]
	for i, count := range t.routes {
		if count.refused > 0 {
			r.Routes = append(r.Routes, routeResult{routes.names[i], count.refused, count.requests})
		}
	}
	slices.SortFunc(r.Routes, func(a, b routeResult) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Route, b.Route))
	})
	r.Routes = r.Routes[:min(o.top, len(r.Routes))]
	return r
}

func (f *inFlight) result(top int, c *callers) *flightResult {
	r := &flightResult{Known: f.known, Peak: f.peak, Top: []peakResult{}}
	for i, peak := range f.peaks {
		if peak > 0 {
			r.Top = append(r.Top, peakResult{c.all[i].name, int64(peak)})
		}
	}
	slices.SortFunc(r.Top, func(a, b peakResult) int {
		return cmp.Or(cmp.Compare(b.Peak, a.Peak), cmp.Compare(a.Caller, b.Caller))
	})
	r.Top = r.Top[:min(top, len(r.Top))]
	return r
}
