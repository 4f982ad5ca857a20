package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// node is a JSON value that knows where it stands.
type node struct {
	line  int
	value any // nil, bool, string, json.Number, []node or []member
}

// member is a property of an object.
type member struct {
	node
	name     string
	nameLine int
}

// kind names the type of the value in words.
func (n node) kind() string {
	switch n.value.(type) {
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []node:
		return "an array"
	case []member:
		return "an object"
	}
	return "null"
}

// text is the value as it is written, as far as an error can show it.
func (n node) text() string {
	switch v := n.value.(type) {
	case string:
		return fmt.Sprintf("%.64q", v)
	case json.Number:
		return fmt.Sprintf("%.64s", v)
	case bool:
		return strconv.FormatBool(v)
	}
	return n.kind()
}

// filePath makes errors that say where in the file something is wrong.
type filePath string

func (p filePath) wrong(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", string(p), line, fmt.Sprintf(format, args...))
}

// jsonReader reads a JSON text into nodes.
type jsonReader struct {
	filePath
	data   []byte
	tokens *json.Decoder
	offset int64 // up to where lines have been counted
	line   int
}

// readJSON returns the root of a JSON text. Its errors begin with "path:line: ", and a property that occurs
// twice is one: of two flags with one key, which would win?
func readJSON(path string, data []byte) (node, error) {
	r := &jsonReader{filePath: filePath(path), data: data, tokens: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.tokens.UseNumber()
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			r.advance(syntax.Offset - 1) // the offset is behind the offending byte
		}
		return node{}, r.wrong(r.line, "invalid JSON: %v", err)
	}
	return r.read()
}

// advance makes line that of the byte at offset.
func (r *jsonReader) advance(offset int64) {
	if offset > r.offset {
		r.line += bytes.Count(r.data[r.offset:offset], []byte("\n"))
		r.offset = offset
	}
}

// read reads the next value.
func (r *jsonReader) read() (node, error) {
	token, err := r.tokens.Token()
	if err != nil {
		return node{}, r.wrong(r.line, "invalid JSON: %v", err)
	}
	r.advance(r.tokens.InputOffset()) // the token's end, which is on the same line as its beginning
	n := node{line: r.line, value: token}
	switch token {
	case json.Delim('{'):
		n.value, err = r.object()
	case json.Delim('['):
		n.value, err = r.array()
	}
	return n, err
}

func (r *jsonReader) array() ([]node, error) {
	elements := []node{}
	for r.tokens.More() {
		n, err := r.read()
		if err != nil {
			return nil, err
		}
		elements = append(elements, n)
	}
	_, err := r.tokens.Token()
	return elements, err
}

func (r *jsonReader) object() ([]member, error) {
	members := []member{}
	lines := map[string]int{}
	for r.tokens.More() {
		name, err := r.read()
		if err != nil {
			return nil, err
		}
		m := member{name: name.value.(string), nameLine: name.line}
		if first, twice := lines[m.name]; twice {
			return nil, r.wrong(m.nameLine, "%q occurs twice, first on line %d; want each key once", m.name, first)
		}
		lines[m.name] = m.nameLine
		if m.node, err = r.read(); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	_, err := r.tokens.Token()
	return members, err
}

// plain returns the value without positions, as variants are kept: whole numbers as int64, since an int64 is
// turned into a float64 where one is asked for but not the other way round.
func (n node) plain() (any, error) {
	switch v := n.value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	case []node:
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = e.plain(); err != nil {
				return nil, err
			}
		}
		return list, nil
	case []member:
		object := make(map[string]any, len(v))
		for _, m := range v {
			var err error
			if object[m.name], err = m.plain(); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return n.value, nil
}
