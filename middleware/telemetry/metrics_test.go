package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware/telemetry"
)

// counted is series without those that are zero.
func counted(t *testing.T, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	all := scrape.Series(t, g, name)
	for labels, n := range all {
		if n == 0 {
			delete(all, labels)
		}
	}
	return all
}

func TestDecisionsOfScriptedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		modes seawall.Fixed
		want  map[string]float64 // layer mode outcome policy
	}{
		"enforce": {nil, map[string]float64{
			"workershed enforce allowed utilization": 5,
			"ratelimit enforce allowed api":          2,
			"ratelimit enforce denied api":           3,
			"concurrency enforce allowed in-flight":  2,
			"concurrency enforce skipped in-flight":  3,
			"fleetshed enforce allowed ordinary":     2,
			"fleetshed enforce skipped ordinary":     3,
		}},
		"log-only": {
			seawall.Fixed{"workershed": seawall.LogOnly, "ratelimit": seawall.LogOnly, "concurrency": seawall.LogOnly, "fleetshed": seawall.LogOnly},
			map[string]float64{
				"workershed log-only allowed utilization": 5,
				"ratelimit log-only allowed api":          2,
				"ratelimit log-only would_deny api":       3,
				"concurrency log-only allowed in-flight":  2,
				"concurrency log-only skipped in-flight":  3,
				"fleetshed log-only allowed ordinary":     2,
				"fleetshed log-only skipped ordinary":     3,
			},
		},
		"one dark policy": {seawall.Fixed{"ratelimit:api": seawall.LogOnly}, map[string]float64{
			"workershed enforce allowed utilization": 5,
			"ratelimit log-only allowed api":         2,
			"ratelimit log-only would_deny api":      3,
			"concurrency enforce allowed in-flight":  5,
			"fleetshed enforce allowed ordinary":     5,
		}},
		"off": {seawall.Fixed{"ratelimit": seawall.Off, "concurrency": seawall.Off, "fleetshed": seawall.Off}, map[string]float64{
			"workershed enforce allowed utilization": 5,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			reg := prometheus.NewPedanticRegistry()
			e := behind(t, seawall.Config{
				Store: fixture.Memory(t, nil), Modes: c.modes, Observer: scrape.Into(t, telemetry.Config{Registerer: reg}),
			}, fixture.Rate(t, fixture.Policy("api", 2)), fixture.Slots(t, 5), fixture.Fleet(t, 5), fixture.Workers(t, 5))
			for range 5 {
				get(e)
			}
			want := map[string]float64{}
			perLayer := map[string]float64{}
			for labels, n := range c.want { // in the order of the labels' names
				f := strings.Fields(labels)
				want[f[0]+" "+f[1]+" "+f[2]+" "+f[3]] = n
				perLayer[f[0]] += n
			}
			assert.Equal(t, want, counted(t, reg, "seawall_decisions_total"))
			assert.Equal(t, perLayer, counted(t, reg, "seawall_decision_duration_seconds"))
			assert.Empty(t, counted(t, reg, "seawall_fallback_total"))
			for labels, n := range scrape.Series(t, reg, "seawall_inflight") {
				assert.Zero(t, n, labels)
			}
		})
	}
}

func TestInflightWhileAHandlerRuns(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil), Observer: scrape.Into(t, telemetry.Config{Registerer: reg})},
		fixture.Rate(t, fixture.Policy("api", 9)), fixture.Slots(t, 2), fixture.Fleet(t, 2), fixture.Workers(t, 2))
	e := echo.New()
	e.Use(mounted(t, s, nil))
	e.GET("/", func(echo.Context) error {
		assert.Equal(t, map[string]float64{"concurrency": 1, "fleetshed": 1, "workershed": 1}, scrape.Series(t, reg, "seawall_inflight"))
		panic("boom")
	})
	assert.Panics(t, func() { get(e) })
	assert.Equal(t, map[string]float64{"concurrency": 0, "fleetshed": 0, "workershed": 0}, scrape.Series(t, reg, "seawall_inflight"))
}

// because is an error with a reason.
type because string

func (b because) Error() string  { return "because " + string(b) }
func (b because) Reason() string { return string(b) }

func TestFallbackIsCountedByReason(t *testing.T) {
	closed := fixture.Policy("login", 1)
	closed.OnFailure = seawall.FailClosed
	for _, c := range []struct {
		err    error
		reason string
	}{
		{errors.New("gone"), "error"},
		{context.DeadlineExceeded, "timeout"},
		{because("timeout"), "timeout"},
		{because("refused"), "refused"},
		{because("tls"), "tls"},
		{because("readonly"), "readonly"},
		{because("oom"), "oom"},
		{because("auth"), "auth"},
		{because("loading"), "loading"},
		{because("busy"), "busy"},
		{because("moved"), "moved"},
		{because("script"), "script"},
		{because("panic"), "panic"},
		{because("sk_live_canary"), "error"},
		{because(""), "error"},
	} {
		reg := prometheus.NewPedanticRegistry()
		cfg := seawall.Config{Store: fixture.Broken{Err: c.err}, Observer: scrape.Into(t, telemetry.Config{Registerer: reg, Logger: discard()})}
		e := behind(t, cfg, fixture.Rate(t, fixture.Policy("api", 1), closed), fixture.Slots(t, 1))
		assert.Equal(t, http.StatusServiceUnavailable, get(e).Code)
		cfg.Modes = seawall.Fixed{"ratelimit": seawall.LogOnly}
		assert.Equal(t, http.StatusOK, get(behind(t, cfg, fixture.Rate(t, closed))).Code, "log-only wins over failure policies")
		assert.Equal(t, map[string]float64{
			"ratelimit allowed api " + c.reason:         1,
			"ratelimit denied login " + c.reason:        1,
			"concurrency allowed in-flight " + c.reason: 1,
			"ratelimit would_deny login " + c.reason:    1,
		}, scrape.Series(t, reg, "seawall_fallback_total"))
		assert.Equal(t, map[string]float64{"store": 2}, scrape.Series(t, reg, "seawall_store_duration_seconds"))
	}
}

func TestMetricsAreLintedAndComplete(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	everything(t, reg)
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	assert.Empty(t, problems)

	families, err := reg.Gather()
	require.NoError(t, err)
	labels := map[string]string{}
	for _, f := range families {
		var names []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			names = append(names, l.GetName())
		}
		labels[f.GetName()] = strings.Join(names, " ")
		assert.NotEmpty(t, f.GetHelp(), f.GetName())
	}
	assert.Equal(t, map[string]string{
		"seawall_decisions_total":           "layer mode outcome policy",
		"seawall_fallback_total":            "layer outcome policy reason",
		"seawall_decision_duration_seconds": "layer",
		"seawall_store_duration_seconds":    "store",
		"seawall_checks_total":              "layer mode policy",
		"seawall_flags_unread":              "",
		"seawall_inflight":                  "layer",
		"seawall_mode":                      "layer policy",
		"seawall_fleet_capacity":            "",
		"seawall_fleet_used":                "",
		"seawall_instances":                 "",
		"seawall_worker_utilization":        "",
		"seawall_worker_pressure":           "",
		"seawall_worker_suggested":          "",
		"seawall_shed_level":                "tier",
		"seawall_flag_errors_total":         "",
		"seawall_deny_cache_saved_total":    "",
		"seawall_breaker_state":             "",
		"seawall_shard_state":               "shard",
		"seawall_leases_lapsed_total":       "",
	}, labels)
}

func TestOneTelemetryServesStacksConcurrently(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	cfg := seawall.Config{Store: fixture.Memory(t, nil), Observer: scrape.Into(t, telemetry.Config{Registerer: reg})}
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		e := behind(t, cfg, fixture.Rate(t, fixture.Policy(name, 1000)), fixture.Slots(t, 1000))
		for range 2 {
			wg.Go(func() {
				for range 20 {
					get(e)
				}
			})
		}
	}
	wg.Wait()
	counts := counted(t, reg, "seawall_decisions_total")
	assert.Len(t, counts, 9)
	assert.Equal(t, 40.0, counts["ratelimit enforce allowed a"])
	assert.Equal(t, 320.0, counts["concurrency enforce allowed in-flight"])
}
