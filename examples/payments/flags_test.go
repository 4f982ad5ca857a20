package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// seen is how long an edit of the flags may take to be seen.
const seen = 2 * time.Second

func TestFlagsSwitchEachLayerWithoutARestart(t *testing.T) {
	onBothStores(t, func(t *testing.T, store ...string) {
		path := flagsFile(t, map[string]any{})
		i := start(t, append(store, "-flags", path, "-rate", "0.001", "-burst", "1", "-max-in-flight", "2", "-workers", "4")...)
		for _, layer := range []string{"ratelimit", "concurrency", "fleetshed", "workershed"} {
			setFlags(t, path, map[string]any{"seawall-" + layer + "-mode": "log-only"})
			counts := func(outcome, mode string) float64 {
				return i.metric(t, "seawall_decisions_total", `layer="`+layer+`"`, `mode="`+mode+`"`, `outcome="`+outcome+`"`)
			}
			taken := func() float64 {
				return counts("allowed", "log-only") + counts("would_deny", "log-only") + counts("skipped", "log-only")
			}
			before := taken()
			require.Eventually(t, func() bool { i.get(t, "/v1/charges", "sk_live_f"); return taken() > before },
				seen, 20*time.Millisecond, "%s in log-only", layer)

			setFlags(t, path, map[string]any{"seawall-" + layer + "-enabled": false})
			total := func() float64 { return i.metric(t, "seawall_decisions_total", `layer="`+layer+`"`) }
			require.Eventually(t, func() bool { n := total(); i.get(t, "/v1/charges", "sk_live_f"); return total() == n },
				seen, 20*time.Millisecond, "%s off", layer)
		}
		setFlags(t, path, map[string]any{"seawall-enabled": false})
		total := func() float64 { return i.metric(t, "seawall_decisions_total") }
		require.Eventually(t, func() bool { n := total(); i.get(t, "/v1/charges", "sk_live_f"); return total() == n },
			seen, 20*time.Millisecond, "all off")
	})
}

func TestLogOnlyCountsExactly(t *testing.T) {
	onBothStores(t, func(t *testing.T, store ...string) {
		path := flagsFile(t, map[string]any{"seawall-ratelimit-mode": "log-only"})
		i := start(t, append(store, "-flags", path, "-rate", "0.01", "-burst", "20")...)
		for range 50 {
			a := i.get(t, "/v1/charges", "sk_live_a")
			require.Equal(t, 200, a.code)
			assert.Empty(t, a.header.Get("RateLimit"), "a dark launch is not visible")
		}
		would := i.metric(t, "seawall_decisions_total", `layer="ratelimit"`, `outcome="would_deny"`)
		assert.InDelta(t, 30, would, i.metric(t, "seawall_fallback_total"))
	})
}

func TestWithEverythingOffRedisSeesNoScriptOfRequests(t *testing.T) {
	server := redistest.Start(t)
	path := flagsFile(t, map[string]any{"seawall-enabled": false})
	i := start(t, "-redis", server.URL(), "-flags", path)
	server.ResetStat(t)
	began := time.Now()
	for range 200 {
		require.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_a").code)
	}
	heartbeats := int64(time.Since(began)/time.Second) + 2
	assert.LessOrEqual(t, server.CommandCalls(t, "evalsha")+server.CommandCalls(t, "eval"), heartbeats)
}

func TestTheScaleFlagMultipliesRatesAndBursts(t *testing.T) {
	path := flagsFile(t, map[string]any{"seawall-ratelimit-scale": 2.5})
	i := start(t, "-flags", path, "-rate", "0.001", "-burst", "4")
	n := map[int]int{}
	for range 15 {
		n[i.get(t, "/v1/charges", "sk_live_a").code]++
	}
	assert.Equal(t, map[int]int{200: 10, 429: 5}, n)
}

func TestAnInvalidFlagsFileKeepsTheLastGoodOne(t *testing.T) {
	path := flagsFile(t, map[string]any{"seawall-ratelimit-mode": "log-only"})
	i := start(t, "-flags", path, "-rate", "0.001", "-burst", "1")
	require.NoError(t, os.WriteFile(path, []byte(`{"flags": {`), 0o600))
	require.Eventually(t, func() bool { return i.metric(t, "seawall_flag_errors_total") >= 1 }, seen, 20*time.Millisecond)
	for range 3 {
		assert.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_a").code)
	}
	setFlags(t, path, map[string]any{"seawall-ratelimit-mode": "enforce"})
	require.Eventually(t, func() bool { return i.get(t, "/v1/charges", "sk_live_a").code == 429 }, seen, 20*time.Millisecond)
}
