package accesslog

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// names are what formats call one thing, the best first.
type names []string

// object reads what is wanted of one JSON object after the other.
type object struct {
	things []names
	values [][]byte // the JSON of each thing; nil if absent
	ranks  []int    // of the name that a value was found by
}

func newObject(things ...names) object {
	return object{things: things, values: make([][]byte, len(things)), ranks: make([]int, len(things))}
}

// read looks at an object of valid JSON. What is null, empty or "-" is absent.
func (o *object) read(text []byte) {
	clear(o.values)
	for name, value := range members(text) {
		for i, names := range o.things {
			for rank, wanted := range names {
				if string(name) == wanted && (o.values[i] == nil || rank <= o.ranks[i]) && !absent(value) {
					o.values[i], o.ranks[i] = value, rank
				}
			}
		}
	}
}

// text is the value of a thing, if it is a text or a number; empty if not.
func (o *object) text(thing int) []byte { return scalar(o.values[thing]) }

// valid tells if a line is a JSON object.
func valid(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")) && json.Valid(line)
}

// lookup returns the value of a dotted name: of a member that has the whole name, or else of the rest of the name in the
// object of a member whose name it begins with. The text is valid JSON.
func lookup(text []byte, name string) []byte {
	var whole, inner []byte
	for member, value := range members(text) {
		rest, longer := strings.CutPrefix(name, string(member))
		switch {
		case longer && rest == "":
			whole = value
		case longer && rest[0] == '.' && value[0] == '{':
			if found := lookup(value, rest[1:]); found != nil {
				inner = found
			}
		}
	}
	if whole != nil {
		return whole
	}
	return inner
}

// field is the text of a dotted name's value; of a list that of its first element.
func field(text []byte, name string) []byte {
	if name == "" {
		return nil
	}
	value := lookup(text, name)
	if len(value) > 0 && value[0] == '[' {
		value = trim(value[1:])
		value = value[:extent(value)]
	}
	if absent(value) {
		return nil
	}
	return scalar(value)
}

// absent tells if a value stands for none.
func absent(value []byte) bool {
	switch string(value) {
	case "", "null", `""`, `"-"`:
		return true
	}
	return false
}

// scalar is a value as text; empty of lists and objects.
func scalar(value []byte) []byte {
	switch {
	case len(value) == 0 || value[0] == '{' || value[0] == '[':
		return nil
	case value[0] == '"':
		return unquote(value)
	}
	return value
}

// unquote returns the text that a JSON string stands for.
func unquote(value []byte) []byte {
	if bytes.IndexByte(value, '\\') >= 0 {
		var text string
		if json.Unmarshal(value, &text) == nil {
			return []byte(text)
		}
	}
	return value[1 : len(value)-1]
}

// members are the names and values of an object of valid JSON.
func members(text []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := trim(trim(text)[1:]); len(rest) > 0 && rest[0] == '"'; {
			n := extent(rest)
			name := unquote(rest[:n])
			rest = trim(rest[n:])
			n = extent(rest)
			if !yield(name, rest[:n]) {
				return
			}
			rest = trim(rest[n:])
		}
	}
}

// trim removes what may be between values.
func trim(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n,:") }

// extent is the length of the value that a text of valid JSON begins with; 0 at the end of a list.
func extent(text []byte) int {
	for i, depth := 0, 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += 1 + closing(text[i+1:])
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}
