package main

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/middleware/report"
)

// reported is what an instance has seen.
func reported(t *testing.T, i *instance) report.Report {
	t.Helper()
	a := i.get(t, "/seawall/report?format=json", "")
	require.Equal(t, 200, a.code, a.body)
	var r report.Report
	require.NoError(t, json.Unmarshal([]byte(a.body), &r))
	return r
}

// TestTheReportOfTwoInstances merges into what both would have refused; both call a caller by the same id.
func TestTheReportOfTwoInstances(t *testing.T) {
	url := redistest.Start(t).URL()
	path := flagsFile(t, map[string]any{"seawall-ratelimit-mode": "log-only"})
	args := []string{"-redis", url, "-flags", path, "-rate", "0.001", "-burst", "10"}
	both := []*instance{start(t, args...), start(t, args...)}
	for k := range 40 {
		require.Equal(t, 200, both[k%2].get(t, "/v1/charges", "sk_live_acme").code)
	}
	require.Eventually(t, func() bool { return reported(t, both[0]).Fleet == 2 }, 5*time.Second, 20*time.Millisecond)
	merged := report.Merge(reported(t, both[0]), reported(t, both[1]))
	require.Len(t, merged.Instances, 2)
	var alone, would float64
	for _, i := range both {
		alone += i.metric(t, "seawall_fallback_total")
		would += i.metric(t, "seawall_decisions_total", `layer="ratelimit"`, `outcome="would_deny"`)
	}
	for _, p := range merged.Policies {
		if p.Name != "api" {
			assert.Zero(t, p.WouldRefuse+p.Refused, p.Name)
			continue
		}
		assert.InDelta(t, would, p.WouldRefuse, 0, "the metrics count the same")
		assert.InDelta(t, 30, p.WouldRefuse, alone)
		assert.Equal(t, []report.Route{{Route: "/v1/charges", Tier: "read", WouldRefuse: p.WouldRefuse}}, p.Routes)
		require.Len(t, p.Callers, 1, "one id")
		c := p.Callers[0]
		assert.Equal(t, "Acme Inc.", c.Name)
		assert.EqualValues(t, 10, c.Limit)
		assert.LessOrEqual(t, c.Enough, int64(40))
		assert.InDelta(t, 40, c.EnoughAtWorst, alone)
		assert.NotContains(t, fmt.Sprint(merged), "sk_live")
	}
}

// TestAFlagTargetsOneCaller by the id that the report gives it.
func TestAFlagTargetsOneCaller(t *testing.T) {
	onBothStores(t, func(t *testing.T, store ...string) {
		path := flagsFile(t, map[string]any{"seawall-ratelimit-mode": "log-only"})
		i := start(t, append(store, "-flags", path, "-rate", "0.001", "-burst", "1")...)
		for range 3 {
			require.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_acme").code)
			require.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_globex").code)
		}
		var acme string
		for _, p := range reported(t, i).Policies {
			for _, c := range p.Callers {
				if c.Name == "Acme Inc." {
					acme = c.ID
				}
			}
		}
		require.NotEmpty(t, acme)
		require.NoError(t, os.WriteFile(path, []byte(`{"flags": {"seawall-ratelimit-mode": {
			"state": "ENABLED", "variants": {"enforce": "enforce", "log-only": "log-only"}, "defaultVariant": "log-only",
			"targeting": {"if": [{"==": [{"var": "targetingKey"}, "`+acme+`"]}, "enforce"]}}}}`), 0o600))
		require.Eventually(t, func() bool { return i.get(t, "/v1/charges", "sk_live_acme").code == 429 }, seen, 20*time.Millisecond)
		for range 3 {
			assert.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_globex").code)
		}
	})
}
