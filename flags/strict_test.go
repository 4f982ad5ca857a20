package flags_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
)

// These tests are about moments in which a limit could be stricter than the old flags and the new ones.

func TestWhatACallerHadBeforeAChangeIsButAGuess(t *testing.T) {
	t.Parallel()
	friend := rules{"seawall-ratelimit-mode": one("enforce", "log-only", "alice")}
	p, f := aim(t, friend, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	comes(t, seawall.Enforce, g, from("alice"))

	// Nobody is evaluated any more: the evaluation of somebody else hangs.
	hang, release := make(chan struct{}), make(chan struct{})
	nobody := rules{"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
		if id == "id-3.bob" {
			close(hang)
			<-release
		}
		return "log-only"
	}}
	p.UpdateFlags(values{"seawall-ratelimit-mode": "log-only"}.flags())
	comes(t, seawall.LogOnly, g, from("alice"), "plain")
	p.UpdateFlags(nobody.flags(nil))
	require.Eventually(t, func() bool { g(from("bob")); return f.Busy() }, soon, poll)
	<-hang
	for range 100 {
		require.Equal(t, seawall.LogOnly, g(from("alice")), "targeted again: not what she had long ago")
	}
	close(release)
}

// A provider that never says STATIC has all flags look targeted.
func TestAKillSwitchForEveryoneDoesNotWaitForCallers(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	on := func(id string, _ openfeature.FlattenedContext) any {
		if id != "" && slow.Load() {
			time.Sleep(10 * time.Millisecond) // a provider that takes its time for each caller
		}
		return !slow.Load()
	}
	p, f := aim(t, rules{"seawall-enabled": on}, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	crowd := make([]*seawall.Request, 300)
	for i := range crowd {
		crowd[i] = from(fmt.Sprint(i))
		g(crowd[i])
	}
	idle(t, p, f)
	for _, r := range crowd {
		require.Equal(t, seawall.Enforce, g(r))
	}
	slow.Store(true)
	p.UpdateFlags(rules{"seawall-enabled": on}.flags(nil))
	becomes(t, seawall.Off, g)
	for _, r := range crowd {
		require.Equal(t, seawall.Off, g(r), "before it has been evaluated")
	}
}

func TestASwitchThatIsPlainlyOffDoesNotWaitForOtherFlags(t *testing.T) {
	t.Parallel()
	p, f := aim(t, rules{"seawall-ratelimit-enabled": one(false, true, "alice")}, nil, flags.Config{Timeout: 50 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	comes(t, seawall.Off, g, from("alice"))
	p.set(hangsAt(t, "seawall-workershed-mode"))
	p.UpdateFlags(values{"seawall-ratelimit-enabled": false}.flags())
	becomes(t, seawall.Off, g)
}

// Each flag has its time, and switches are asked before modes.
func TestASlowProviderAnswersForTheLastSwitchToo(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Timeout: 500 * time.Millisecond, Interval: time.Hour})
	g := f.Gate("workershed", "")
	p.set(func(ctx context.Context, _ string) *openfeature.ResolutionError {
		select {
		case <-time.After(100 * time.Millisecond): // all together take twice the timeout
		case <-ctx.Done():
			return fails("deadline")(ctx, "")
		}
		return nil
	})
	p.UpdateFlags(values{"seawall-workershed-enabled": false}.flags())
	becomes(t, seawall.Off, g)
	require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll)
}

func TestWhatIsStricterWaitsForAFlagThatHasBegunToFail(t *testing.T) {
	t.Parallel()
	p := newMoody(values{"seawall-ratelimit-mode": "log-only"})
	f := follow(t, p, flags.Config{Interval: time.Hour})
	layer, policy := f.Gate("ratelimit", ""), f.Gate("ratelimit", "api")
	var bad atomic.Bool
	bad.Store(true)
	p.set(func(ctx context.Context, key string) *openfeature.ResolutionError {
		if bad.Load() && key == "seawall-ratelimit-api-mode" {
			return fails("backend away")(ctx, key)
		}
		return nil
	})
	p.UpdateFlags(values{"seawall-ratelimit-api-mode": "log-only"}.flags()) // from the layer's flag to the policy's
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	for range 50 {
		require.Equal(t, seawall.LogOnly, max(layer(nil), policy(nil)))
		time.Sleep(time.Millisecond) // it is about what does not happen
	}
	bad.Store(false)
	p.UpdateFlags(values{"seawall-ratelimit-api-mode": "log-only"}.flags())
	becomes(t, seawall.Enforce, layer)
	require.Equal(t, seawall.LogOnly, policy(nil))
}

// The provider changes while it is asked: the layer's answer is of before, the policy's of afterwards.
func TestAnswersOfBeforeAndAfterAChangeDoNotCountTogether(t *testing.T) {
	t.Parallel()
	p := newMoody(values{"seawall-ratelimit-mode": "log-only"})
	f := follow(t, p, flags.Config{Interval: time.Hour})
	layer, policy := f.Gate("ratelimit", ""), f.Gate("ratelimit", "api")
	var once, armed atomic.Bool
	var strictest atomic.Uint32
	strictest.Store(uint32(seawall.Off))
	look := func() { strictest.Store(min(strictest.Load(), uint32(max(layer(nil), policy(nil))))) }
	p.set(func(_ context.Context, key string) *openfeature.ResolutionError {
		look()
		if armed.Load() && key == "seawall-ratelimit-api-mode" && once.CompareAndSwap(false, true) {
			p.UpdateFlags(values{"seawall-ratelimit-mode": "log-only"}.flags())
			time.Sleep(20 * time.Millisecond) // the event of it arrives
		}
		return nil
	})
	armed.Store(true)
	p.UpdateFlags(values{"seawall-ratelimit-api-mode": "log-only"}.flags())
	require.Eventually(t, func() bool {
		look()
		return once.Load() && layer(nil) == seawall.LogOnly && policy(nil) == seawall.Enforce
	}, soon, poll)
	require.NotEqual(t, seawall.Enforce, seawall.Mode(strictest.Load()))
}

func TestASmallerScaleWaitsForTheModes(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Hour})
	g := f.Gate("ratelimit", "")
	var wrong atomic.Bool
	p.set(func(context.Context, string) *openfeature.ResolutionError {
		if f.Scale() < 1 && g(nil) == seawall.Enforce {
			wrong.Store(true)
		}
		return nil
	})
	p.UpdateFlags(values{"seawall-ratelimit-scale": 0.001, "seawall-ratelimit-mode": "log-only"}.flags())
	becomes(t, seawall.LogOnly, g)
	require.Eventually(t, func() bool { return f.Scale() == 0.001 }, soon, poll)
	require.False(t, wrong.Load())
}

func TestOfACallersValuesTheLaxerCountsIfSomeAreMissing(t *testing.T) {
	t.Parallel()
	moved := false
	var failing atomic.Bool
	both := func() rules {
		layer, policy := "log-only", "enforce"
		if moved {
			layer, policy = "enforce", "log-only"
		}
		return rules{
			"seawall-ratelimit-mode": one(layer, "log-only", "alice"),
			"seawall-ratelimit-api-mode": func(id string, _ openfeature.FlattenedContext) any {
				if id != "" && failing.Load() {
					return errors.New("backend away")
				}
				return policy
			},
		}
	}
	p, f := aim(t, both(), nil, flags.Config{})
	layer, policy := f.Gate("ratelimit", ""), f.Gate("ratelimit", "api")
	combined := func(r *seawall.Request) seawall.Mode { return max(layer(r), policy(r)) }
	combined(from("alice"))
	idle(t, p, f)
	failing.Store(true)
	moved = true
	p.UpdateFlags(both().flags(nil))
	for range 20 {
		require.Equal(t, seawall.LogOnly, combined(from("alice")))
		idle(t, p, f)
	}
	failing.Store(false)
	p.UpdateFlags(both().flags(nil))
	comes(t, seawall.Enforce, layer, from("alice"))
	require.Equal(t, seawall.LogOnly, combined(from("alice")))
}

func TestACallerIDThatHangsIsTold(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := newMoody(nil)
	p.UpdateFlags(rules{"seawall-ratelimit-mode": one("enforce", "log-only", "alice")}.flags(nil))
	f := follow(t, p, flags.Config{Timeout: 50 * time.Millisecond, Targeting: &flags.Targeting{CallerID: func(k seawall.Key) string {
		<-release
		return idOf(k)
	}}})
	defer close(release)
	f.Gate("ratelimit", "")(from("alice"))
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
}

func TestAnErrorWithoutACodeIsOne(t *testing.T) {
	t.Parallel()
	p := &reasoned{moody: newMoody(values{"seawall-enabled": true}), reason: openfeature.ErrorReason}
	f := follow(t, p, flags.Config{Interval: time.Hour})
	require.ErrorContains(t, f.Err(), `flag "seawall-enabled": GENERAL`)
}

func TestChangesOfModesAreLogged(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Hour, Logger: slog.New(log)})
	f.Gate("ratelimit", "api")
	p.UpdateFlags(values{"seawall-ratelimit-api-mode": "log-only", "seawall-fleetshed-enabled": false}.flags())
	require.Eventually(t, func() bool {
		return log.count("fleetshed enforce -> off, ratelimit:api enforce -> log-only") == 1
	}, soon, poll)
	require.Equal(t, 1, log.count("modes have changed"), "that a policy is new is no change")
}

func TestAProblemWithOtherNumbersIsNoNews(t *testing.T) {
	t.Parallel()
	log, port := &logbook{}, atomic.Int64{}
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Millisecond, Logger: slog.New(log)})
	p.set(func(ctx context.Context, key string) *openfeature.ResolutionError {
		return fails(fmt.Sprintf("dial 192.0.2.1:%d: refused", port.Add(1)))(ctx, key)
	})
	require.Eventually(t, func() bool { return f.Errors() > 200 }, soon, poll)
	assert.LessOrEqual(t, log.count("refused"), 20, "one of each flag")
}
