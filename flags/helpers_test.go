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

// enter counts an evaluation in, and returns what counts it out.
func (p *moody) enter() (leave func()) {
	p.asked.Add(1)
	if n := p.now.Add(1); n > p.most.Load() {
		p.most.Store(n)
	}
	return func() { p.now.Add(-1) }
}

func (p *moody) be(ctx context.Context, key string) (openfeature.ProviderResolutionDetail, bool) {
	if m := p.mood.Load(); m != nil && *m != nil {
		if err := (*m)(ctx, key); err != nil {
			return openfeature.ProviderResolutionDetail{ResolutionError: *err, Reason: openfeature.ErrorReason}, true
		}
	}
	return openfeature.ProviderResolutionDetail{}, false
}

func (p *moody) BooleanEvaluation(ctx context.Context, key string, fallback bool, flat openfeature.FlattenedContext) openfeature.BoolResolutionDetail {
	defer p.enter()()
	if d, bad := p.be(ctx, key); bad {
		return openfeature.BoolResolutionDetail{Value: fallback, ProviderResolutionDetail: d}
	}
	return p.InMemoryProvider.BooleanEvaluation(ctx, key, fallback, flat)
}

func (p *moody) StringEvaluation(ctx context.Context, key, fallback string, flat openfeature.FlattenedContext) openfeature.StringResolutionDetail {
	defer p.enter()()
	if d, bad := p.be(ctx, key); bad {
		return openfeature.StringResolutionDetail{Value: fallback, ProviderResolutionDetail: d}
	}
	return p.InMemoryProvider.StringEvaluation(ctx, key, fallback, flat)
}

func (p *moody) FloatEvaluation(ctx context.Context, key string, fallback float64, flat openfeature.FlattenedContext) openfeature.FloatResolutionDetail {
	defer p.enter()()
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

// rule is the value of a flag for who asks: id is empty without a caller. What is an error is returned as one.
type rule func(id string, about openfeature.FlattenedContext) any

// rules are flags that are targeted.
type rules map[string]rule

// flags returns them together with others, which are not.
func (r rules) flags(others values) map[string]memprovider.InMemoryFlag {
	all := others.flags()
	for key, rule := range r {
		evaluate := func(_ memprovider.InMemoryFlag, about openfeature.FlattenedContext) (any, openfeature.ProviderResolutionDetail) {
			id, _ := about[openfeature.TargetingKey].(string)
			d := openfeature.ProviderResolutionDetail{Reason: openfeature.DefaultReason}
			if id != "" {
				d.Reason = openfeature.TargetingMatchReason
			}
			v := rule(id, about)
			if err, bad := v.(error); bad { // only with a value of the right type the provider leaves it at that
				v = any(strings.HasSuffix(key, "-enabled"))
				if strings.HasSuffix(key, "-mode") {
					v = ""
				}
				d.ResolutionError, d.Reason = openfeature.NewGeneralResolutionError(err.Error()), openfeature.ErrorReason
			}
			return v, d
		}
		all[key] = memprovider.InMemoryFlag{Key: key, State: memprovider.Enabled, ContextEvaluator: &evaluate}
	}
	return all
}

// one is a rule with one value for some callers, by name, and another for everybody else.
func one(value, others any, names ...string) rule {
	return func(id string, _ openfeature.FlattenedContext) any {
		for _, name := range names {
			if id == idOf(seawall.NewKey(name)) {
				return value
			}
		}
		return others
	}
}

func idOf(k seawall.Key) string { return "id-" + k.String() }

// from is a request of a caller.
func from(name string) *seawall.Request { return &seawall.Request{Key: seawall.NewKey(name)} }

// aim makes Flags that follow a provider of rules and others with targeting.
func aim(t testing.TB, r rules, others values, cfg flags.Config) (*moody, *flags.Flags) {
	t.Helper()
	p := newMoody(nil)
	p.UpdateFlags(r.flags(others))
	if cfg.Targeting == nil {
		cfg.Targeting = &flags.Targeting{CallerID: idOf}
	}
	polled := cfg.Interval > 0
	if !polled {
		cfg.Interval = time.Hour
	}
	f := follow(t, p, cfg)
	if !polled {
		idle(t, p, f) // the events of the beginning are over
	}
	return p, f
}

// comes waits for a gate to have a mode for r.
func comes(t testing.TB, want seawall.Mode, g seawall.Gate, r *seawall.Request, msg ...any) {
	t.Helper()
	require.Eventually(t, func() bool { return g(r) == want }, soon, poll, msg...)
}

// idle waits until nothing is evaluated and nobody waits to be.
func idle(t testing.TB, p *moody, f *flags.Flags) {
	t.Helper()
	quiet := 0
	asked := int64(-1)
	require.Eventually(t, func() bool {
		if now := p.asked.Load(); f.Busy() || p.now.Load() > 0 || now != asked {
			asked, quiet = now, 0
		}
		quiet++
		return quiet > 5
	}, soon, poll)
}
