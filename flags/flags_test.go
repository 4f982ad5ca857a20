package flags_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"
	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var layers = []string{"ratelimit", "concurrency", "fleetshed", "workershed"}

func TestWithoutAClientTheDefaultsHoldForEver(t *testing.T) {
	t.Parallel()
	f := start(t, flags.Config{Defaults: map[string]seawall.Mode{
		"concurrency": seawall.LogOnly, "fleetshed": seawall.Off, "ratelimit:new": seawall.LogOnly,
	}})
	assert.Equal(t, seawall.Enforce, f.Gate("ratelimit", "")(nil))
	assert.Equal(t, seawall.LogOnly, f.Gate("ratelimit", "new")(nil))
	assert.Equal(t, seawall.Enforce, f.Gate("ratelimit", "old")(nil))
	assert.Equal(t, seawall.LogOnly, f.Gate("concurrency", "")(nil))
	assert.Equal(t, seawall.Off, f.Gate("fleetshed", "")(nil))
	assert.Equal(t, 1.0, f.Scale())
	assert.Zero(t, f.Errors())
	assert.NoError(t, f.Err())
}

func TestEveryKey(t *testing.T) {
	t.Parallel()
	for _, layer := range append(layers, "fifth") {
		for _, c := range []struct {
			key           string
			value         any
			layer, policy seawall.Mode
		}{
			{"seawall-other", false, seawall.Enforce, seawall.Enforce},
			{"seawall-enabled", true, seawall.Enforce, seawall.Enforce},
			{"seawall-enabled", false, seawall.Off, seawall.Enforce},
			{"seawall-" + layer + "-enabled", true, seawall.Enforce, seawall.Enforce},
			{"seawall-" + layer + "-enabled", false, seawall.Off, seawall.Enforce},
			{"seawall-" + layer + "-mode", "enforce", seawall.Enforce, seawall.Enforce},
			{"seawall-" + layer + "-mode", "log-only", seawall.LogOnly, seawall.Enforce},
			{"seawall-" + layer + "-login-mode", "log-only", seawall.Enforce, seawall.LogOnly},
			{"seawall-" + layer + "-login-mode", "enforce", seawall.Enforce, seawall.Enforce},
		} {
			f := follow(t, newMoody(values{c.key: c.value}), flags.Config{})
			assert.Equal(t, c.layer, f.Gate(layer, "")(nil), "layer %s with %s=%v", layer, c.key, c.value)
			assert.Equal(t, c.policy, f.Gate(layer, "login")(nil), "policy of %s with %s=%v", layer, c.key, c.value)
			assert.Equal(t, seawall.Enforce, f.Gate(layer, "other")(nil), "another policy with %s=%v", c.key, c.value)
			assert.NoError(t, f.Err())
		}
	}
}

func TestFlagsWinOverDefaults(t *testing.T) {
	t.Parallel()
	defaults := map[string]seawall.Mode{
		"ratelimit": seawall.LogOnly, "concurrency": seawall.Off, "fleetshed": seawall.Off,
		"ratelimit:new": seawall.Off, "ratelimit:newer": seawall.Off,
	}
	f := follow(t, newMoody(values{
		"seawall-ratelimit-mode":      "enforce",
		"seawall-concurrency-enabled": true,
		"seawall-fleetshed-mode":      "log-only",
		"seawall-ratelimit-new-mode":  "log-only",
	}), flags.Config{Defaults: defaults})
	assert.Equal(t, seawall.Enforce, f.Gate("ratelimit", "")(nil))
	assert.Equal(t, seawall.Enforce, f.Gate("concurrency", "")(nil))
	assert.Equal(t, seawall.Off, f.Gate("fleetshed", "")(nil), "a mode does not switch on")
	assert.Equal(t, seawall.LogOnly, f.Gate("ratelimit", "new")(nil))
	assert.Equal(t, seawall.Off, f.Gate("ratelimit", "newer")(nil))
	assert.NoError(t, f.Err())
}

func TestKillSwitchesWinOverModes(t *testing.T) {
	t.Parallel()
	p := newMoody(values{"seawall-enabled": false, "seawall-ratelimit-mode": "log-only"})
	f := follow(t, p, flags.Config{Interval: time.Hour})
	g := f.Gate("ratelimit", "")
	require.Equal(t, seawall.Off, g(nil))
	p.UpdateFlags(values{"seawall-enabled": true, "seawall-ratelimit-mode": "log-only"}.flags())
	becomes(t, seawall.LogOnly, g)
	p.UpdateFlags(values{"seawall-ratelimit-enabled": false, "seawall-ratelimit-mode": "log-only"}.flags())
	becomes(t, seawall.Off, g)
	require.Equal(t, seawall.Enforce, f.Gate("concurrency", "")(nil), "another layer stays on")
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	f := follow(t, newMoody(values{
		"seawall-enabled": false, "pay-api-ratelimit-mode": "log-only", "pay-api-ratelimit-scale": 2,
	}), flags.Config{Prefix: "pay-api"})
	assert.Equal(t, seawall.LogOnly, f.Gate("ratelimit", "")(nil))
	assert.Equal(t, seawall.Enforce, f.Gate("concurrency", "")(nil))
	assert.Equal(t, 2.0, f.Scale())
}

func TestScale(t *testing.T) {
	t.Parallel()
	for _, v := range []any{0.001, 0.5, 1, 3, 1000.0, int64(7)} {
		f := follow(t, newMoody(values{"seawall-ratelimit-scale": v}), flags.Config{})
		assert.EqualValues(t, v, f.Scale())
		assert.NoError(t, f.Err())
	}
}

func TestAnInvalidValueKeepsTheLastGoodOne(t *testing.T) {
	t.Parallel()
	good := values{
		"seawall-enabled": false, "seawall-ratelimit-mode": "log-only", "seawall-ratelimit-scale": 2.5,
		"seawall-concurrency-enabled": false, "seawall-ratelimit-login-mode": "log-only",
	}
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"seawall-enabled", "false", "not a boolean"},
		{"seawall-enabled", 0, "not a boolean"},
		{"seawall-concurrency-enabled", "no", "not a boolean"},
		{"seawall-ratelimit-mode", "enforcee", `"enforcee" is not a mode; want "enforce" or "log-only"`},
		{"seawall-ratelimit-mode", "", `"" is not a mode`},
		{"seawall-ratelimit-mode", "off", `"off" is not a mode`},
		{"seawall-ratelimit-mode", "Enforce", `"Enforce" is not a mode`},
		{"seawall-ratelimit-mode", true, "not a string"},
		{"seawall-ratelimit-login-mode", "logonly", `"logonly" is not a mode`},
		{"seawall-ratelimit-scale", math.NaN(), "NaN is out of range; want 0.001 to 1000"},
		{"seawall-ratelimit-scale", -1.0, "-1 is out of range"},
		{"seawall-ratelimit-scale", 0.0, "0 is out of range"},
		{"seawall-ratelimit-scale", 1e18, "1e+18 is out of range"},
		{"seawall-ratelimit-scale", math.Inf(1), "+Inf is out of range"},
		{"seawall-ratelimit-scale", math.Inf(-1), "-Inf is out of range"},
		{"seawall-ratelimit-scale", "2", "not a number"},
	} {
		p := newMoody(good)
		f := follow(t, p, flags.Config{Interval: time.Hour})
		gates := []seawall.Gate{f.Gate("ratelimit", ""), f.Gate("concurrency", ""), f.Gate("ratelimit", "login")}
		before := []seawall.Mode{seawall.Off, seawall.Off, seawall.LogOnly}

		bad := maps.Clone(good)
		bad[c.key] = c.value
		p.UpdateFlags(bad.flags())
		require.Eventually(t, func() bool { return f.Errors() > 0 }, soon, poll, "%s=%v", c.key, c.value)
		require.ErrorContains(t, f.Err(), `flag "`+c.key+`": `)
		require.ErrorContains(t, f.Err(), c.want)
		for i, g := range gates {
			require.Equal(t, before[i], g(nil), "gate %d with %s=%v", i, c.key, c.value)
		}
		require.Equal(t, 2.5, f.Scale(), "%s=%v", c.key, c.value)

		p.UpdateFlags(good.flags())
		require.Eventually(t, func() bool { return f.Err() == nil }, soon, poll, "%s=%v", c.key, c.value)
	}
}

func TestAnInvalidValueAtFirstLeavesTheDefault(t *testing.T) {
	t.Parallel()
	f := follow(t, newMoody(values{"seawall-ratelimit-mode": "enforcee", "seawall-ratelimit-scale": -1.0}),
		flags.Config{Defaults: map[string]seawall.Mode{"ratelimit": seawall.LogOnly}})
	assert.Equal(t, seawall.LogOnly, f.Gate("ratelimit", "")(nil))
	assert.Equal(t, 1.0, f.Scale())
	require.ErrorContains(t, f.Err(), "seawall-ratelimit-mode")
	require.ErrorContains(t, f.Err(), "seawall-ratelimit-scale")
}

func TestAFlagThatIsGoneOrDisabledHasItsDefault(t *testing.T) {
	t.Parallel()
	on := values{"seawall-ratelimit-enabled": false, "seawall-concurrency-mode": "log-only", "seawall-ratelimit-scale": 9}
	disabled := on.flags()
	for key, flag := range disabled {
		flag.State = memprovider.Disabled
		disabled[key] = flag
	}
	for name, without := range map[string]map[string]memprovider.InMemoryFlag{"gone": {}, "disabled": disabled} {
		p := newMoody(on)
		f := follow(t, p, flags.Config{Interval: time.Hour})
		ratelimit, concurrency := f.Gate("ratelimit", ""), f.Gate("concurrency", "")
		require.Equal(t, seawall.Off, ratelimit(nil))
		require.Equal(t, seawall.LogOnly, concurrency(nil))
		require.Equal(t, 9.0, f.Scale())
		p.UpdateFlags(without)
		becomes(t, seawall.Enforce, ratelimit, name)
		becomes(t, seawall.Enforce, concurrency, name)
		require.Eventually(t, func() bool { return f.Scale() == 1 }, soon, poll, name)
		require.Zero(t, f.Errors(), name)
		require.NoError(t, f.Err(), name)
	}
}

func TestAProviderWithoutEventsIsPolled(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	type deaf struct{ openfeature.FeatureProvider } // hides EventChannel
	f := follow(t, deaf{p}, flags.Config{Interval: 5 * time.Millisecond})
	g := f.Gate("ratelimit", "")
	require.Equal(t, seawall.Enforce, g(nil))
	p.UpdateFlags(values{"seawall-ratelimit-enabled": false}.flags())
	becomes(t, seawall.Off, g)
}

func TestGatesOfOneNameAreOne(t *testing.T) {
	t.Parallel()
	p := newMoody(nil)
	f := follow(t, p, flags.Config{Interval: time.Hour})
	f.Gate("ratelimit", "login")
	asked := p.asked.Load()
	require.Positive(t, asked)
	for range 10 {
		f.Gate("ratelimit", "login")
		f.Gate("ratelimit", "")
	}
	p.UpdateFlags(values{"seawall-enabled": false}.flags())
	becomes(t, seawall.Off, f.Gate("ratelimit", ""))
	// 2 + 4×2 flags and the policy's, at most for the change and for the ready event at the beginning.
	require.LessOrEqual(t, p.asked.Load(), asked+2*11)
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]flags.Config{
		`Config.Prefix: seawall: prefix name "Sea Wall"`:            {Prefix: "Sea Wall"},
		`Config.Interval is -1s`:                                    {Interval: -time.Second},
		`Config.Timeout is -1ns`:                                    {Timeout: -1},
		`Config.Defaults["ratelimit"] is 7`:                         {Defaults: map[string]seawall.Mode{"ratelimit": 7}},
		`Config.Defaults["Rate Limit"]: want a layer or "layer:pol`: {Defaults: map[string]seawall.Mode{"Rate Limit": seawall.Off}},
		`Config.Defaults["ratelimit:"]: want a layer or "layer:pol`: {Defaults: map[string]seawall.Mode{"ratelimit:": seawall.Off}},
	} {
		f, err := flags.New(cfg)
		assert.Nil(t, f)
		assert.ErrorContains(t, err, want)
	}
}

func TestCloseIsIdempotentAndFreezesTheModes(t *testing.T) {
	t.Parallel()
	p := newMoody(values{"seawall-ratelimit-mode": "log-only"})
	f := follow(t, p, flags.Config{Interval: time.Millisecond})
	g := f.Gate("ratelimit", "")
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	asked := p.asked.Load()
	p.UpdateFlags(nil)
	require.Never(t, func() bool { return p.asked.Load() != asked }, 50*time.Millisecond, poll)
	require.Equal(t, seawall.LogOnly, g(nil))
	require.Equal(t, seawall.Enforce, f.Gate("ratelimit", "late")(nil), "a gate made after Close has its default")
	require.NoError(t, f.Err())
}

func TestGatesDoNotAllocate(t *testing.T) {
	f := follow(t, newMoody(values{"seawall-ratelimit-mode": "log-only"}), flags.Config{})
	layer, policy, r := f.Gate("ratelimit", ""), f.Gate("ratelimit", "login"), &seawall.Request{}
	var got seawall.Mode
	var scale float64
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		got = max(layer(r), policy(r))
		scale = f.Scale()
	}))
	require.Equal(t, seawall.LogOnly, got)
	require.Equal(t, 1.0, scale)
}

func BenchmarkGate(b *testing.B) {
	f := follow(b, newMoody(nil), flags.Config{})
	gate, r := f.Gate("ratelimit", "login"), &seawall.Request{}
	b.ReportAllocs()
	for b.Loop() {
		gate(r)
	}
}

func BenchmarkScale(b *testing.B) {
	f := follow(b, newMoody(nil), flags.Config{})
	b.ReportAllocs()
	for b.Loop() {
		f.Scale()
	}
}
