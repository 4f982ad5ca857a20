// Package measured reads and writes the records that long runs leave in the repository, as measured.json beside the code
// that measures.
package measured

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Read reads a committed record into what the pointer points to. An error names the target of the Makefile that writes it.
func Read(text []byte, into any, target string) error {
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	if err := from.Decode(into); err != nil {
		return fmt.Errorf("measured.json is no record, write a new one with make %s: %w", target, err)
	}
	return nil
}

// Write returns the text of a record, in which a line begins wherever one of these does.
func Write(record any, lines ...string) ([]byte, error) {
	text, err := json.Marshal(record)
	for _, begin := range lines {
		text = bytes.ReplaceAll(text, []byte(begin), []byte("\n"+begin))
	}
	return append(text, '\n'), err
}
