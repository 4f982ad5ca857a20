package flags

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
)

const (
	// settleTime lets a burst of changes to the directory end in one reading.
	settleTime = 50 * time.Millisecond
	// rereadInterval finds what notifications miss: network file systems, a parent directory that is a
	// symbolic link to another one now, a directory that was made anew.
	rereadInterval = time.Second
)

// FileProvider is an OpenFeature provider that serves the flags of a local file in flagd's format, without
// targeting. It follows the file, however it is changed: written, replaced, swapped through symbolic links as
// Kubernetes does, removed and made again. A change is seen within about a second, mostly much sooner. While
// the file cannot be read or is invalid, the flags it last had stay.
type FileProvider struct {
	openfeature.FeatureProvider // evaluates: flags, without its means to change them
	flags                       *memprovider.InMemoryProvider

	path   string
	log    *slog.Logger
	errors atomic.Int64

	mu      sync.Mutex
	problem error
	lines   map[string]int // of the flags served

	seen    []byte // what was last read; run's alone
	closing sync.Once
	closed  chan struct{}
	stopped chan struct{}
}

var (
	_ openfeature.FeatureProvider = (*FileProvider)(nil)
	_ openfeature.EventHandler    = (*FileProvider)(nil)
	_ openfeature.StateHandler    = (*FileProvider)(nil)
	_ Source                      = (*FileProvider)(nil)
)

// NewFileProvider reads the file and follows it until Shutdown. A file that is invalid now is an error that
// begins with "path:line: ". A nil logger is slog.Default().
func NewFileProvider(path string, logger *slog.Logger) (*FileProvider, error) {
	if logger == nil {
		logger = slog.Default()
	}
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("flags: %w", err)
	}
	flags, lines, err := parseFile(path, data)
	if err != nil {
		return nil, err
	}
	memory := memprovider.NewInMemoryProvider(flags)
	p := &FileProvider{
		FeatureProvider: memory,
		flags:           memory,
		path:            path,
		log:             logger,
		seen:            data,
		lines:           lines,
		closed:          make(chan struct{}),
		stopped:         make(chan struct{}),
	}
	go p.run()
	return p, nil
}

// Metadata implements openfeature.FeatureProvider.
func (p *FileProvider) Metadata() openfeature.Metadata {
	return openfeature.Metadata{Name: "SeawallFileProvider"}
}

// EventChannel implements openfeature.EventHandler.
func (p *FileProvider) EventChannel() <-chan openfeature.Event { return p.flags.EventChannel() }

// Init implements openfeature.StateHandler; the flags are there already.
func (p *FileProvider) Init(openfeature.EvaluationContext) error { return nil }

// Shutdown stops following the file; the flags stay as they are. It is called by OpenFeature when the
// provider is replaced or the API shut down, and may be called more than once.
func (p *FileProvider) Shutdown() {
	p.closing.Do(func() { close(p.closed) })
	<-p.stopped
}

// Errors counts the times that the file came to be unreadable or invalid: once for each content.
func (p *FileProvider) Errors() int64 { return p.errors.Load() }

// Err says why the flags served are not those of the file, nil if they are.
func (p *FileProvider) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// run follows the file until Shutdown.
func (p *FileProvider) run() {
	defer close(p.stopped)
	var notes <-chan fsnotify.Event
	var failures <-chan error
	if w, err := watchDir(filepath.Dir(p.path)); err != nil {
		p.log.Info("seawall: changes of the flag file are seen a little later: no file notifications",
			"file", p.path, "error", err.Error())
	} else {
		defer w.Close()
		notes, failures = w.Events, w.Errors
	}
	reread := time.NewTicker(rereadInterval)
	defer reread.Stop()
	p.read() // what changed before the directory was watched
	var settled <-chan time.Time
	for {
		select {
		case <-p.closed:
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
			p.read()
		case <-reread.C:
			p.read()
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

// read serves the file's flags if its content is another one. It compares contents, not times and sizes,
// which two quick writes can have in common; flag files are small.
func (p *FileProvider) read() {
	data, err := readFile(p.path)
	if err != nil {
		if old := p.Err(); p.seen != nil || old == nil || old.Error() != err.Error() {
			p.fail(err)
		}
		p.seen = nil
		return
	}
	if p.seen != nil && bytes.Equal(data, p.seen) {
		return
	}
	p.seen = data
	flags, lines, err := parseFile(p.path, data)
	if err != nil {
		p.fail(err)
		return
	}
	p.accept(lines)
	p.flags.UpdateFlags(flags)
}

// accept notes that the file is good, and where its flags are.
func (p *FileProvider) accept(lines map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem, p.lines = nil, lines
}

// Where returns "path:line: " of a flag, or "" if it is not in the file.
func (p *FileProvider) Where(flag string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line, ok := p.lines[flag]; ok {
		return fmt.Sprintf("%s:%d: ", p.path, line)
	}
	return ""
}

// fail counts and logs a problem.
func (p *FileProvider) fail(err error) {
	p.setProblem(err)
	p.errors.Add(1)
	p.log.Warn("seawall: the flag file is unusable; its last good flags stay", "file", p.path, "error", err.Error())
}

func (p *FileProvider) setProblem(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
}
