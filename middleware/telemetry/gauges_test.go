package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/workershed"
)

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// faulty is a source of flags that has failed seven times.
type faulty struct{}

func (faulty) Errors() int64 { return 7 }
func (faulty) Err() error    { return errors.New("no flags") }

func newFlags(t *testing.T) *flags.Flags {
	t.Helper()
	f, err := flags.New(flags.Config{Source: faulty{}, Logger: discard()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// wrapper is what wraps a store: a cache, and a breaker.
type wrapper struct {
	saved  uint64
	lapsed uint64
	open   bool
}

func (w *wrapper) Saved() uint64  { return w.saved }
func (w *wrapper) Open() bool     { return w.open }
func (w *wrapper) Lapsed() uint64 { return w.lapsed }

// cluster is a wrapper of a store with shards.
type cluster struct {
	wrapper
	shards map[string]bool
}

func (c *cluster) Shards() map[string]bool { return c.shards }

// everything has every metric of Seawall's in reg, by two requests: one that is served, and one that is
// decided without the store, since its error is err's.
func everything(t *testing.T, reg *prometheus.Registry, requests ...*http.Request) {
	t.Helper()
	m, w := fixture.Memory(t, nil), fixture.Workers(t, 4)
	tel := scrape.Into(t, telemetry.Config{
		Registerer: reg, Fleet: m, Workers: w, Flags: newFlags(t), DenyCache: &wrapper{}, Breaker: &cluster{shards: map[string]bool{"redis": true}}, Leases: &wrapper{}, Logger: discard(),
	})
	identify := fixture.Hasher(t).ByAPIKey(identity.APIKey{})
	layers := []seawall.Layer{fixture.Rate(t, fixture.Policy("api", 9)), fixture.Slots(t, 2), fixture.Fleet(t, 8), w}
	good := serving(mounted(t, fixture.Stack(t, seawall.Config{Store: m, Observer: tel}, layers...), identify))
	bad := serving(mounted(t, fixture.Stack(t, seawall.Config{Store: fixture.Broken{Err: because("sk_live_canary")}, Observer: tel}, layers...), identify))
	for _, r := range append(requests, httptest.NewRequest(http.MethodGet, "/", http.NoBody)) {
		do(good, r)
		do(bad, r)
	}
}

func TestGauges(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, w := fixture.Memory(t, nil), fixture.Workers(t, 4)
	scrape.Into(t, telemetry.Config{Registerer: reg, Fleet: m, Workers: w, Flags: newFlags(t)})
	value := func(name string) float64 { return scrape.Series(t, reg, name)[""] }
	assert.Zero(t, value("seawall_fleet_capacity"), "nobody has announced workers")
	assert.Equal(t, 1.0, value("seawall_instances"))
	assert.Equal(t, 7.0, value("seawall_flag_errors_total"))
	assert.Equal(t, map[string]float64{"ratelimit ": 0, "concurrency ": 0, "fleetshed ": 0, "workershed ": 0}, scrape.Series(t, reg, "seawall_mode"))

	s := fixture.Stack(t, seawall.Config{Store: m}, fixture.Fleet(t, 8), w)
	a := s.Admit(t.Context(), &seawall.Request{})
	b := s.Admit(t.Context(), &seawall.Request{Tier: seawall.Critical})
	assert.Equal(t, 8.0, value("seawall_fleet_capacity"))
	assert.Equal(t, 2.0, value("seawall_fleet_used"))
	assert.Equal(t, 0.5, value("seawall_worker_utilization"))
	assert.Equal(t, map[string]float64{"test": 0, "read": 0, "write": 0, "critical": 0}, scrape.Series(t, reg, "seawall_shed_level"))
	a.Done(context.Background())
	b.Done(context.Background())
	assert.Zero(t, value("seawall_fleet_used"))
	assert.Zero(t, value("seawall_worker_utilization"))
}

// TestSignalsAreExported also tells a signal that cannot be read from one that is 0.
func TestSignalsAreExported(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	signal := func(name string, value float64, err error) workershed.Signal {
		return workershed.Signal{Name: name, Read: func(time.Duration) (float64, error) { return value, err }}
	}
	w, step, err := workershed.NewStepped(workershed.Config{
		Workers: 4, Smoothing: 1, Signals: []workershed.Signal{signal("cpu", 0.6, nil), signal("queue", 0.9, because("gone"))}, Logger: discard(),
	})
	require.NoError(t, err)
	step(time.Second)
	scrape.Into(t, telemetry.Config{Registerer: reg, Workers: w})
	assert.Equal(t, map[string]float64{"cpu": 0.6, "queue": 0}, scrape.Series(t, reg, "seawall_worker_signal"))
	assert.Equal(t, map[string]float64{"cpu": 0, "queue": 1}, scrape.Series(t, reg, "seawall_worker_signal_out"))
	assert.Equal(t, map[string]float64{"": 0.6}, scrape.Series(t, reg, "seawall_worker_pressure"))
	assert.Equal(t, map[string]float64{"": 0}, scrape.Series(t, reg, "seawall_worker_suggested"))
}

func TestWhatWrapsTheStoreIsExported(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	w := &wrapper{saved: 41, lapsed: 3}
	scrape.Into(t, telemetry.Config{Registerer: reg, DenyCache: w, Breaker: w, Leases: w})
	value := func(name string) float64 { return scrape.Series(t, reg, name)[""] }
	assert.Equal(t, 41.0, value("seawall_deny_cache_saved_total"))
	assert.Equal(t, 3.0, value("seawall_leases_lapsed_total"))
	assert.Zero(t, value("seawall_breaker_state"))
	w.saved, w.open = 42, true
	assert.Equal(t, 42.0, value("seawall_deny_cache_saved_total"))
	assert.Equal(t, 1.0, value("seawall_breaker_state"))

	without := prometheus.NewPedanticRegistry()
	scrape.Into(t, telemetry.Config{Registerer: without})
	n, err := testutil.GatherAndCount(without, "seawall_deny_cache_saved_total", "seawall_breaker_state", "seawall_leases_lapsed_total")
	require.NoError(t, err)
	assert.Zero(t, n)
}

// TestShardsAreExported as they come and go.
func TestShardsAreExported(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	c := &cluster{}
	scrape.Into(t, telemetry.Config{Registerer: reg, Breaker: c})
	assert.Empty(t, scrape.Series(t, reg, "seawall_shard_state"))
	c.shards = map[string]bool{"redis master 10.0.0.1:6379": false, "redis master 10.0.0.2:6379": true}
	assert.Equal(t, map[string]float64{"redis master 10.0.0.1:6379": 0, "redis master 10.0.0.2:6379": 1}, scrape.Series(t, reg, "seawall_shard_state"))
	delete(c.shards, "redis master 10.0.0.2:6379")
	assert.Len(t, scrape.Series(t, reg, "seawall_shard_state"), 1)
}

func TestNewTelemetryRefusesWhatCannotWork(t *testing.T) {
	_, err := telemetry.New(telemetry.Config{})
	require.ErrorContains(t, err, "Registerer")

	reg := prometheus.NewPedanticRegistry()
	scrape.Into(t, telemetry.Config{Registerer: reg})
	_, err = telemetry.New(telemetry.Config{Registerer: reg})
	var already prometheus.AlreadyRegisteredError
	require.ErrorAs(t, err, &already)
}

func TestAFailedNewTelemetryLeavesNothingRegistered(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	inTheWay := prometheus.NewGauge(prometheus.GaugeOpts{Name: "seawall_instances", Help: "Of somebody else."})
	require.NoError(t, reg.Register(inTheWay))
	cfg := telemetry.Config{Registerer: reg, Fleet: fixture.Memory(t, nil)}
	_, err := telemetry.New(cfg)
	require.Error(t, err)
	n, err := testutil.GatherAndCount(reg)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	cfg.Fleet = nil
	scrape.Into(t, cfg)
}

func TestTheStoreHasAName(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	tel := scrape.Into(t, telemetry.Config{Registerer: reg, StoreName: "memory"})
	get(behind(t, seawall.Config{Store: fixture.Memory(t, nil), Observer: tel}, fixture.Slots(t, 1)))
	assert.Equal(t, map[string]float64{"memory": 1}, scrape.Series(t, reg, "seawall_store_duration_seconds"))
}

func TestNoCallerIsInTheScrape(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	r := httptest.NewRequest(http.MethodGet, "/?q=canary-query", http.NoBody)
	r.Header.Set("Authorization", "Bearer sk_live_canary")
	r.Header.Set("X-Forwarded-For", "203.0.113.77")
	r.Header.Set("User-Agent", "canary-agent")
	unmatched := httptest.NewRequest(http.MethodPost, "/canary-path", http.NoBody)
	unmatched.RemoteAddr = "198.51.100.77:1234"
	unmatched.Host = "canary-host"
	everything(t, reg, r, unmatched)
	scrape := get(promhttp.HandlerFor(reg, promhttp.HandlerOpts{})).Body.String()
	require.Contains(t, scrape, `seawall_fallback_total{layer="concurrency"`)
	h := fixture.Hasher(t)
	for _, secret := range []string{
		"canary", "203.0.113.", "198.51.100.", "192.0.2.",
		h.Key("key", "sk_live_canary").String(), h.Key("addr", "198.51.100.77").String(),
	} {
		assert.NotContains(t, scrape, secret)
	}
}

func TestDurationsHaveBucketsWhereDecisionsAre(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	tel := scrape.Into(t, telemetry.Config{Registerer: reg})
	tel.Decided(t.Context(), nil, seawall.Event{Layer: "ratelimit", Policy: "api", Took: 30 * time.Microsecond})
	scrape := get(promhttp.HandlerFor(reg, promhttp.HandlerOpts{})).Body.String()
	assert.Contains(t, scrape, `seawall_decision_duration_seconds_bucket{layer="ratelimit",le="2e-05"} 0`)
	assert.Contains(t, scrape, `seawall_decision_duration_seconds_bucket{layer="ratelimit",le="5e-05"} 1`)
	assert.Contains(t, scrape, `seawall_decision_duration_seconds_sum{layer="ratelimit"} 3e-05`)
}
