package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seawall-go/seawall/flags/filewatch"

	"go.yaml.in/yaml/v4"
)

const (
	// maxFile bounds a policy file, in bytes, also one that was not read from a file.
	maxFile = filewatch.MaxSize
	// maxDepth bounds how deep lists and maps lie in each other; six are needed.
	maxDepth = 16
)

// readYAML returns the root of the only document, or nil if there is something to report: also of what YAML
// allows and a reader of the file would trip over.
func (r *report) readYAML(data []byte) *yaml.Node {
	r.lines = 1 + bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if !r.plainText(data) {
		return nil
	}
	root, second, err := loadYAML(data)
	var wrong *yaml.LoadError
	switch {
	case errors.As(err, &wrong):
		r.add(wrong.Mark.Line, "invalid YAML: %s", explain(wrong))
	case err != nil:
		r.add(1, "invalid YAML: %v", err)
	case root == nil:
		r.add(1, "the file is empty; want version and ratelimit")
	case second != nil:
		r.add(second.Line, "a second document begins; want one")
	default:
		r.strict(root)
	}
	if !r.empty() {
		return nil
	}
	return root
}

// plainText reports what the library either does not locate or takes too long for: the time that directives
// take grows with the square of their number.
func (r *report) plainText(data []byte) bool {
	if len(data) > maxFile {
		r.add(1, "the file has %d bytes; want at most %d", len(data), maxFile)
		return false
	}
	for line := 1; len(data) > 0 && r.empty(); line++ {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		text = bytes.TrimSuffix(text, []byte("\r"))
		switch {
		case !utf8.Valid(text):
			r.add(line, "this is not UTF-8")
		case bytes.ContainsFunc(text, unprintable):
			r.add(line, "there is a control character; want text")
		case bytes.HasPrefix(text, []byte("%")):
			r.add(line, "the line begins with '%%'; want no YAML directives")
		}
		data = rest
	}
	return r.empty()
}

// unprintable tells whether YAML forbids the character, or takes it for the end of a line, which editors do not.
func unprintable(c rune) bool {
	return unicode.IsControl(c) && c != '\t' || c == '\u2028' || c == '\u2029' || c == '\uFFFE' || c == '\uFFFF'
}

// loadYAML returns the roots of the first two documents, nil if there are none. A panic of the library is an
// error: it must not end the program that a file is watched in.
func loadYAML(data []byte) (first, second *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the library panics: %v", p)
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(limits{}))
	if err != nil {
		return nil, nil, err
	}
	var roots [2]*yaml.Node
	for i := range roots {
		var document yaml.Node
		if err := loader.Load(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		roots[i] = document.Content[0]
	}
	return roots[0], roots[1], nil
}

// limits implements yaml.LoaderLimitsPlugin.
type limits struct{}

// CheckDepth counts lists and maps in brackets and by indentation separately.
func (limits) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return fmt.Errorf("lists and maps lie more than %d deep in each other", maxDepth)
	}
	return nil
}

// CheckAlias has nothing to say: no alias is followed.
func (limits) CheckAlias(int, int) error { return nil }

// explain words an error of the library, less its line.
func explain(e *yaml.LoadError) string {
	text := e.Message
	switch {
	case e.ContextMsg == "while scanning an alias", e.ContextMsg == "while scanning an anchor", strings.HasPrefix(text, "unknown anchor"):
		text += "; put quotes around a text that begins with '*' or '&'"
	case e.ContextMsg == "while scanning for the next token":
		text += "; indent by spaces, and put quotes around a text that does not begin with a letter or digit"
	case e.ContextMark.Line > 0 && e.ContextMark.Line < e.Mark.Line && strings.HasPrefix(e.ContextMsg, "while parsing"),
		strings.HasPrefix(e.ContextMsg, "while scanning a"):
		text += fmt.Sprintf(", %s that begins on line %d", e.ContextMsg, e.ContextMark.Line)
	}
	return text
}
