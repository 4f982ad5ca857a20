package flags_test

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// These tests wait for timers most of the time, not for a processor.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const (
	soon = 5 * time.Second      // how long tests wait for what must happen
	poll = 2 * time.Millisecond // how often tests look
)

// values are flags that are on, with one variant each.
type values map[string]any

func (v values) flags() map[string]memprovider.InMemoryFlag {
	all := map[string]memprovider.InMemoryFlag{}
	for key, value := range v {
		all[key] = memprovider.InMemoryFlag{
			Key: key, State: memprovider.Enabled, DefaultVariant: "v", Variants: map[string]any{"v": value},
		}
	}
	return all
}

// mood is what happens when a provider is asked; nil is nothing special.
type mood func(ctx context.Context, key string) *openfeature.ResolutionError

// moody is a provider that misbehaves on demand.
type moody struct {
	*memprovider.InMemoryProvider
	mood  atomic.Pointer[mood]
	asked atomic.Int64
	now   atomic.Int64 // evaluations in progress
	most  atomic.Int64
}

func newMoody(v values) *moody {
	return &moody{InMemoryProvider: memprovider.NewInMemoryProvider(v.flags())}
}

func (p *moody) set(m mood) { p.mood.Store(&m) }

func (p *moody) be(ctx context.Context, key string) (openfeature.ProviderResolutionDetail, bool) {
	p.asked.Add(1)
	if n := p.now.Add(1); n > p.most.Load() {
		p.most.Store(n)
	}
	defer p.now.Add(-1)
	if m := p.mood.Load(); m != nil && *m != nil {
		if err := (*m)(ctx, key); err != nil {
			return openfeature.ProviderResolutionDetail{ResolutionError: *err, Reason: openfeature.ErrorReason}, true
		}
	}
	return openfeature.ProviderResolutionDetail{}, false
}

func (p *moody) BooleanEvaluation(ctx context.Context, key string, fallback bool, flat openfeature.FlattenedContext) openfeature.BoolResolutionDetail {
	if d, bad := p.be(ctx, key); bad {
		return openfeature.BoolResolutionDetail{Value: fallback, ProviderResolutionDetail: d}
	}
	return p.InMemoryProvider.BooleanEvaluation(ctx, key, fallback, flat)
}

func (p *moody) StringEvaluation(ctx context.Context, key, fallback string, flat openfeature.FlattenedContext) openfeature.StringResolutionDetail {
	if d, bad := p.be(ctx, key); bad {
		return openfeature.StringResolutionDetail{Value: fallback, ProviderResolutionDetail: d}
	}
	return p.InMemoryProvider.StringEvaluation(ctx, key, fallback, flat)
}

func (p *moody) FloatEvaluation(ctx context.Context, key string, fallback float64, flat openfeature.FlattenedContext) openfeature.FloatResolutionDetail {
	if d, bad := p.be(ctx, key); bad {
		return openfeature.FloatResolutionDetail{Value: fallback, ProviderResolutionDetail: d}
	}
	return p.InMemoryProvider.FloatEvaluation(ctx, key, fallback, flat)
}

// newAPI is an OpenFeature API with provider, if not nil, as its default.
func newAPI(t testing.TB, provider openfeature.FeatureProvider) *openfeature.EvaluationAPI {
	t.Helper()
	api := isolated.NewAPI()
	t.Cleanup(func() { _ = api.Shutdown(context.Background()) })
	if provider != nil {
		require.NoError(t, api.SetProviderAndWait(t.Context(), provider))
	}
	return api
}

// quiet is a logger that says nothing.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// follow makes Flags that follow provider.
func follow(t testing.TB, provider openfeature.FeatureProvider, cfg flags.Config) *flags.Flags {
	t.Helper()
	cfg.Client = newAPI(t, provider).NewClient()
	return start(t, cfg)
}

func start(t testing.TB, cfg flags.Config) *flags.Flags {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * soon // a busy machine is not what these tests are about
	}
	f, err := flags.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// becomes waits for a gate to have a mode.
func becomes(t testing.TB, want seawall.Mode, g seawall.Gate, msg ...any) {
	t.Helper()
	require.Eventually(t, func() bool { return g(nil) == want }, soon, poll, msg...)
}

// logbook is a slog.Handler that keeps what is logged.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) Enabled(context.Context, slog.Level) bool { return true }
func (l *logbook) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logbook) WithGroup(string) slog.Handler            { return l }
func (l *logbook) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

// count is how many lines contain text.
func (l *logbook) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// write writes a file in place: for a moment it is empty.
func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// replace writes a file so that it is never seen by halves.
func replace(t testing.TB, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	require.NoError(t, os.Rename(path+".new", path))
}

// modeFile is a flag file that gives the ratelimit layer a mode.
func modeFile(mode string) string {
	return `{"flags": {
  "seawall-ratelimit-mode": {
    "state": "ENABLED",
    "variants": {"on": "enforce", "dark": "log-only", "bad": "enforcee"},
    "defaultVariant": "` + mode + `"
  }
}}
`
}
