package policyfile

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/seawall-go/seawall/flags/filewatch"
)

// Watcher keeps to a policy file. It is safe for concurrent use.
type Watcher struct {
	path  string
	apply func(*File) error
	log   *slog.Logger
	file  *filewatch.Follower

	mu      sync.Mutex
	problem error
}

// Watch applies the file, and applies it again whenever its content changes, until Close. It follows the file
// however it is changed: written, replaced, swapped through symbolic links as Kubernetes does, removed and made
// again. A change is seen within about a second, mostly much sooner.
//
// apply is called with valid files, by one goroutine at a time, and must not call Close; most often it is
//
//	func(f *policyfile.File) error { return limiter.Reload(f.Policies()) }
//
// While the file cannot be read, is invalid or is refused by apply, the policies it last had stay: that is
// logged once for each content, and told by [Watcher.Err]. What is wrong with the file now, when nothing was
// applied yet, is an error. A nil logger is slog.Default().
func Watch(path string, apply func(*File) error, logger *slog.Logger) (*Watcher, error) {
	if logger == nil {
		logger = slog.Default()
	}
	data, err := filewatch.Read(path)
	if err != nil {
		return nil, fmt.Errorf("policyfile: %w", err)
	}
	w := &Watcher{path: path, apply: apply, log: logger}
	if _, err := w.use(data); err != nil {
		return nil, err
	}
	w.file = filewatch.Follow(path, data, w.changed, func(err error) {
		logger.Info("seawall: changes of the policy file are seen a little later: no file notifications",
			"file", path, "error", err.Error())
	})
	return w, nil
}

// Close stops following the file; the policies stay as they are. It may be called more than once.
func (w *Watcher) Close() error {
	w.file.Close()
	return nil
}

// Err says why the policies in use are not those of the file, nil if they are.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.problem
}

// changed uses a new content, or notes that there is none.
func (w *Watcher) changed(data []byte, err error) {
	var f *File
	if err == nil {
		f, err = w.use(data)
	}
	w.mu.Lock()
	w.problem = err
	w.mu.Unlock()
	if err != nil {
		w.log.Warn("seawall: the policy file is unusable; its last good policies stay", "file", w.path, "error", err.Error())
		return
	}
	w.log.Info("seawall: the policy file has changed and counts", "file", w.path, "policies", len(f.policies))
}

// use applies a content. A panic of apply is an error: it must not end the program because a file changed.
func (w *Watcher) use(data []byte) (f *File, err error) {
	if f, err = Parse(w.path, data); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("%s: apply panics: %v", w.path, p)
		}
	}()
	if err := w.apply(f); err != nil {
		return nil, fmt.Errorf("%s: %w", w.path, err)
	}
	return f, nil
}
