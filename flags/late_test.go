package flags_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
)

// These tests are about what must not wait for something else.

func TestAChangeWhileAGateIsMadeConcernsCallersToo(t *testing.T) {
	t.Parallel()
	var off, once atomic.Bool
	r := rules{"seawall-enabled": func(string, openfeature.FlattenedContext) any { return !off.Load() }}
	p, f := aim(t, r, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	g(from("alice"))
	idle(t, p, f)
	require.Equal(t, seawall.Enforce, g(from("alice")))
	p.set(func(_ context.Context, key string) *openfeature.ResolutionError {
		if key == "seawall-ratelimit-new-mode" && once.CompareAndSwap(false, true) {
			off.Store(true)
			p.UpdateFlags(r.flags(nil))
			time.Sleep(30 * time.Millisecond) // the event of it arrives
		}
		return nil
	})
	f.Gate("ratelimit", "new")
	comes(t, seawall.Off, g, from("alice"))
}

func TestOneFlagThatAlwaysFailsHoldsNothingElseBack(t *testing.T) {
	t.Parallel()
	var mode atomic.Value
	mode.Store("log-only")
	r := rules{
		"seawall-ratelimit-mode": func(id string, _ openfeature.FlattenedContext) any {
			if id == "" {
				return "enforce"
			}
			return mode.Load()
		},
		"seawall-fleetshed-mode": func(id string, _ openfeature.FlattenedContext) any {
			if id == "" {
				return "enforce"
			}
			return errors.New("always bad")
		},
	}
	p, f := aim(t, r, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	comes(t, seawall.LogOnly, g, from("alice"))
	mode.Store("enforce")
	for range 3 {
		p.UpdateFlags(r.flags(nil))
		idle(t, p, f)
		g(from("alice"))
		idle(t, p, f)
	}
	require.Equal(t, seawall.Enforce, g(from("alice")))
}

func TestFlagsThatFailInTurnsHoldNothingBack(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: 10 * time.Millisecond})
	var rounds atomic.Int64
	p.set(func(ctx context.Context, key string) *openfeature.ResolutionError {
		n := rounds.Load()
		if key == "seawall-enabled" {
			n = rounds.Add(1)
		}
		if key == "seawall-fleetshed-mode" && n%2 == 0 || key == "seawall-workershed-mode" && n%2 == 1 {
			return fails("backend away")(ctx, key)
		}
		return nil
	})
	before := rounds.Load()
	p.UpdateFlags(values{"seawall-ratelimit-scale": 0.5}.flags())
	require.Eventually(t, func() bool { return f.Scale() == 0.5 }, soon, poll)
	require.Less(t, rounds.Load()-before, int64(8))
}

func TestASwitchThatIsTargetedAndOffDoesNotWaitForOtherFlags(t *testing.T) {
	t.Parallel()
	p, f := aim(t, nil, values{"seawall-enabled": true}, flags.Config{Timeout: 50 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	p.set(hangsAt(t, "seawall-workershed-mode"))
	p.UpdateFlags(rules{"seawall-enabled": one(true, false, "tester")}.flags(nil))
	becomes(t, seawall.Off, g)
}

// The switch is turned just after it was asked for, and all modes time out.
func TestASwitchDoesNotWaitForModesThatTimeOut(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Timeout: 200 * time.Millisecond, Interval: time.Hour})
	g := f.Gate("ratelimit", "")
	for i := range 20 {
		f.Gate("ratelimit", fmt.Sprint("p", i))
	}
	var once atomic.Bool
	var modes atomic.Int64
	p.set(func(ctx context.Context, key string) *openfeature.ResolutionError {
		if !strings.HasSuffix(key, "-mode") {
			return nil
		}
		modes.Add(1)
		if once.CompareAndSwap(false, true) {
			p.UpdateFlags(values{"seawall-enabled": false}.flags())
		}
		<-ctx.Done()
		return fails("deadline")(ctx, key)
	})
	p.UpdateFlags(nil)
	becomes(t, seawall.Off, g)
	require.Less(t, modes.Load(), int64(10), "of 24")
	p.set(nil)
}

func TestAStormOfEventsDoesNotStarveCallers(t *testing.T) {
	t.Parallel()
	r := rules{"seawall-ratelimit-enabled": one(false, true, "alice")}
	p, f := aim(t, r, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	p.set(func(context.Context, string) *openfeature.ResolutionError {
		p.UpdateFlags(r.flags(nil))
		time.Sleep(time.Millisecond) // the event of it arrives
		return nil
	})
	p.UpdateFlags(r.flags(nil))
	require.Eventually(t, func() bool { return g(from("alice")) == seawall.Off }, 4*soon, poll)
	p.set(nil)
}
