package flags

import (
	"encoding/json"

	"github.com/open-feature/go-sdk/openfeature/memprovider"
)

// flagFile turns the text of a flag file into flags. It is strict, since what a misspelt property says
// would otherwise pass for a default.
type flagFile struct{ filePath }

// parseFile returns the flags of a file in flagd's format, and the line of each. Its errors begin with
// "path:line: ".
func parseFile(path string, data []byte) (flags map[string]memprovider.InMemoryFlag, lines map[string]int, err error) {
	root, err := readJSON(path, data)
	if err != nil {
		return nil, nil, err
	}
	p := flagFile{filePath(path)}
	members, ok := root.value.([]member)
	if !ok {
		return nil, nil, p.wrong(root.line, `the file is %s; want an object {"flags": {...}}`, root.kind())
	}
	for _, m := range members {
		switch m.name {
		case "flags":
			if flags, lines, err = p.flags(m); err != nil {
				return nil, nil, err
			}
		case "$schema", "$evaluators", "metadata":
		default:
			return nil, nil, p.wrong(m.nameLine, "unknown property %q; want flags, $schema, $evaluators or metadata", m.name)
		}
	}
	if flags == nil {
		return nil, nil, p.wrong(root.line, `there are no flags; want an object {"flags": {...}}`)
	}
	return flags, lines, nil
}

func (p flagFile) flags(all member) (flags map[string]memprovider.InMemoryFlag, lines map[string]int, err error) {
	members, ok := all.value.([]member)
	if !ok {
		return nil, nil, p.wrong(all.line, "flags is %s; want an object with a property for each flag", all.kind())
	}
	flags, lines = make(map[string]memprovider.InMemoryFlag, len(members)), make(map[string]int, len(members))
	for _, m := range members {
		if flags[m.name], err = p.flag(m); err != nil {
			return nil, nil, err
		}
		lines[m.name] = m.nameLine
	}
	return flags, lines, nil
}

func (p flagFile) flag(m member) (memprovider.InMemoryFlag, error) {
	flag := memprovider.InMemoryFlag{Key: m.name}
	properties, ok := m.value.([]member)
	if !ok {
		return flag, p.wrong(m.line, "flag %q is %s; want an object with state, variants and defaultVariant", m.name, m.kind())
	}
	var err error
	var variant *member
	for _, prop := range properties {
		switch prop.name {
		case "state":
			flag.State, err = p.state(m.name, prop)
		case "variants":
			flag.Variants, err = p.variants(m.name, prop)
		case "defaultVariant":
			variant = &prop
		case "targeting":
			err = p.targeting(m.name, prop)
		case "metadata":
		default:
			err = p.wrong(prop.nameLine, "flag %q has an unknown property %q; want state, variants, defaultVariant, targeting or metadata",
				m.name, prop.name)
		}
		if err != nil {
			return flag, err
		}
	}
	switch {
	case flag.State == "":
		return flag, p.wrong(m.nameLine, "flag %q has no state; want \"ENABLED\" or \"DISABLED\"", m.name)
	case flag.Variants == nil:
		return flag, p.wrong(m.nameLine, "flag %q has no variants; want an object with at least one", m.name)
	case variant == nil:
		return flag, p.wrong(m.nameLine, "flag %q has no defaultVariant; want the name of one of its variants", m.name)
	}
	flag.DefaultVariant, ok = variant.value.(string)
	if !ok {
		return flag, p.wrong(variant.line, "defaultVariant of flag %q is %s; want a string", m.name, variant.kind())
	}
	if _, ok := flag.Variants[flag.DefaultVariant]; !ok {
		return flag, p.wrong(variant.line, "defaultVariant of flag %q is %q; want the name of one of its variants", m.name, flag.DefaultVariant)
	}
	return flag, nil
}

func (p flagFile) state(flag string, m member) (memprovider.State, error) {
	text, ok := m.value.(string)
	switch state := memprovider.State(text); {
	case !ok:
		return "", p.wrong(m.line, "state of flag %q is %s; want \"ENABLED\" or \"DISABLED\"", flag, m.kind())
	case state != memprovider.Enabled && state != memprovider.Disabled:
		return "", p.wrong(m.line, "state of flag %q is %q; want \"ENABLED\" or \"DISABLED\"", flag, text)
	default:
		return state, nil
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

func (p flagFile) targeting(flag string, m member) error {
	if rules, ok := m.value.([]member); m.value == nil || ok && len(rules) == 0 {
		return nil
	}
	return p.wrong(m.nameLine, "flag %q: targeting is not supported by the file provider: remove it or use flagd", flag)
}
