package policyfile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seawall-go/seawall"
)

// place is where in a file's structure a value is, as errors name it.
type place struct {
	*report
	policy string // such as `policy "api": `, empty outside of policies
	path   string // such as "bucket.burst"
}

// at is the place of a field, and of a map's value.
func (p place) at(field string) place {
	switch {
	case p.path == "":
		p.path = field
	case seawall.ValidName("", field) == nil:
		p.path += "." + field
	default:
		p.path += fmt.Sprintf("[%q]", cut(field))
	}
	return p
}

// item is the place of a list's element.
func (p place) item(i int) place {
	p.path += "[" + strconv.Itoa(i) + "]"
	return p
}

// wrong reports something about the place.
func (p place) wrong(line int, format string, args ...any) {
	if p.enough() {
		return
	}
	text := fmt.Sprintf(format, args...)
	if p.path != "" {
		text = p.path + text
	} else {
		text = strings.TrimPrefix(text, ": ")
	}
	p.add(line, "%s%s", p.policy, text)
}

// is reports that the value of the place is none.
func (p place) is(n *yaml.Node, format string, args ...any) {
	if p.enough() {
		return
	}
	p.wrong(n.Line, " is %s; want %s", describe(n), fmt.Sprintf(format, args...))
}

// missing reports that the place, of a field without which the map on the line makes no sense, has no value.
func (p place) missing(line int, format string, args ...any) {
	if p.enough() {
		return
	}
	p.wrong(line, " is missing; want %s", fmt.Sprintf(format, args...))
}

// describe words a value as the file has it.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isText(n):
		return strconv.Quote(cut(n.Value))
	case n.Value == "":
		return "empty"
	}
	return cut(n.Value)
}

// cut shortens what errors quote.
func cut(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// isText tells whether a value is a text, and not a number, nothing, true or false.
func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!str" }
