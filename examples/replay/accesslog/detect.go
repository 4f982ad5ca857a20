package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// headSize and headLines are how much of a log's beginning tells its format.
	headSize  = 64 << 10
	headLines = 500
)

// head is the beginning of a log.
type head struct {
	lines int            // that are not empty
	first string         // line, made printable
	fits  map[string]int // how many lines each format fits
}

// newHead tries all formats on whole lines of text.
func newHead(text []byte) head {
	h := head{fits: map[string]int{}}
	parsers := map[string]parser{}
	for _, format := range Formats() {
		parsers[format], _ = newParser(format, "") // without a field there is nothing to refuse
	}
	from := newLines(bytes.NewReader(text), len(text)+1)
	for h.lines < headLines {
		line, _, err := from.next()
		if err != nil {
			break
		}
		if h.lines++; h.lines == 1 {
			h.first = printable(line)
		}
		for format, p := range parsers {
			if p.parse(line, &Entry{Took: -1}) == "" {
				h.fits[format]++
			}
		}
	}
	return h
}

// best is the format that most lines fit; "" if none fits any.
func (h *head) best() string {
	best := ""
	for _, format := range Formats() {
		if h.fits[format] > h.fits[best] {
			best = format
		}
	}
	return best
}

// unknown is the error of a log that no format fits.
func (h *head) unknown() error {
	if h.lines == 0 {
		return errNoLine
	}
	return fmt.Errorf("no format fits one of the first %d lines, which begin with \"%s\"; want a log in one of the formats %s",
		h.lines, h.first, strings.Join(Formats(), ", "))
}

// other names the format to be wanted in place of one that fits nothing.
func (h *head) other(format string) string {
	best := h.best()
	if best == "" || best == format {
		return "want a log in one of the formats " + strings.Join(Formats(), ", ")
	}
	return fmt.Sprintf("%d of the first %d are %q: want -format %s", h.fits[best], h.lines, best, best)
}

// peek returns the whole lines that a log begins with, at least one if it has any, and leaves them to be read.
func (l *lines) peek() ([]byte, error) {
	text, err := l.r.Peek(headSize)
	if bytes.IndexByte(text, '\n') < 0 && err == nil {
		text, err = l.r.Peek(l.r.Size())
	}
	if errors.Is(err, io.EOF) {
		return text, nil
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], err
}
