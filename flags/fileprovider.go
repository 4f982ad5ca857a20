package flags

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"

	"github.com/seawall-go/seawall/flags/filewatch"
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

	file *filewatch.Follower
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
	data, err := filewatch.Read(path)
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
		lines:           lines,
	}
	p.file = filewatch.Follow(path, data, p.changed, func(err error) {
		logger.Info("seawall: changes of the flag file are seen a little later: no file notifications",
			"file", path, "error", err.Error())
	})
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
	p.file.Close()
}

// Errors counts the times that the file came to be unreadable or invalid: once for each content.
func (p *FileProvider) Errors() int64 { return p.errors.Load() }

// Err says why the flags served are not those of the file, nil if they are.
func (p *FileProvider) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// changed serves a new content of the file, or notes that there is none.
func (p *FileProvider) changed(data []byte, err error) {
	if err != nil {
		p.fail(err)
		return
	}
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
