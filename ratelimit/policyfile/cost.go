package policyfile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seawall-go/seawall"
)

// cost reads what requests cost: a number, or numbers by route.
func (p place) cost(n *yaml.Node) func(*seawall.Request) int64 {
	if n.Kind != yaml.MappingNode {
		fixed, _ := p.whole(n, 1, maxUnits)
		return func(*seawall.Request) int64 { return fixed }
	}
	entries, _ := p.entries(n, "")
	switch {
	case len(entries) == 0:
		p.wrong(n.Line, ` is empty; want costs by route such as {"/v1/search": 100, "*": 1}, or a number`)
	case len(entries) > maxRoutes:
		p.wrong(n.Line, " has %d routes; want at most %d", len(entries), maxRoutes)
		return nil
	}
	c := costs{exact: map[string]int64{}}
	for _, e := range entries {
		in := p.at(e.key)
		if !seawall.ValidRoute(e.key) {
			p.wrong(e.line, ": the route %q; want %s", cut(e.key), wantRoute)
		}
		units, _ := in.whole(e.value, 1, maxUnits)
		p.costed = append(p.costed, e.key)
		if prefix, ok := strings.CutSuffix(e.key, "*"); ok {
			c.prefixes = append(c.prefixes, prefixCost{prefix, units})
		} else {
			c.exact[e.key] = units
		}
	}
	slices.SortFunc(c.prefixes, func(a, b prefixCost) int { return len(b.prefix) - len(a.prefix) })
	return c.of
}

// costs are what requests cost by route.
type costs struct {
	exact    map[string]int64
	prefixes []prefixCost // the longest first
}

type prefixCost struct {
	prefix string
	units  int64
}

// of is a ratelimit.Policy's Cost: that of the route itself, else of the longest prefix that it has, else the
// request's own.
func (c *costs) of(r *seawall.Request) int64 {
	if units, ok := c.exact[r.Route]; ok {
		return units
	}
	for i := range c.prefixes {
		if strings.HasPrefix(r.Route, c.prefixes[i].prefix) {
			return c.prefixes[i].units
		}
	}
	return r.Units()
}
