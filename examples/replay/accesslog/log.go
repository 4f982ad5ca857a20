package accesslog

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxBad is how many bad lines are kept.
const maxBad = 5

// notShown stands for the text of a line of a private log.
const notShown = "(not shown, since it may hold a key or a name)"

var errNoLine = errors.New("no line; want an access log")

// Log is an access log being read. Except for Position, it is for one goroutine at a time.
type Log struct {
	name   string
	source *source
	lines  lines
	format string
	parser parser
	hidden bool // what lines say
	read   int64
	bad    int64
	first  []BadLine
	other  string // what is wanted instead if no line is good
	ended  bool
	err    error
}

// Open opens a log; "-" is stdin, which is not closed. It may be compressed by gzip, also piece by piece. What is wrong with
// the options is an error here; what is wrong with the log's text is one of Err.
func Open(name string, stdin io.Reader, o Options) (*Log, error) {
	shown := name
	if name == "-" {
		shown = "standard input"
	}
	if err := checkFormat(o.Format); err != nil {
		return nil, err
	}
	from, err := openSource(name, stdin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	from.done = o.Done
	l := &Log{name: shown, source: from, hidden: o.Private}
	if err := l.begin(o); err != nil {
		from.Close()
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return l, nil
}

// begin finds out what is in the file. It returns what is wrong with the options.
func (l *Log) begin(o Options) (err error) {
	if o.Format != "" && o.Format != auto {
		l.format = o.Format
		if l.parser, err = newParser(l.format, o.Field); err != nil {
			return err
		}
	}
	text, broken := l.source.text()
	if broken != nil {
		l.end(broken)
		return nil
	}
	l.lines = newLines(text, maxLine+len("\r\n"))
	l.lines.skipHole()
	start, broken := l.lines.peek()
	for len(start) == 0 && broken == nil {
		if broken = l.tooLong(); broken == nil {
			start, broken = l.lines.peek()
		}
	}
	h := newHead(start)
	if h.lines == 0 && l.read > 0 {
		h.lines, h.first = int(l.read), l.first[0].Text
	}
	if l.hidden {
		h.first = notShown
	}
	if l.parser != nil {
		l.other = h.other(l.format)
		return nil
	}
	if l.format = h.best(); l.format == "" {
		if broken != nil && !errors.Is(broken, io.EOF) {
			l.end(broken)
		} else {
			l.fail(h.unknown())
		}
		return nil
	}
	l.parser, err = newParser(l.format, o.Field)
	return err
}

// Next reads the next request. It skips bad lines, and counts them. It is false at the end: see Err.
func (l *Log) Next(e *Entry) bool {
	for !l.ended {
		line, long, err := l.lines.next()
		if err != nil {
			l.end(err)
			break
		}
		l.read++
		why := longLine
		if !long {
			*e = Entry{Took: -1}
			if why = l.parser.parse(line, e); why == "" {
				return true
			}
		}
		l.isBad(line, why)
	}
	return false
}

// isBad counts a bad line.
func (l *Log) isBad(line []byte, why string) {
	if l.bad++; len(l.first) == maxBad {
		return
	}
	text := printable(line)
	if l.hidden {
		text = notShown
	}
	l.first = append(l.first, BadLine{Number: l.lines.number, Text: text, Why: why})
}

// tooLong takes in a line that the file begins with and that is too long to look at.
func (l *Log) tooLong() error {
	line, _, err := l.lines.next()
	if err == nil {
		l.read++
		l.isBad(line, longLine)
	}
	return err
}

// end notes why reading has ended: io.EOF, or what was wrong with the file.
func (l *Log) end(err error) {
	l.ended = true
	switch {
	case !errors.Is(err, io.EOF):
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the file is cut off: %w", err)
		}
		l.fail(fmt.Errorf("only %d lines, of %d bytes of the file, were read: %w", l.read, l.source.read.Load(), err))
	case l.source.read.Load() < l.source.size:
		l.fail(fmt.Errorf("only %d lines were read: the file had %d bytes, and became shorter while it was read", l.read, l.source.size))
	case l.read == 0:
		l.fail(errNoLine)
	case l.read == l.bad:
		l.fail(fmt.Errorf("0 of %d lines are %q; %s", l.read, l.format, l.other))
	}
}

// fail ends reading by an error.
func (l *Log) fail(err error) { l.ended, l.err = true, fmt.Errorf("%s: %w", l.name, err) }

// Err says why reading has ended too early, or that there was nothing to read: no line at all, or none in the format. It is
// nil at a proper end, and before the end.
func (l *Log) Err() error { return l.err }

// Lines is how many lines have been read, bad ones included. Empty lines are none.
func (l *Log) Lines() int64 { return l.read }

// Bad is how many of them are no requests, and the first five of those.
func (l *Log) Bad() (n int64, first []BadLine) { return l.bad, slices.Clone(l.first) }

// Format is the log's format; "" if none was recognised.
func (l *Log) Format() string { return l.format }

// Position is how many bytes of the file, as it is stored, have been read, of how many. The size is 0 if it is unknown: that
// of standard input is. It is safe to call from another goroutine.
func (l *Log) Position() (read, size int64) { return l.source.read.Load(), l.source.size }

// Close closes the file.
func (l *Log) Close() error { return l.source.Close() }
