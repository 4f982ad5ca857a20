package policyfile

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// plans reads the quotas that some callers have instead.
func (p place) plans(n *yaml.Node, algorithm string) map[string]ratelimit.Quota {
	entries, _ := p.entries(n, "a map of plans such as {gold: {bucket: {rate: 100/s, burst: 200}}}")
	plans := make(map[string]ratelimit.Quota, len(entries))
	for _, e := range entries {
		in := p.at(e.key)
		if e.key == ratelimit.PlanAllow || e.key == ratelimit.PlanBlock {
			in.wrong(e.line, ": every policy has a plan of this name; want another one")
			continue
		}
		if seawall.ValidName("plan", e.key) != nil {
			p.wrong(e.line, ": the name %q; want %s", cut(e.key), wantName)
			continue
		}
		// In here even if its quota is wrong, so that its overrides are not wrong, too.
		plans[e.key], _ = in.quota(e.line, in.fields(e.value, bucket, log, counter, window), algorithm)
	}
	return plans
}

// assignment says who has which plan.
type assignment map[seawall.Key]string

// of is a ratelimit.Policy's Plan: the file's word before the application's.
func (a assignment) of(r *seawall.Request) string {
	if plan, ok := a[r.Key]; ok {
		return plan
	}
	return r.Plan
}

// overrides reads who has which plan.
func (p place) overrides(n *yaml.Node, plans map[string]ratelimit.Quota) assignment {
	elements := p.elements(n, "a list such as [{caller: [user, \"42\"], plan: block}]")
	assigned, lines := make(assignment, len(elements)), make(map[seawall.Key]int, len(elements))
	for i, element := range elements {
		in := p.item(i)
		values := in.fields(element, "caller", "key", "plan")
		if values == nil {
			continue
		}
		plan := in.plan(element, values["plan"], plans)
		key, ok := in.who(element, values["caller"], values["key"])
		if !ok {
			continue
		}
		if first, twice := lines[key]; twice {
			in.wrong(element.Line, " is about the same caller as line %d; want each caller once", first)
			continue
		}
		assigned[key], lines[key] = plan, element.Line
	}
	return assigned
}

func (p place) plan(of, n *yaml.Node, plans map[string]ratelimit.Quota) string {
	p = p.at("plan")
	if n == nil {
		p.missing(of.Line, "a name of plans, allow or block")
		return ""
	}
	_, known := plans[n.Value]
	if isText(n) && (known || n.Value == ratelimit.PlanAllow || n.Value == ratelimit.PlanBlock) {
		return n.Value
	}
	p.is(n, "%s", wish{n.Value, func() []string {
		return append([]string{ratelimit.PlanAllow, ratelimit.PlanBlock}, slices.Sorted(maps.Keys(plans))...)
	}})
	return ""
}

// who reads whom an override is about, by parts or by the key's text.
func (p place) who(of, caller, key *yaml.Node) (seawall.Key, bool) {
	switch {
	case caller != nil && key != nil:
		p.wrong(of.Line, " has both caller and key; want one of them")
	case caller != nil:
		return p.at("caller").caller(caller)
	case key != nil:
		return p.at("key").key(key)
	default:
		p.wrong(of.Line, " is about nobody; want caller, the parts as given to seawall.NewKey, or key, its text")
	}
	return seawall.Key{}, false
}

func (p place) caller(n *yaml.Node) (seawall.Key, bool) {
	const want = `a text, or a list of the parts as given to seawall.NewKey, such as [user, "42"]`
	if n.Kind != yaml.SequenceNode {
		part, ok := p.text(n, want)
		return seawall.NewKey(part), ok
	}
	if len(n.Content) == 0 {
		p.wrong(n.Line, " is an empty list; want %s", want)
		return seawall.Key{}, false
	}
	parts, good := make([]string, len(n.Content)), true
	for i, part := range n.Content {
		var ok bool
		parts[i], ok = p.item(i).text(part, "a text")
		good = good && ok
	}
	return seawall.NewKey(parts...), good
}

func (p place) key(n *yaml.Node) (seawall.Key, bool) {
	const want = `a key's text as logs and the store show it, such as "4.user2.42", each part after its length`
	text, ok := p.text(n, want)
	if !ok {
		return seawall.Key{}, false
	}
	key, err := seawall.ParseKey(text)
	if err != nil {
		p.is(n, want)
	}
	return key, err == nil
}
