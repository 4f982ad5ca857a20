package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// ErrDone is the error of a log that was not read to its end because Options.Done was closed.
var ErrDone = errors.New("reading was ended")

// source is the file of a log. It counts what is read of it.
type source struct {
	io.Reader
	file *os.File // nil if it is not the log's to close
	size int64    // 0 if unknown
	read atomic.Int64
	done <-chan struct{} // no more is read when it is closed
}

// openSource opens a file; "-" is stdin.
func openSource(name string, stdin io.Reader) (*source, error) {
	if name == "-" {
		if stdin == nil {
			return nil, errors.New("there is no standard input; want a file")
		}
		return &source{Reader: stdin}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w; want a file, or - for standard input", errors.Unwrap(err))
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory; want a file, or - for standard input")
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	s := &source{Reader: file, file: file}
	if info.Mode().IsRegular() {
		s.size = info.Size()
	}
	return s, nil
}

// Read implements [io.Reader].
func (s *source) Read(p []byte) (int, error) {
	select {
	case <-s.done:
		return 0, ErrDone
	default:
	}
	n, err := s.Reader.Read(p)
	s.read.Add(int64(n))
	return n, err
}

// text returns what the file holds, decompressed if it begins like gzip.
func (s *source) text() (io.Reader, error) {
	stored := bufio.NewReaderSize(s, headSize)
	if magic, err := stored.Peek(2); err != nil || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return stored, nil // an error comes again
	}
	return gzip.NewReader(stored)
}

// Close closes the file.
func (s *source) Close() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}
