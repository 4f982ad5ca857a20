// Package filewatch follows a small file of configuration, however it is changed: written, replaced, swapped
// through symbolic links as Kubernetes does, removed and made again. It knows no format.
package filewatch

import (
	"bytes"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime lets a burst of changes to the directory end in one reading.
	settleTime = 50 * time.Millisecond
	// rereadInterval finds what notifications miss: network file systems, a parent directory that is a
	// symbolic link to another one now, a directory that was made anew.
	rereadInterval = time.Second
)

// Follower reads a file again whenever it may have changed, until it is closed.
type Follower struct {
	path    string
	changed func(data []byte, err error)
	// seen is what changed was last told, and lost why there was none; run's alone.
	seen []byte
	lost string

	closing sync.Once
	closed  chan struct{}
	stopped chan struct{}
}

// Follow follows a file that had the content seen, nil if it was not read yet. changed is told each new content,
// or why there is none any more, once, by one goroutine; it must not call Close. deaf is told why if there are no
// notifications; changes are then found a second later at most. Whoever calls it owes a Close.
func Follow(path string, seen []byte, changed func([]byte, error), deaf func(error)) *Follower {
	f := &Follower{path: path, changed: changed, seen: seen, closed: make(chan struct{}), stopped: make(chan struct{})}
	go f.run(deaf)
	return f
}

// Close returns when changed is not called any more. It may be called more than once.
func (f *Follower) Close() {
	f.closing.Do(func() { close(f.closed) })
	<-f.stopped
}

func (f *Follower) run(deaf func(error)) {
	defer close(f.stopped)
	var notes <-chan fsnotify.Event
	var failures <-chan error
	if w, err := watchDir(filepath.Dir(f.path)); err != nil {
		deaf(err)
	} else {
		defer w.Close()
		notes, failures = w.Events, w.Errors
	}
	reread := time.NewTicker(rereadInterval)
	defer reread.Stop()
	f.read() // what changed before the directory was watched
	var settled <-chan time.Time
	for {
		select {
		case <-f.closed:
			return
		case _, open := <-notes: // of any file: what is behind a symbolic link has any name
			if !open {
				notes = nil
			} else if settled == nil { // the first note counts, or a busy directory would put it off for ever
				settled = time.After(settleTime)
			}
		case _, open := <-failures: // lost notes: the ticker makes up for them
			if !open {
				failures = nil
			}
		case <-settled:
			settled = nil
			f.read()
		case <-reread.C:
			f.read()
		}
	}
}

// watchDir watches the directory, not the file: a watch on a file stays with the one that was replaced.
func watchDir(dir string) (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := w.Add(dir); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// read compares contents, not times and sizes, which two quick writes can have in common.
func (f *Follower) read() {
	data, err := Read(f.path)
	switch {
	case err != nil && err.Error() != f.lost:
		f.seen, f.lost = nil, err.Error()
		f.changed(nil, err)
	case err == nil && (f.seen == nil || !bytes.Equal(data, f.seen)):
		f.seen, f.lost = data, ""
		f.changed(data, nil)
	}
}
