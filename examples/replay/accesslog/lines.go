package accesslog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxLine is how long a line may be.
	maxLine = 1 << 20
	// maxText is how many characters of a bad line are shown.
	maxText = 80
)

// lines reads the lines of a text that are not empty.
type lines struct {
	r      *bufio.Reader
	number int64 // of the last line, from 1 and empty ones included
	err    error // that ends the text
}

// newLines returns one that holds as much in memory.
func newLines(r io.Reader, size int) lines { return lines{r: bufio.NewReaderSize(r, size)} }

// next returns a line without its end. It is valid until the next call. Of one that is longer than fits, there is the
// beginning. What an error cuts off is no line.
func (l *lines) next() (line []byte, long bool, err error) {
	for l.err == nil {
		line, l.err = l.r.ReadSlice('\n')
		l.number++
		if long = errors.Is(l.err, bufio.ErrBufferFull); long {
			line = bytes.Clone(line[:maxText+1])
			l.skip()
		}
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			break
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if l.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if len(line) > 0 && line[0] == 0 {
			line = bytes.TrimLeft(line, "\x00") // so begins what follows a crash
		}
		if len(line) > 0 || long {
			return line, long || len(line) > maxLine, nil
		}
	}
	return nil, false, l.err
}

// skipHole skips the zeros that a file begins with which was truncated while it was written: as many as it had before.
func (l *lines) skipHole() {
	for {
		text, _ := l.r.Peek(max(1, l.r.Buffered())) // an error comes again
		n := len(text) - len(bytes.TrimLeft(text, "\x00"))
		_, _ = l.r.Discard(n) // they are in memory
		if n == 0 || n < len(text) {
			return
		}
	}
}

// skip reads to the end of a long line.
func (l *lines) skip() {
	for l.err = bufio.ErrBufferFull; errors.Is(l.err, bufio.ErrBufferFull); {
		_, l.err = l.r.ReadSlice('\n')
	}
}

// printable returns how a line begins, as ASCII without control characters.
func printable(line []byte) string {
	text := make([]byte, 0, maxText+4)
	for _, c := range line {
		if c < ' ' || c > '~' {
			text = fmt.Appendf(text, `\x%02x`, c)
		} else {
			text = append(text, c)
		}
		if len(text) > maxText {
			return string(text[:maxText-3]) + "..."
		}
	}
	return string(text)
}
