package flags

import (
	"encoding/json"
	"fmt"
)

// flagFile turns the text of a flag file into flags. It is strict, since what a misspelt property says
// would otherwise pass for a default.
type flagFile struct {
	filePath
	outcomesSeen *int // so far, see maxOutcomes
}

// parseFile returns the flags of a file in flagd's format. Its errors begin with "path:line: ".
func parseFile(path string, data []byte) (fileFlags, error) {
	root, err := readJSON(path, data)
	if err != nil {
		return nil, err
	}
	p := flagFile{filePath: filePath(path), outcomesSeen: new(int)}
	members, ok := root.value.([]member)
	if !ok {
		return nil, p.wrong(root.line, `the file is %s; want an object {"flags": {...}}`, root.kind())
	}
	var flags *member
	var evaluators map[string]*sharedRule // which flags refer to, wherever they are in the file
	for _, m := range members {
		switch m.name {
		case "flags":
			flags = &m
		case "$evaluators":
			if evaluators, err = p.readEvaluators(m); err != nil {
				return nil, err
			}
		case "$schema", "metadata":
		default:
			return nil, p.wrong(m.nameLine, "unknown property %q; want flags, $schema, $evaluators or metadata", m.name)
		}
	}
	if flags == nil {
		return nil, p.wrong(root.line, `there are no flags; want an object {"flags": {...}}`)
	}
	return p.flags(*flags, evaluators)
}

func (p flagFile) flags(all member, evaluators map[string]*sharedRule) (fileFlags, error) {
	members, ok := all.value.([]member)
	if !ok {
		return nil, p.wrong(all.line, "flags is %s; want an object with a property for each flag", all.kind())
	}
	flags := make(fileFlags, len(members))
	for _, m := range members {
		flag, err := p.flag(m, evaluators)
		if err != nil {
			return nil, err
		}
		flags[m.name] = flag
	}
	return flags, nil
}

func (p flagFile) flag(m member, evaluators map[string]*sharedRule) (*fileFlag, error) {
	flag := &fileFlag{line: m.nameLine}
	properties, ok := m.value.([]member)
	if !ok {
		return nil, p.wrong(m.line, "flag %q is %s; want an object with state, variants and defaultVariant", m.name, m.kind())
	}
	var err error
	var state, variant, targeting *member
	for _, prop := range properties {
		switch prop.name {
		case "state":
			state = &prop
			flag.disabled, err = p.disabled(m.name, prop)
		case "variants":
			flag.variants, err = p.variants(m.name, prop)
		case "defaultVariant":
			variant = &prop
		case "targeting":
			targeting = &prop
		case "metadata":
		default:
			err = p.wrong(prop.nameLine, "flag %q has an unknown property %q; want state, variants, defaultVariant, targeting or metadata",
				m.name, prop.name)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case state == nil:
		return nil, p.wrong(m.nameLine, "flag %q has no state; want \"ENABLED\" or \"DISABLED\"", m.name)
	case flag.variants == nil:
		return nil, p.wrong(m.nameLine, "flag %q has no variants; want an object with at least one", m.name)
	case variant == nil:
		return nil, p.wrong(m.nameLine, "flag %q has no defaultVariant; want the name of one of its variants", m.name)
	}
	flag.defaultVariant, ok = variant.value.(string)
	if !ok {
		return nil, p.wrong(variant.line, "defaultVariant of flag %q is %s; want a string", m.name, variant.kind())
	}
	if !flag.has(flag.defaultVariant) {
		return nil, p.wrong(variant.line, "defaultVariant of flag %q is %q; want the name of one of its variants", m.name, flag.defaultVariant)
	}
	if targeting != nil {
		flag.targeting, err = p.targeting(m.name, *targeting, flag, evaluators)
	}
	return flag, err
}

func (p flagFile) disabled(flag string, m member) (bool, error) {
	text, ok := m.value.(string)
	switch {
	case !ok:
		return false, p.wrong(m.line, "state of flag %q is %s; want \"ENABLED\" or \"DISABLED\"", flag, m.kind())
	case text != "ENABLED" && text != "DISABLED":
		return false, p.wrong(m.line, "state of flag %q is %q; want \"ENABLED\" or \"DISABLED\"", flag, text)
	default:
		return text == "DISABLED", nil
	}
}

func (p flagFile) variants(flag string, all member) (map[string]any, error) {
	members, ok := all.value.([]member)
	if !ok || len(members) == 0 {
		return nil, p.wrong(all.line, "variants of flag %q: want an object with at least one", flag)
	}
	variants := make(map[string]any, len(members))
	for _, m := range members {
		switch m.value.(type) {
		case bool, string, json.Number, []member:
		default:
			return nil, p.wrong(m.line, "variant %q of flag %q is %s; want a boolean, a string, a number or an object", m.name, flag, m.kind())
		}
		if m.kind() != members[0].kind() {
			return nil, p.wrong(m.line, "variant %q of flag %q is %s but %q is %s; want variants of one type",
				m.name, flag, m.kind(), members[0].name, members[0].kind())
		}
		v, err := m.plain()
		if err != nil {
			return nil, p.wrong(m.line, "variant %q of flag %q: %v; want a number that a float64 can hold", m.name, flag, err)
		}
		variants[m.name] = v
	}
	return variants, nil
}

// targeting returns the rule of a flag, nil if there is none: null and an empty object are none.
func (p flagFile) targeting(name string, m member, flag *fileFlag, evaluators map[string]*sharedRule) (*rule, error) {
	operations, ok := m.value.([]member)
	switch {
	case m.value == nil || ok && len(operations) == 0:
		return nil, nil
	case !ok:
		return nil, p.wrong(m.line, "targeting of flag %q is %s; want an object with one operator", name, m.kind())
	}
	r := ruleReader{flagFile: p, subject: fmt.Sprintf("targeting of flag %q", name), evaluators: evaluators}
	read, err := r.rule(m.node, 0)
	if err != nil {
		return nil, err
	}
	if err := r.outcomes(m.node, flag); err != nil {
		return nil, err
	}
	return &read, nil
}
