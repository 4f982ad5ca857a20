package report

import (
	"cmp"
	"slices"
	"time"
)

// Merge returns one report of those of several instances. Of reports that have an instance in common the latest counts, and
// the others are left out. It keeps as many callers of each policy as one instance has places for. What it says of callers
// stays within the bounds that it states: Count and Error are sums, and a report in which a caller is not listed adds its
// UnlistedAtMost to both.
func Merge(reports ...Report) Report {
	merged := Report{Instances: []string{}, Policies: []Policy{}}
	latest := slices.SortedStableFunc(slices.Values(reports), func(a, b Report) int { return b.Until.Compare(a.Until) })
	var parts []Report
	for _, r := range latest {
		if slices.ContainsFunc(r.Instances, func(name string) bool { return slices.Contains(merged.Instances, name) }) {
			continue
		}
		parts = append(parts, r)
		merged.Instances = append(merged.Instances, r.Instances...)
		merged.Since = earlier(merged.Since, r.Since)
		merged.Until = later(merged.Until, r.Until)
		merged.Fleet = max(merged.Fleet, r.Fleet)
	}
	for _, r := range parts {
		for _, p := range r.Policies {
			if merged.find(p.Layer, p.Name) == nil {
				merged.Policies = append(merged.Policies, mergePolicy(p.Layer, p.Name, parts))
			}
		}
	}
	slices.Sort(merged.Instances)
	merged.sort()
	return merged
}

func mergePolicy(layer, policy string, reports []Report) Policy {
	m := Policy{Layer: layer, Name: policy, Routes: []Route{}, Callers: []Caller{}}
	routes := map[Route]*Route{} // by a Route without counts
	callers := map[string]*Caller{}
	var parts []*Policy
	for i := range reports {
		p := reports[i].find(layer, policy)
		if p == nil {
			continue
		}
		parts = append(parts, p)
		m.Places = max(m.Places, p.Places, int64(len(p.Callers)))
		m.Requests += p.Requests
		m.LogOnly += p.LogOnly
		m.Alone += p.Alone
		m.Unavailable += p.Unavailable
		m.Refused += p.Refused
		m.WouldRefuse += p.WouldRefuse
		m.PeakPerSecond += p.PeakPerSecond
		m.First = earlier(m.First, p.First)
		if p.Last.After(m.Last) || m.Rule == "" {
			m.Rule = cmp.Or(p.Rule, m.Rule)
		}
		m.Last = later(m.Last, p.Last)
		m.UnlistedAtMost += p.UnlistedAtMost
		for _, r := range p.Routes {
			sum := routes[Route{Route: r.Route, Tier: r.Tier}]
			if sum == nil {
				sum = &Route{Route: r.Route, Tier: r.Tier}
				routes[*sum] = sum
			}
			sum.Refused += r.Refused
			sum.WouldRefuse += r.WouldRefuse
		}
	}
	for _, p := range parts {
		for i := range p.Callers {
			c := &p.Callers[i]
			if callers[c.ID] == nil { // as if no report listed it
				callers[c.ID] = &Caller{ID: c.ID, Count: m.UnlistedAtMost, Error: m.UnlistedAtMost}
			}
			callers[c.ID].add(c, p.UnlistedAtMost)
		}
	}
	for _, r := range routes {
		m.Routes = append(m.Routes, *r)
	}
	for _, c := range callers {
		m.Callers = append(m.Callers, *c)
	}
	m.sort()
	m.cut(int(m.Places))
	return m
}

// add adds what a report says of the caller, in place of what it would have said of one that it does not list.
func (c *Caller) add(o *Caller, unlisted int64) {
	c.Name = cmp.Or(c.Name, o.Name)
	c.Count += o.Count - unlisted
	c.Error += o.Error - unlisted
	c.Refused += o.Refused
	c.WouldRefuse += o.WouldRefuse
	c.Requests += o.Requests
	c.Cost += o.Cost
	c.PeakPerSecond += o.PeakPerSecond
	switch same := c.Limit == o.Limit && c.PerSecond == o.PerSecond; {
	case same && c.Enough > 0 && o.Enough > 0: // both had what the other had used, as part of the limit that they share
		c.Enough = max(c.Enough, o.Enough)
		c.EnoughAtWorst += o.EnoughAtWorst - o.Limit
	case o.Limit > 0 && (o.Last.After(c.Last) || c.Limit == 0 || same && c.Enough == 0): // otherwise the later limit counts
		c.Limit, c.PerSecond, c.Enough, c.EnoughAtWorst = o.Limit, o.PerSecond, o.Enough, o.EnoughAtWorst
	}
	c.First, c.Last = earlier(c.First, o.First), later(c.Last, o.Last)
}

// cut keeps the first n callers.
func (p *Policy) cut(n int) {
	if n < len(p.Callers) {
		p.UnlistedAtMost = max(p.UnlistedAtMost, p.Callers[n].Count)
		p.Callers = p.Callers[:n:n]
	}
}

// earlier returns the earlier of two times, of which the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
