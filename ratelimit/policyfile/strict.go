package policyfile

import "go.yaml.in/yaml/v4"

// strict reports what YAML allows and policy files do not: anchors and aliases, which can make a small file an
// immense one; tags, which make a text what it does not look like; and keys that are no texts or that a map has
// twice, of which nobody knows which one counts.
func (r *report) strict(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.add(n.Line, "there is an alias, %q; want the value itself, or quotes around a text that begins with '*'", cut("*"+n.Value))
		return
	case n.Anchor != "":
		r.add(n.Line, "there is an anchor, %q; want none, or quotes around a text that begins with '&'", cut("&"+n.Anchor))
	case n.Style&yaml.TaggedStyle != 0 || n.Tag == "!":
		r.add(n.Line, "there is a tag, %q; want none, or quotes around a text that begins with '!'", cut(n.Tag))
	}
	if n.Kind == yaml.MappingNode {
		r.uniqueKeys(n)
	}
	for _, child := range n.Content {
		r.strict(child)
	}
}

func (r *report) uniqueKeys(n *yaml.Node) {
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if !isText(key) {
			if key.Kind != yaml.AliasNode { // said already
				r.add(key.Line, "a key is %s; want a text, in quotes if need be", describe(key))
			}
			continue
		}
		if first, twice := lines[key.Value]; twice {
			r.add(key.Line, "key %q occurs twice, first on line %d; want each key once", cut(key.Value), first)
			continue
		}
		lines[key.Value] = key.Line
	}
}
