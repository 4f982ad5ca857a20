package policyfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// fields returns the values of a map by key, of which all must be known; nil if it is no map.
func (p place) fields(n *yaml.Node, known ...string) map[string]*yaml.Node {
	all, ok := p.entries(n, "a map with the keys "+list(known, "and"))
	if !ok {
		return nil
	}
	values := make(map[string]*yaml.Node, len(all))
	for _, e := range all {
		meant := e.key
		if !slices.Contains(known, meant) {
			p.wrong(e.line, ": unknown key %q; want %s", cut(meant), wanted(meant, known))
			meant = nearest(meant, known) // which is not missing, too
		}
		if _, twice := values[meant]; !twice && meant != "" {
			values[meant] = e.value
		}
	}
	return values
}

type entry struct {
	key   string
	line  int
	value *yaml.Node
}

// entries returns a map's keys, which strict has checked, and values.
func (p place) entries(n *yaml.Node, want string) ([]entry, bool) {
	if n.Kind != yaml.MappingNode {
		p.is(n, "%s", want)
		return nil, false
	}
	all := make([]entry, 0, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		all = append(all, entry{n.Content[i].Value, n.Content[i].Line, n.Content[i+1]})
	}
	return all, true
}

// elements returns a list's elements.
func (p place) elements(n *yaml.Node, format string, args ...any) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		p.is(n, format, args...)
		return nil
	}
	return n.Content
}

// text returns a text. A number needs quotes to be one, so that 007 and 7 are not mistaken for each other.
func (p place) text(n *yaml.Node, want string) (string, bool) {
	if isText(n) {
		return n.Value, true
	}
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		want += fmt.Sprintf(" (in quotes, if %s is meant)", cut(n.Value))
	}
	p.is(n, "%s", want)
	return "", false
}

// choice returns the value that a text names.
func choice[T fmt.Stringer](p place, n *yaml.Node, values ...T) (chosen T) {
	var names []string
	for _, v := range values {
		if isText(n) && n.Value == v.String() {
			return v
		}
		names = append(names, v.String())
	}
	p.is(n, "%s", wanted(n.Value, names))
	return chosen
}

// whole returns a whole number from low to high. Underscores may group its digits. What other programs might
// take for octal, 010, is none.
func (p place) whole(n *yaml.Node, low, high int64) (int64, bool) {
	digits := strings.TrimPrefix(n.Value, "-")
	plain := n.Kind == yaml.ScalarNode && n.Style == 0 &&
		digits != "" && strings.Trim(digits, "0123456789_") == "" && digits[0] != '_' &&
		(digits[0] != '0' || digits == "0")
	if !plain {
		p.is(n, "a whole number from %d to %d", low, high)
		return 0, false
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64)
	if err != nil || v < low || v > high {
		p.is(n, "%d to %d", low, high)
		return 0, false
	}
	return v, true
}

// duration returns a duration in Go's notation, in front of which there may be days.
func (p place) duration(n *yaml.Node, want string) (time.Duration, bool) {
	if isText(n) {
		if d, ok := parseDuration(n.Value); ok {
			return d, true
		}
	}
	p.is(n, "%s", want)
	return 0, false
}
