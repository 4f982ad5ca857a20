package flags_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fails is a mood that answers every question with an error.
func fails(text string) mood {
	return func(context.Context, string) *openfeature.ResolutionError {
		err := openfeature.NewGeneralResolutionError(text)
		return &err
	}
}

// hangs is a mood that ignores its context; it lasts until the test ends or release is called.
func hangs(t testing.TB) (m mood, release func()) {
	released := make(chan struct{})
	var done atomic.Bool
	release = func() {
		if !done.Swap(true) {
			close(released)
		}
	}
	t.Cleanup(release)
	return func(context.Context, string) *openfeature.ResolutionError {
		<-released
		return nil
	}, release
}

// hangsAt is hangs over one flag, until the test ends.
func hangsAt(t testing.TB, flag string) mood {
	hang, _ := hangs(t)
	return func(ctx context.Context, key string) *openfeature.ResolutionError {
		if key == flag {
			return hang(ctx, key)
		}
		return nil
	}
}

func TestAProviderThatFailsLeavesTheLastGoodValues(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]mood{
		"errors": fails("backend away"),
		"panics": func(context.Context, string) *openfeature.ResolutionError { panic("backend away") },
		"respects its context": func(ctx context.Context, _ string) *openfeature.ResolutionError {
			<-ctx.Done()
			err := openfeature.NewGeneralResolutionError("backend away")
			return &err
		},
	} {
		p := newMoody(values{"seawall-ratelimit-mode": "log-only", "seawall-ratelimit-scale": 2.0})
		f := follow(t, p, flags.Config{Interval: 5 * time.Millisecond, Timeout: 50 * time.Millisecond})
		g := f.Gate("ratelimit", "")
		becomes(t, seawall.LogOnly, g, name)
		require.Eventually(t, func() bool { return f.Scale() == 2 && f.Err() == nil }, soon, poll, name)

		errors := f.Errors()
		p.set(bad)
		require.Eventually(t, func() bool { return f.Errors() > errors+25 }, soon, poll, name)
		p.UpdateFlags(nil)
		errors = f.Errors()
		require.Eventually(t, func() bool { return f.Errors() > errors+25 }, soon, poll, name)
		require.Eventually(t, func() bool { // flags are asked one after the other, and some take their time
			text := fmt.Sprint(f.Err())
			return strings.Contains(text, `flag "seawall-ratelimit-mode": `) && strings.Contains(text, "backend away")
		}, soon, poll, name)
		require.Equal(t, seawall.LogOnly, g(nil), name)
		require.Equal(t, 2.0, f.Scale(), name)
		require.Equal(t, seawall.Enforce, f.Gate("ratelimit", "new")(nil), name)

		p.set(nil)
		becomes(t, seawall.Enforce, g, name)
		require.Eventually(t, func() bool { return f.Err() == nil && f.Scale() == 1 }, soon, poll, name)
	}
}

func TestAProviderThatHangsForTwoSeconds(t *testing.T) {
	t.Parallel()
	p := newMoody(values{"seawall-ratelimit-mode": "log-only"})
	f := follow(t, p, flags.Config{Interval: 10 * time.Millisecond, Timeout: 50 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	becomes(t, seawall.LogOnly, g)

	var hanging atomic.Bool
	end := make(chan struct{}) // after two seconds, or more where it takes that long to see what is looked for
	p.set(func(context.Context, string) *openfeature.ResolutionError {
		hanging.Store(true)
		<-end
		return nil
	})
	began := time.Now()
	require.Eventually(t, hanging.Load, soon, poll)
	p.UpdateFlags(nil)
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	require.ErrorContains(t, f.Err(), "has not answered within 50ms")
	errors := f.Errors()
	require.Positive(t, errors)
	require.Eventually(t, func() bool { return f.Errors() > errors+3 }, soon, poll, "a hang goes on counting")
	require.Equal(t, seawall.LogOnly, g(nil))

	require.Eventually(t, func() bool { return time.Since(began) > 2*time.Second }, soon, poll)
	require.Equal(t, seawall.LogOnly, g(nil))
	close(end)
	becomes(t, seawall.Enforce, g)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
}

func TestALateAnswerCounts(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Hour, Timeout: 10 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	m, release := hangs(t)
	p.set(m)
	p.UpdateFlags(values{"seawall-ratelimit-enabled": false}.flags())
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	require.Equal(t, seawall.Enforce, g(nil))
	release()
	becomes(t, seawall.Off, g)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
}

func TestAProviderThatHangsForEver(t *testing.T) {
	t.Parallel()
	p := newMoody(values{"seawall-enabled": false})
	m, release := hangs(t)
	p.set(m)
	begun := time.Now()
	f := follow(t, p, flags.Config{
		Interval: time.Millisecond, Timeout: 300 * time.Millisecond,
		Defaults: map[string]seawall.Mode{"ratelimit": seawall.LogOnly},
	})
	took := time.Since(begun)
	require.GreaterOrEqual(t, took, 300*time.Millisecond, "New gives the provider its time")
	require.Less(t, took, 5*time.Second)

	begun = time.Now()
	require.Equal(t, seawall.LogOnly, f.Gate("ratelimit", "")(nil))
	var policy seawall.Gate
	for i := range 100 {
		policy = f.Gate("ratelimit", fmt.Sprint("p", i))
		require.Equal(t, seawall.Enforce, policy(nil))
	}
	require.Less(t, time.Since(begun), 5*time.Second, "gates do not wait for it once each")

	errors := f.Errors()
	require.Eventually(t, func() bool { return f.Errors() > errors+20 }, soon, poll)
	require.EqualValues(t, 1, p.asked.Load(), "it is not asked again before it has answered")
	require.ErrorContains(t, f.Err(), "has not answered within 300ms")

	begun = time.Now()
	require.NoError(t, f.Close())
	require.Less(t, time.Since(begun), 5*time.Second)
	errors = f.Errors()
	require.Never(t, func() bool { return f.Errors() != errors }, 20*time.Millisecond, poll)
	release()
}

func TestGatesMadeDuringAHangFollowLater(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Hour, Timeout: 300 * time.Millisecond})
	m, release := hangs(t)
	p.set(m)
	p.UpdateFlags(values{"seawall-ratelimit-login-mode": "log-only", "seawall-ratelimit-new-mode": "log-only"}.flags())
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	g := f.Gate("ratelimit", "login")
	require.Equal(t, seawall.Enforce, g(nil))
	release()
	becomes(t, seawall.LogOnly, g)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
	require.Equal(t, seawall.LogOnly, f.Gate("ratelimit", "new")(nil), "gates made after the hang wait for their flags again")
}

func TestAnEvaluationThatCloseCutsShortIsNoError(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Hour, Timeout: time.Minute, Logger: slog.New(log)})
	asked := p.asked.Load()
	p.set(func(ctx context.Context, _ string) *openfeature.ResolutionError {
		<-ctx.Done()
		err := openfeature.NewGeneralResolutionError("cancelled")
		return &err
	})
	p.UpdateFlags(nil)
	require.Eventually(t, func() bool { return p.now.Load() > 0 }, soon, poll)
	require.NoError(t, f.Close())
	require.Greater(t, p.asked.Load(), asked)
	require.Zero(t, f.Errors())
	require.NoError(t, f.Err())
	require.Zero(t, log.count(""))
}

func TestAHangingProviderDoesNotPileUpGoroutines(t *testing.T) {
	p := newMoody(nil)
	m, release := hangs(t)
	f := follow(t, p, flags.Config{Interval: time.Millisecond, Timeout: 2 * time.Millisecond})
	before := runtime.NumGoroutine()
	p.set(m)
	require.Eventually(t, func() bool { return f.Errors() > 100 }, 2*soon, poll)
	require.LessOrEqual(t, runtime.NumGoroutine(), before+3)
	release()
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
	require.EqualValues(t, 1, p.most.Load())
}

func TestEventsDoNotWaitForAHangingProvider(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	client := &handlers{Client: newAPI(t, p).NewClient()}
	f := start(t, flags.Config{Client: client, Interval: time.Hour, Timeout: 10 * time.Millisecond})
	m, release := hangs(t)
	p.set(m)
	begun := time.Now()
	for range 1000 {
		for _, cb := range client.added {
			(*cb)(openfeature.EventDetails{})
		}
	}
	require.Less(t, time.Since(begun), time.Second)
	asked := p.asked.Load()
	release()
	require.Eventually(t, func() bool { return p.asked.Load() >= asked+10 }, soon, poll)
	require.NoError(t, f.Close())
	require.LessOrEqual(t, p.asked.Load(), asked+50, "thousands of events are few evaluations")
	require.ElementsMatch(t, client.types, client.removed, "Close removes every handler")
	require.Len(t, client.types, 4)
}

// handlers is a client that keeps the handlers added.
type handlers struct {
	flags.Client
	added          []openfeature.EventCallback
	types, removed []openfeature.EventType
}

func (h *handlers) AddHandler(t openfeature.EventType, cb openfeature.EventCallback) {
	h.added, h.types = append(h.added, cb), append(h.types, t)
}

func (h *handlers) RemoveHandler(t openfeature.EventType, cb openfeature.EventCallback) {
	if slices.Contains(h.added, cb) {
		h.removed = append(h.removed, t)
	}
}

func TestWithoutAProviderTheDefaultsHold(t *testing.T) {
	t.Parallel()
	f := follow(t, nil, flags.Config{Defaults: map[string]seawall.Mode{"ratelimit": seawall.LogOnly, "fleetshed": seawall.Off}})
	assert.Equal(t, seawall.LogOnly, f.Gate("ratelimit", "")(nil))
	assert.Equal(t, seawall.Enforce, f.Gate("concurrency", "")(nil))
	assert.Equal(t, seawall.Off, f.Gate("fleetshed", "")(nil))
	assert.Equal(t, 1.0, f.Scale())
	assert.Zero(t, f.Errors())
	require.NoError(t, f.Err())
}

func TestAProviderThatIsSetLateAndReplaced(t *testing.T) {
	t.Parallel()
	api := newAPI(t, nil)
	domain := openfeature.WithDomain("payments")
	f := start(t, flags.Config{Client: api.NewClient(domain), Interval: time.Hour})
	g := f.Gate("ratelimit", "")
	require.Equal(t, seawall.Enforce, g(nil))

	require.NoError(t, api.SetProviderAndWait(t.Context(), newMoody(values{"seawall-ratelimit-enabled": false}), domain))
	becomes(t, seawall.Off, g)
	replacement := newMoody(values{"seawall-ratelimit-mode": "log-only"})
	require.NoError(t, api.SetProviderAndWait(t.Context(), replacement, domain))
	becomes(t, seawall.LogOnly, g)
	replacement.UpdateFlags(nil)
	becomes(t, seawall.Enforce, g, "events of the replacement arrive too")
}

// starter is a provider that takes its time to start.
type starter struct {
	*moody
	ready chan error
}

func (s starter) Init(openfeature.EvaluationContext) error { return <-s.ready }
func (s starter) Shutdown()                                {}

func TestAReplacementThatIsNotReadyKeepsTheLastGoodValues(t *testing.T) {
	t.Parallel()
	api := newAPI(t, newMoody(values{"seawall-ratelimit-mode": "log-only"}))
	f := start(t, flags.Config{Client: api.NewClient(), Interval: 5 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	require.Equal(t, seawall.LogOnly, g(nil))
	next := starter{newMoody(nil), make(chan error)}
	require.NoError(t, api.SetProvider(t.Context(), next))
	require.Eventually(t, func() bool { return f.Errors() > 20 }, soon, poll)
	require.ErrorContains(t, f.Err(), "PROVIDER_NOT_READY")
	require.Equal(t, seawall.LogOnly, g(nil))
	next.ready <- nil
	becomes(t, seawall.Enforce, g)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
}

// mortal is a provider that answers nothing more once it is shut down.
type mortal struct{ *moody }

func (p mortal) Init(openfeature.EvaluationContext) error { return nil }
func (p mortal) Shutdown() {
	p.set(func(context.Context, string) *openfeature.ResolutionError {
		err := openfeature.NewProviderNotReadyResolutionError("shut down")
		return &err
	})
}

func TestAnAPIThatIsShutDownWhileInUse(t *testing.T) {
	t.Parallel()
	own := rules{"seawall-concurrency-mode": one("log-only", "enforce", "alice")}
	for name, dies := range map[string]bool{"the provider answers still": false, "the provider answers no more": true} {
		p := newMoody(nil)
		p.UpdateFlags(own.flags(values{"seawall-ratelimit-mode": "log-only"}))
		var provider openfeature.FeatureProvider = p
		if dies {
			provider = mortal{p}
		}
		api := newAPI(t, provider)
		f := start(t, flags.Config{
			Client: api.NewClient(), Interval: 5 * time.Millisecond, Targeting: &flags.Targeting{CallerID: idOf},
		})
		all, hers := f.Gate("ratelimit", ""), f.Gate("concurrency", "")
		becomes(t, seawall.LogOnly, all, name)
		comes(t, seawall.LogOnly, hers, from("alice"), name)
		require.NoError(t, f.Err(), name)

		asked := p.asked.Load()
		require.NoError(t, api.Shutdown(t.Context()))
		require.Eventually(t, func() bool {
			hers(from("alice"))
			return p.asked.Load() > asked+100
		}, soon, poll, name)
		require.Equal(t, seawall.LogOnly, all(nil), name)
		require.Equal(t, seawall.LogOnly, hers(from("alice")), name)
		require.Equal(t, seawall.Enforce, hers(from("bob")), name)
		require.Equal(t, seawall.Enforce, f.Gate("ratelimit", "late")(nil), name)
		if dies {
			require.ErrorContains(t, f.Err(), "shut down")
		} else {
			require.NoError(t, f.Err(), "the SDK goes on asking it, and tells nobody")
		}
	}
}

func TestAProblemIsLoggedOnce(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	p := newMoody(values{"seawall-ratelimit-mode": "enforcee"})
	f := follow(t, p, flags.Config{Interval: time.Millisecond, Logger: slog.New(log)})
	more := func(n int64) {
		t.Helper()
		from := f.Errors()
		require.Eventually(t, func() bool { return f.Errors() >= from+n }, soon, poll)
	}
	more(20)
	require.Equal(t, 1, log.count("enforcee"))
	require.Equal(t, 1, log.count(""), "nothing else is logged")

	p.UpdateFlags(values{"seawall-ratelimit-mode": "logonly"}.flags())
	require.Eventually(t, func() bool { return log.count("logonly") > 0 }, soon, poll, "another problem is news")
	more(20)
	require.Equal(t, 1, log.count("logonly"))

	p.UpdateFlags(nil)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
	p.UpdateFlags(values{"seawall-ratelimit-mode": "enforcee"}.flags())
	more(20)
	require.Equal(t, 2, log.count("enforcee"), "a problem that returns is news")
}

func TestAHangIsLoggedOnce(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Millisecond, Timeout: 200 * time.Millisecond, Logger: slog.New(log)})
	m, release := hangs(t)
	p.set(m)
	from := f.Errors()
	require.Eventually(t, func() bool { return f.Errors() > from+20 }, soon, poll)
	require.Equal(t, 1, log.count("has not answered"))
	release()
}
