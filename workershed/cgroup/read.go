package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// How much of a file is read. A control file has some 2 kB at most; mountinfo has a line for every mount, some 20,000 here.
const (
	maxControlFile = 64 << 10
	maxMountinfo   = 4 << 20
)

// tree is the files that are read. Names are absolute, as mountinfo has them.
type tree struct {
	files fs.FS
	proc  string // where procfs is
}

// inProc is the name of a file that the kernel keeps about this process.
func (t tree) inProc(name string) string { return path.Join("/", t.proc, "self", name) }

// within is how fs.FS calls a file.
func within(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}

// read returns what a file holds, which must not be more than maxSize bytes.
func (t tree) read(name string, maxSize int) ([]byte, error) {
	f, err := t.files.Open(within(name))
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	// One buffer that fits nearly every file, and a byte to see that there is no more.
	buf := bytes.NewBuffer(make([]byte, 0, 4<<10))
	if _, err := buf.ReadFrom(io.LimitReader(f, int64(maxSize)+1)); err != nil {
		return nil, unreadable(name, err)
	}
	if buf.Len() > maxSize {
		return nil, unexpected(name, buf.String(), fmt.Sprintf("at most %d bytes", maxSize))
	}
	return buf.Bytes(), nil
}

// text returns a control file's content without the line break.
func (t tree) text(name string) (string, error) {
	b, err := t.read(name, maxControlFile)
	return strings.TrimSpace(string(b)), err
}

// number returns the number that a control file holds.
func (t tree) number(name string) (uint64, error) {
	s, err := t.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, unexpected(name, s, "one whole number, 0 or more")
	}
	return n, nil
}

// keys returns the numbers of a flat keyed file, such as cpu.stat, in the order of keys.
func (t tree) keys(name string, keys ...string) ([]uint64, error) {
	b, err := t.read(name, maxControlFile)
	if err != nil {
		return nil, err
	}
	values := make([]uint64, len(keys))
	for i, key := range keys {
		value, ok := valueOf(string(b), key)
		if !ok {
			return nil, unexpected(name, string(b), "a line "+strconv.Quote(key+" <whole number>"))
		}
		values[i] = value
	}
	return values, nil
}

// valueOf finds the line "key <number>".
func valueOf(text, key string) (uint64, bool) {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			n, err := strconv.ParseUint(value, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// exists reports whether there is a file or directory of that name. That it cannot be seen is an error.
func (t tree) exists(name string) (bool, error) {
	_, err := fs.Stat(t.files, within(name))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, unreadable(name, err)
	}
}

// unreadable is a file that could not be read; errors.Is finds why.
func unreadable(name string, err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err // which repeats the name, without its first slash
	}
	return fmt.Errorf("cgroup: %s: %w; expected a file of Linux' control groups; where there are none, leave this signal out",
		name, err)
}

// unexpected is a file that holds something else than it should.
func unexpected(name, read, want string) error {
	const shown = 100
	if len(read) > shown {
		read = read[:shown] + "..."
	}
	return fmt.Errorf("cgroup: %s: read %q; expected %s", name, read, want)
}
