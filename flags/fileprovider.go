package flags

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/seawall-go/seawall/flags/filewatch"
)

const providerName = "SeawallFileProvider"

// FileProvider is an OpenFeature provider that serves the flags of a local file in flagd's format, targeting
// included. It follows the file, however it is changed: written, replaced, swapped through symbolic links as
// Kubernetes does, removed and made again. A change is seen within about a second, mostly much sooner. While
// the file cannot be read or is invalid, the flags it last had stay.
type FileProvider struct {
	path   string
	log    *slog.Logger
	errors atomic.Int64
	flags  atomic.Pointer[fileFlags] // what is served
	events chan openfeature.Event    // has room for one, which tells all that changed since it was last read

	mu      sync.Mutex
	problem error

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
	flags, err := parseFile(path, data)
	if err != nil {
		return nil, err
	}
	p := &FileProvider{path: path, log: logger, events: make(chan openfeature.Event, 1)}
	p.flags.Store(&flags)
	p.file = filewatch.Follow(path, data, p.changed, func(err error) {
		logger.Info("seawall: changes of the flag file are seen a little later: no file notifications",
			"file", path, "error", err.Error())
	})
	return p, nil
}

// Metadata implements openfeature.FeatureProvider.
func (p *FileProvider) Metadata() openfeature.Metadata {
	return openfeature.Metadata{Name: providerName}
}

// Hooks implements openfeature.FeatureProvider; there are none.
func (p *FileProvider) Hooks() []openfeature.Hook { return nil }

// BooleanEvaluation implements openfeature.FeatureProvider.
func (p *FileProvider) BooleanEvaluation(
	_ context.Context, flag string, fallback bool, attributes openfeature.FlattenedContext,
) openfeature.BoolResolutionDetail {
	return evaluate(*p.flags.Load(), flag, fallback, attributes, is[bool])
}

// StringEvaluation implements openfeature.FeatureProvider.
func (p *FileProvider) StringEvaluation(
	_ context.Context, flag, fallback string, attributes openfeature.FlattenedContext,
) openfeature.StringResolutionDetail {
	return evaluate(*p.flags.Load(), flag, fallback, attributes, is[string])
}

// FloatEvaluation implements openfeature.FeatureProvider.
func (p *FileProvider) FloatEvaluation(
	_ context.Context, flag string, fallback float64, attributes openfeature.FlattenedContext,
) openfeature.FloatResolutionDetail {
	return evaluate(*p.flags.Load(), flag, fallback, attributes, asFloat)
}

// IntEvaluation implements openfeature.FeatureProvider.
func (p *FileProvider) IntEvaluation(
	_ context.Context, flag string, fallback int64, attributes openfeature.FlattenedContext,
) openfeature.IntResolutionDetail {
	return evaluate(*p.flags.Load(), flag, fallback, attributes, is[int64])
}

// ObjectEvaluation implements openfeature.FeatureProvider. It answers with variants of every type.
func (p *FileProvider) ObjectEvaluation(
	_ context.Context, flag string, fallback any, attributes openfeature.FlattenedContext,
) openfeature.InterfaceResolutionDetail {
	return evaluate(*p.flags.Load(), flag, fallback, attributes, is[any])
}

// EventChannel implements openfeature.EventHandler.
func (p *FileProvider) EventChannel() <-chan openfeature.Event { return p.events }

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

// changed serves a new content of the file, or notes that there is none. The follower calls it, one call at a
// time.
func (p *FileProvider) changed(data []byte, err error) {
	var flags fileFlags
	if err == nil {
		flags, err = parseFile(p.path, data)
	}
	if err != nil {
		p.fail(err)
		return
	}
	if p.setProblem(nil) != nil {
		p.log.Info("seawall: the flag file is good again", "file", p.path)
	}
	old := p.flags.Swap(&flags)
	p.tell(slices.AppendSeq(slices.Collect(maps.Keys(*old)), maps.Keys(flags)))
}

// tell says that flags may have changed. An event that nobody has read yet becomes part of this one, so the
// channel always has room.
func (p *FileProvider) tell(keys []string) {
	select {
	case unread := <-p.events:
		keys = append(keys, unread.FlagChanges...)
	default:
	}
	slices.Sort(keys)
	p.events <- openfeature.Event{
		ProviderName: providerName, EventType: openfeature.ProviderConfigChange,
		ProviderEventDetails: openfeature.ProviderEventDetails{
			Message: "the flag file has changed", FlagChanges: slices.Compact(keys),
		},
	}
}

// Keys returns the keys of the flags that are served now, sorted.
func (p *FileProvider) Keys() []string { return slices.Sorted(maps.Keys(*p.flags.Load())) }

// Where returns "path:line: " of a flag, or "" if it is not in the file.
func (p *FileProvider) Where(flag string) string {
	if f, ok := (*p.flags.Load())[flag]; ok {
		return fmt.Sprintf("%s:%d: ", p.path, f.line)
	}
	return ""
}

// fail counts and logs a problem.
func (p *FileProvider) fail(err error) {
	_ = p.setProblem(err)
	p.errors.Add(1)
	p.log.Warn("seawall: the flag file is unusable; its last good flags stay", "file", p.path, "error", err.Error())
}

// setProblem returns the one before.
func (p *FileProvider) setProblem(err error) (before error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.problem = p.problem, err
	return before
}
