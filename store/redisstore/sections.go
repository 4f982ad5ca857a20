package redisstore

import (
	"strconv"
	"strings"
)

// sections splits a rule's script at its --@ lines.
func sections(script string) map[string]string {
	parts := map[string]string{}
	name, done := "", map[string]bool{}
	for line := range strings.Lines(script) {
		if rest, ok := strings.CutPrefix(line, "--@"); ok {
			done[name] = true
			name = strings.TrimSpace(rest)
			continue
		}
		if name != "" && !done[name] && !strings.HasPrefix(line, "--") && strings.TrimSpace(line) != "" {
			parts[name] += line
		}
	}
	return parts
}

// vocabulary says what the placeholders of a section stand for.
type vocabulary struct {
	key, capacity string
	suffix        string // of local variables
	spilled       bool   // they are fields of a table
	arg           func(k int) string
	usedCapacity  bool
}

// fill replaces the placeholders of a section: a '$' and the letters and digits behind it. One that has none
// stays, as the end of a pattern.
func (v *vocabulary) fill(section string) string {
	var b strings.Builder
	if v.spilled {
		section = strings.ReplaceAll(section, "local $", "$")
	}
	for {
		before, rest, found := strings.Cut(section, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n := 0
		for n < len(rest) && ('a' <= rest[n] && rest[n] <= 'z' || '0' <= rest[n] && rest[n] <= '9') {
			n++
		}
		if n == 0 {
			b.WriteByte('$')
		} else {
			b.WriteString(v.word(rest[:n]))
		}
		section = rest[n:]
	}
}

func (v *vocabulary) word(name string) string {
	if k, err := strconv.Atoi(name); err == nil {
		return v.arg(k)
	}
	switch name {
	case "key":
		return v.key
	case "capacity":
		v.usedCapacity = true
		return v.capacity
	}
	return v.local(name)
}

// local is what a local variable of the check is called.
func (v *vocabulary) local(name string) string {
	if v.spilled {
		name = "spill." + name
	}
	return name + v.suffix
}
