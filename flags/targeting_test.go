package flags_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryKeyCanBeTargeted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key                 string
		own, others         any
		layer, policy       seawall.Mode // of the caller it is aimed at
		elseLayer, elseMode seawall.Mode // of everybody else
	}{
		{"seawall-enabled", false, true, seawall.Off, seawall.Enforce, seawall.Enforce, seawall.Enforce},
		{"seawall-enabled", true, false, seawall.Enforce, seawall.Enforce, seawall.Off, seawall.Enforce},
		{"seawall-ratelimit-enabled", false, true, seawall.Off, seawall.Enforce, seawall.Enforce, seawall.Enforce},
		{"seawall-ratelimit-mode", "enforce", "log-only", seawall.Enforce, seawall.Enforce, seawall.LogOnly, seawall.Enforce},
		{"seawall-ratelimit-login-mode", "log-only", "enforce", seawall.Enforce, seawall.LogOnly, seawall.Enforce, seawall.Enforce},
	} {
		p, f := aim(t, rules{c.key: one(c.own, c.others, "alice")}, nil, flags.Config{})
		layer, policy := f.Gate("ratelimit", ""), f.Gate("ratelimit", "login")
		for _, name := range []string{"alice", "bob"} {
			assert.Equal(t, c.elseLayer, layer(from(name)), "the first request of a caller has the untargeted mode: %s", c.key)
			policy(from(name))
		}
		comes(t, c.layer, layer, from("alice"), c.key)
		comes(t, c.policy, policy, from("alice"), c.key)
		idle(t, p, f)
		for _, other := range []*seawall.Request{from("bob"), {}, nil} {
			assert.Equal(t, c.elseLayer, layer(other), c.key)
			assert.Equal(t, c.elseMode, policy(other), c.key)
		}
		assert.False(t, f.Off(), "what is targeted is not for everybody: %s", c.key)
		assert.NoError(t, f.Err())
	}
}

func TestOnlyWhatIsTargetedIsEvaluatedForCallers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	spy := func(key string, value any) rule {
		return func(id string, _ openfeature.FlattenedContext) any {
			if id != "" {
				mu.Lock()
				seen[key]++
				mu.Unlock()
			}
			return value
		}
	}
	p, f := aim(t, rules{
		"seawall-ratelimit-mode":  spy("mode", "log-only"),
		"seawall-ratelimit-scale": spy("scale", 2.0),
		"seawall-other":           spy("other", true),
	}, values{"seawall-concurrency-mode": "log-only"}, flags.Config{})
	rate, slots, fleet := f.Gate("ratelimit", ""), f.Gate("concurrency", ""), f.Gate("fleetshed", "")
	asked := p.asked.Load()
	for range 100 {
		slots(from("alice"))
		fleet(from("alice"))
		rate(&seawall.Request{})
		rate(nil)
	}
	idle(t, p, f)
	require.Equal(t, asked, p.asked.Load(), "gates whose flags are not targeted ask nobody, nor do requests of nobody")
	rate(from("alice"))
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return seen["mode"] == 1 }, soon, poll)
	idle(t, p, f)
	require.Equal(t, map[string]int{"mode": 1}, seen)
	require.Equal(t, asked+1, p.asked.Load())
	require.Equal(t, 2.0, f.Scale())
	for range 100 {
		require.Equal(t, seawall.LogOnly, rate(from("alice")))
	}
	idle(t, p, f)
	require.Equal(t, asked+1, p.asked.Load(), "what is known and not stale is not asked for again")
}

// reasoned is a provider whose flags have a reason that tests choose.
type reasoned struct {
	*moody
	mu     sync.Mutex
	reason openfeature.Reason
	err    *openfeature.ResolutionError
}

func (p *reasoned) become(reason openfeature.Reason) {
	p.mu.Lock()
	p.reason = reason
	p.mu.Unlock()
}

func (p *reasoned) BooleanEvaluation(ctx context.Context, key string, fallback bool, flat openfeature.FlattenedContext) openfeature.BoolResolutionDetail {
	d := p.moody.BooleanEvaluation(ctx, key, fallback, flat)
	p.mu.Lock()
	defer p.mu.Unlock()
	if key == "seawall-enabled" {
		d.Reason = p.reason
		if p.err != nil && flat[openfeature.TargetingKey] == nil {
			d.Value, d.ResolutionError = fallback, *p.err
		}
	}
	return d
}

func TestWhichReasonsAreTargeting(t *testing.T) {
	t.Parallel()
	for reason, targeted := range map[openfeature.Reason]bool{
		openfeature.StaticReason: false, openfeature.DisabledReason: false,
		openfeature.DefaultReason: true, openfeature.TargetingMatchReason: true, openfeature.SplitReason: true,
		openfeature.UnknownReason: true, openfeature.CachedReason: true, "": true, "OF ITS OWN": true,
	} {
		p := &reasoned{moody: newMoody(values{"seawall-enabled": false}), reason: reason}
		f := follow(t, p, flags.Config{Interval: time.Hour, Targeting: &flags.Targeting{CallerID: idOf}})
		g := f.Gate("ratelimit", "")
		idle(t, p.moody, f)
		asked := p.asked.Load()
		g(from("alice"))
		idle(t, p.moody, f)
		assert.Equal(t, targeted, p.asked.Load() > asked, "reason %q", reason)
		assert.Equal(t, !targeted, f.Off(), "reason %q", reason)

		f = follow(t, newMoody(values{"seawall-enabled": false}), flags.Config{})
		assert.True(t, f.Off(), "without targeting the reason does not matter")
	}
}

func TestAnAnswerThatTheProviderCachedIsForWhomItWas(t *testing.T) {
	t.Parallel()
	p := &reasoned{moody: newMoody(values{"seawall-enabled": false}), reason: openfeature.StaticReason}
	f := follow(t, p, flags.Config{Interval: time.Millisecond, Targeting: &flags.Targeting{CallerID: idOf}})
	require.True(t, f.Off())
	rounds := func(n int64) {
		from := p.asked.Load()
		require.Eventually(t, func() bool { return p.asked.Load() > from+n*10 }, soon, poll)
	}
	p.become(openfeature.CachedReason)
	rounds(2)
	require.True(t, f.Off())
	p.become(openfeature.SplitReason)
	require.Eventually(t, func() bool { return !f.Off() }, soon, poll)
	p.become(openfeature.CachedReason)
	rounds(2)
	require.False(t, f.Off())
}

func TestAFlagThatHasNoValueWithoutACaller(t *testing.T) {
	t.Parallel()
	missing := openfeature.NewTargetingKeyMissingResolutionError("who?")
	p := &reasoned{moody: newMoody(values{"seawall-enabled": false}), err: &missing}
	f := follow(t, p, flags.Config{Interval: time.Hour, Targeting: &flags.Targeting{CallerID: idOf}})
	g := f.Gate("ratelimit", "")
	require.Equal(t, seawall.Enforce, g(from("alice")))
	comes(t, seawall.Off, g, from("alice"))
	require.NoError(t, f.Err(), "it is targeted, and that is no error")
	require.Equal(t, seawall.Enforce, g(nil))

	f = follow(t, &reasoned{moody: newMoody(nil), err: &missing}, flags.Config{})
	require.ErrorContains(t, f.Err(), "TARGETING_KEY_MISSING", "without targeting it is one")
}

func TestAKillSwitchReachesEveryCallerAtOnce(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]values{
		"everything": {"seawall-enabled": false}, "the layer": {"seawall-ratelimit-enabled": false},
	} {
		aimed := rules{"seawall-ratelimit-mode": one("enforce", "log-only", "alice")}
		switches := rules{"seawall-enabled": one(true, true), "seawall-ratelimit-enabled": one(true, true)}
		maps.Copy(switches, aimed)
		p, f := aim(t, switches, nil, flags.Config{})
		g := f.Gate("ratelimit", "")
		comes(t, seawall.Enforce, g, from("alice"), name)

		// No caller is evaluated any more; what everybody has is.
		for key := range aimed {
			aimed[key] = func(id string, _ openfeature.FlattenedContext) any {
				if id != "" {
					return errors.New("backend away")
				}
				return "log-only"
			}
		}
		p.UpdateFlags(aimed.flags(off))
		becomes(t, seawall.Off, g, name)
		require.Equal(t, seawall.Off, g(from("alice")), name)
		require.Equal(t, name == "everything", f.Off())

		p.UpdateFlags(aimed.flags(nil))
		becomes(t, seawall.LogOnly, g, name)
		require.Equal(t, seawall.LogOnly, g(from("alice")), "what she had before is but a guess: the laxer counts: %s", name)
	}
}

func TestWhatIsTargetedNoMoreIsForEveryone(t *testing.T) {
	t.Parallel()
	p, f := aim(t, rules{"seawall-ratelimit-mode": one("enforce", "log-only", "alice")}, nil, flags.Config{})
	g := f.Gate("ratelimit", "")
	comes(t, seawall.Enforce, g, from("alice"))
	p.UpdateFlags(values{"seawall-ratelimit-mode": "log-only"}.flags())
	comes(t, seawall.LogOnly, g, from("alice"))
	asked := p.asked.Load()
	g(from("alice"))
	g(from("bob"))
	idle(t, p, f)
	require.Equal(t, asked, p.asked.Load())

	// The same while another flag of the gate is targeted still, and no caller is evaluated any more.
	on := one(true, true)
	p.UpdateFlags(rules{"seawall-ratelimit-mode": one("log-only", "log-only"), "seawall-ratelimit-enabled": on}.flags(nil))
	require.Eventually(t, func() bool { g(from("alice")); return p.asked.Load() >= asked+12 }, soon, poll)
	idle(t, p, f)
	p.UpdateFlags(rules{"seawall-ratelimit-enabled": func(id string, _ openfeature.FlattenedContext) any {
		if id != "" {
			return errors.New("backend away")
		}
		return true
	}}.flags(values{"seawall-ratelimit-mode": "enforce"}))
	becomes(t, seawall.Enforce, g)
	require.Equal(t, seawall.Enforce, g(from("alice")), "at once")

	disabled := rules{"seawall-ratelimit-mode": one("enforce", "log-only", "alice")}.flags(nil)
	d := disabled["seawall-ratelimit-mode"]
	d.State = memprovider.Disabled
	disabled["seawall-ratelimit-mode"] = d
	p.UpdateFlags(disabled)
	comes(t, seawall.Enforce, g, from("carol"), "disabled: the default, for all")
}

func TestWhatFlagsKnowOfACaller(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got openfeature.FlattenedContext
	spy := rules{"seawall-ratelimit-mode": func(id string, about openfeature.FlattenedContext) any {
		if id != "" {
			mu.Lock()
			got = about
			mu.Unlock()
		}
		return "log-only"
	}}
	for name, c := range map[string]struct {
		attributes func(*seawall.Request) map[string]any
		more       openfeature.FlattenedContext
	}{
		"nothing more": {nil, nil},
		"none":         {func(*seawall.Request) map[string]any { return nil }, nil},
		"some": {
			func(r *seawall.Request) map[string]any {
				return map[string]any{"region": "eu", "tier": r.Tier.String(), "plan": "forged", "targetingKey": "forged"}
			},
			openfeature.FlattenedContext{"region": "eu", "tier": "critical"},
		},
	} {
		_, f := aim(t, spy, nil, flags.Config{Targeting: &flags.Targeting{CallerID: idOf, Attributes: c.attributes}})
		r := &seawall.Request{
			Key: seawall.NewKey("alice"), More: []seawall.Key{seawall.NewKey("address")}, Name: "Alice & Sons", Plan: "gold",
			Tier: seawall.Critical, Authenticated: true,
		}
		f.Gate("ratelimit", "")(r)
		want := openfeature.FlattenedContext{"targetingKey": "id-5.alice", "plan": "gold", "authenticated": true}
		maps.Copy(want, c.more)
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return got != nil }, soon, poll, name)
		mu.Lock()
		require.Equal(t, want, got, name)
		got = nil
		mu.Unlock()
	}
}

func TestFunctionsOfTargetingThatPanic(t *testing.T) {
	t.Parallel()
	aimed := rules{"seawall-ratelimit-mode": func(_ string, about openfeature.FlattenedContext) any {
		if about["plan"] == "gold" {
			return "enforce"
		}
		return "log-only"
	}}
	gold := func() *seawall.Request { return &seawall.Request{Key: seawall.NewKey("alice"), Plan: "gold"} }
	_, f := aim(t, aimed, nil, flags.Config{Targeting: &flags.Targeting{
		CallerID: idOf, Attributes: func(*seawall.Request) map[string]any { panic("no idea") },
	}})
	g := f.Gate("ratelimit", "")
	require.Equal(t, seawall.LogOnly, g(gold()), "the request does not notice")
	comes(t, seawall.Enforce, g, gold(), "the plan is known all the same")
	require.ErrorContains(t, f.Err(), "Targeting.Attributes panicked: no idea")

	p, f := aim(t, aimed, nil, flags.Config{Targeting: &flags.Targeting{CallerID: func(seawall.Key) string { panic("no idea") }}})
	g = f.Gate("ratelimit", "")
	g(gold())
	require.Eventually(t, func() bool { return f.Err() != nil }, soon, poll)
	require.ErrorContains(t, f.Err(), "Targeting.CallerID panicked: no idea")
	idle(t, p, f)
	for range 100 {
		require.Equal(t, seawall.LogOnly, g(gold()))
	}
	idle(t, p, f)
	require.EqualValues(t, 1, f.Errors(), "not once per request")

	_, f = aim(t, aimed, nil, flags.Config{Targeting: &flags.Targeting{CallerID: func(seawall.Key) string { return "" }}})
	g = f.Gate("ratelimit", "")
	g(gold())
	require.Eventually(t, func() bool { return f.Remembered() == 1 }, soon, poll)
	require.Equal(t, seawall.LogOnly, g(gold()))
	require.NoError(t, f.Err())
}

func TestGatesMadeLaterKnowCallersOfBefore(t *testing.T) {
	t.Parallel()
	p, f := aim(t, rules{
		"seawall-ratelimit-mode":     one("enforce", "log-only", "alice"),
		"seawall-ratelimit-new-mode": one("enforce", "log-only", "alice"),
	}, nil, flags.Config{})
	layer := f.Gate("ratelimit", "")
	comes(t, seawall.Enforce, layer, from("alice"))
	policy := f.Gate("ratelimit", "new")
	require.Equal(t, seawall.LogOnly, policy(from("alice")))
	require.Equal(t, seawall.Enforce, layer(from("alice")), "what was known of her holds meanwhile")
	comes(t, seawall.Enforce, policy, from("alice"))
	idle(t, p, f)
	require.Equal(t, seawall.LogOnly, policy(from("bob")))
	plain := f.Gate("ratelimit", "plain")
	require.Equal(t, seawall.Enforce, plain(from("alice")))
}

func TestTargetingWithoutAClientOrAProvider(t *testing.T) {
	t.Parallel()
	cfg := flags.Config{Targeting: &flags.Targeting{CallerID: idOf}, Defaults: map[string]seawall.Mode{"ratelimit": seawall.LogOnly}}
	for name, f := range map[string]*flags.Flags{"no client": start(t, cfg), "no provider": follow(t, nil, cfg)} {
		g := f.Gate("ratelimit", "")
		for range 3 {
			require.Equal(t, seawall.LogOnly, g(from("alice")), name)
		}
		require.NoError(t, f.Err(), name)
	}
}

func TestBadTargeting(t *testing.T) {
	t.Parallel()
	for want, targeting := range map[string]flags.Targeting{
		"Config.Targeting.CallerID is nil":                                 {},
		"Config.Targeting.MaxCallers is -1; want a positive number, or ze": {CallerID: idOf, MaxCallers: -1},
	} {
		f, err := flags.New(flags.Config{Targeting: &targeting})
		assert.Nil(t, f)
		assert.ErrorContains(t, err, want)
	}
}

func TestTargetedGatesDoNotAllocate(t *testing.T) {
	p, f := aim(t, rules{"seawall-ratelimit-mode": one("enforce", "log-only", "alice")}, nil, flags.Config{})
	g, plain, alice := f.Gate("ratelimit", ""), f.Gate("concurrency", ""), from("alice")
	comes(t, seawall.Enforce, g, alice)
	require.Zero(t, testing.AllocsPerRun(10_000, func() { g(alice) }), "a hit")
	require.Zero(t, testing.AllocsPerRun(10_000, func() { plain(alice) }), "an untargeted gate")

	m, release := hangs(t)
	p.set(m)
	p.UpdateFlags(nil)
	require.Eventually(t, func() bool { return p.now.Load() == 1 }, soon, poll)
	g(alice) // waits to be evaluated
	require.Zero(t, testing.AllocsPerRun(10_000, func() { g(alice) }), "a hit that is stale")
	bob := from("bob")
	g(bob)
	require.Zero(t, testing.AllocsPerRun(10_000, func() { g(bob) }), "a miss that waits")
	release()
}

// ofFourLayers are their gates and those of a policy each.
func ofFourLayers(f *flags.Flags) (four, eight []seawall.Gate) {
	for _, layer := range layers {
		four = append(four, f.Gate(layer, ""))
	}
	for _, layer := range layers {
		eight = append(eight, f.Gate(layer, "policy"))
	}
	return four, append(eight, four...)
}

// BenchmarkModesOfFourLayers is what a request pays for flags.
func BenchmarkModesOfFourLayers(b *testing.B) {
	aimed := rules{}
	for _, layer := range layers {
		aimed["seawall-"+layer+"-mode"] = one("enforce", "log-only", "alice")
		aimed["seawall-"+layer+"-policy-mode"] = one("enforce", "log-only", "alice")
	}
	for _, c := range []struct {
		name  string
		rules rules
		cfg   flags.Config
	}{
		{"without targeting", nil, flags.Config{}},
		{"untargeted", nil, flags.Config{Targeting: &flags.Targeting{CallerID: idOf}}},
		{"targeted", aimed, flags.Config{Targeting: &flags.Targeting{CallerID: idOf}}},
	} {
		c.cfg.Interval = time.Hour
		p := newMoody(nil)
		p.UpdateFlags(c.rules.flags(nil))
		f := follow(b, p, c.cfg)
		four, eight := ofFourLayers(f)
		alice := from("alice")
		for _, gates := range [][]seawall.Gate{four, eight} {
			for _, g := range eight {
				comes(b, seawall.Enforce, g, alice)
			}
			b.Run(fmt.Sprint(c.name, "/gates=", len(gates)), func(b *testing.B) {
				b.ReportAllocs()
				var laxest seawall.Mode
				for b.Loop() {
					for _, g := range gates {
						laxest = max(laxest, g(alice))
					}
				}
				require.Equal(b, seawall.Enforce, laxest)
			})
		}
	}
}
