package policyfile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

const (
	// maxUnits is the largest limit, burst and cost.
	maxUnits = 1_000_000_000
	// maxRoutes bounds what each request is compared with.
	maxRoutes = 1000
	wantName  = "1 to 32 lower-case letters, digits, '-' or '_', beginning with a letter"
	wantRoute = "a route such as /v1/*, with '*' at its end only"
)

// file reads the root. What it returns is good if there is nothing to report.
func (p place) file(root *yaml.Node) []ratelimit.Policy {
	if root.Kind != yaml.MappingNode {
		p.add(root.Line, "the file is %s; want a map with the keys version and ratelimit", describe(root))
		return nil
	}
	values := p.fields(root, "version", "ratelimit")
	if n, ok := values["version"]; !ok {
		p.at("version").missing(root.Line, "1")
	} else if describe(n) != "1" {
		p.at("version").is(n, "1")
	}
	n, ok := values["ratelimit"]
	if !ok {
		p.at("ratelimit").missing(root.Line, "a list of policies")
		return nil
	}
	return p.at("ratelimit").policies(n)
}

func (p place) policies(n *yaml.Node) []ratelimit.Policy {
	all := p.elements(n, "a list of policies")
	if n.Kind == yaml.SequenceNode && len(all) == 0 {
		p.wrong(n.Line, " is empty; want at least one policy")
	}
	var policies []ratelimit.Policy
	lines := map[string]int{}
	for i, element := range all {
		in, name := p.item(i), nameOf(element)
		if name != "" {
			in = place{report: p.report, policy: fmt.Sprintf("policy %q: ", cut(name))}
		}
		if first, twice := lines[name]; twice && name != "" {
			in.wrong(element.Line, "occurs twice, first on line %d; want each name once", first)
			continue
		}
		lines[name] = element.Line
		policies = append(policies, in.policyOf(element))
	}
	if p.empty() {
		p.accepted(n, policies)
	}
	return policies
}

// accepted reports what the limiter has to say, which knows its bounds better than this package.
func (p place) accepted(n *yaml.Node, policies []ratelimit.Policy) {
	for i := range policies {
		if _, err := ratelimit.New(ratelimit.Config{Policies: policies[i : i+1]}); err != nil {
			p.add(n.Content[i].Line, "%s", strings.TrimPrefix(err.Error(), "ratelimit: "))
		}
	}
	if _, err := ratelimit.New(ratelimit.Config{Policies: policies}); err != nil && p.empty() {
		p.wrong(n.Line, ": %s", strings.TrimPrefix(err.Error(), "ratelimit: "))
	}
}

// nameOf returns the name of a policy that has one.
func nameOf(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == "name" && isText(n.Content[i+1]) {
				return n.Content[i+1].Value
			}
		}
	}
	return ""
}

func (p place) policyOf(n *yaml.Node) (policy ratelimit.Policy) {
	values := p.fields(n, "name", bucket, log, counter, window,
		"callers", "routes", "cost", "on-failure", "plans", "overrides")
	if values == nil {
		return policy
	}
	policy.Name = p.name(n, values["name"])
	var algorithm string
	policy.Quota, algorithm = p.quota(n.Line, values, "")
	if v, ok := values["callers"]; ok {
		policy.Callers = choice(p.at("callers"), v, ratelimit.Everyone, ratelimit.SignedIn, ratelimit.Anonymous)
	}
	if v, ok := values["routes"]; ok {
		policy.Routes = p.at("routes").routes(v)
	}
	if v, ok := values["cost"]; ok {
		policy.Cost = p.at("cost").cost(v)
	}
	if v, ok := values["on-failure"]; ok {
		policy.OnFailure = choice(p.at("on-failure"), v, seawall.FailLocal, seawall.FailOpen, seawall.FailClosed)
	}
	if v, ok := values["plans"]; ok {
		policy.Plans = p.at("plans").plans(v, algorithm)
	}
	plans := assignment{}
	if v, ok := values["overrides"]; ok {
		plans = p.at("overrides").overrides(v, policy.Plans)
	}
	if len(policy.Plans) > 0 || len(plans) > 0 {
		policy.Plan = plans.of
	}
	return policy
}

func (p place) name(policy, n *yaml.Node) string {
	p = p.at("name")
	if n == nil {
		p.missing(policy.Line, "a name such as api")
		return ""
	}
	name, ok := p.text(n, "a text")
	if ok && seawall.ValidName("policy", name) != nil {
		p.is(n, wantName)
	}
	return name
}

func (p place) routes(n *yaml.Node) (routes []string) {
	elements := p.elements(n, "a list of routes such as [/v1/*]")
	if n.Kind == yaml.SequenceNode && len(elements) == 0 {
		p.wrong(n.Line, " is empty; want at least one route, or no such key for all of them")
	}
	if len(elements) > maxRoutes {
		p.wrong(n.Line, " has %d routes; want at most %d", len(elements), maxRoutes)
		return nil
	}
	for i, element := range elements {
		if route, ok := p.item(i).text(element, wantRoute); ok {
			if !seawall.ValidRoute(route) {
				p.item(i).is(element, wantRoute)
			}
			routes = append(routes, route)
		}
	}
	return routes
}
