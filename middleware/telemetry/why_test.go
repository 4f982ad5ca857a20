package telemetry_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
)

// explained sends requests of one caller, each in a span, and returns what the log and the last span say.
func explained(t *testing.T, times int, cfg seawall.Config, layers ...seawall.Layer) (logged []map[string]any, span map[string]any) {
	t.Helper()
	log := &lines{}
	cfg.Observer = scrape.Into(t, telemetry.Config{
		Registerer: prometheus.NewPedanticRegistry(), Logger: slog.New(log), CallerID: seawall.SecretOf([32]byte{1}).CallerID,
	})
	s := fixture.Stack(t, cfg, layers...)
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	for range times {
		exporter.Reset()
		ctx, span := provider.Tracer("server").Start(context.Background(), "GET /")
		r := &seawall.Request{Key: seawall.NewKey("canary"), Route: "/v1/charges", Tier: seawall.Write}
		s.Admit(ctx, r).Done(ctx)
		span.End()
	}
	spans := exporter.GetSpans()
	require.NoError(t, provider.Shutdown(context.Background()))
	return log.all, attributes(spans[len(spans)-1])
}

// TestEveryRefusalIsExplained has each source refuse in each mode.
func TestEveryRefusalIsExplained(t *testing.T) {
	heavy := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerHour(1), 3), Cost: func(*seawall.Request) int64 { return 2 }}
	drowned := fixture.Workers(t, 1)
	fixture.Drown(t, drowned, 1)
	cached := func(t *testing.T) seawall.Store {
		c, err := store.NewDenyCache(store.DenyCacheConfig{Store: fixture.Memory(t, &fixture.Clock{})})
		require.NoError(t, err)
		return c
	}
	closed := fixture.Policy("login", 5)
	closed.OnFailure = seawall.FailClosed
	for name, c := range map[string]struct {
		times   int
		store   seawall.Store
		layer   seawall.Layer
		policy  string
		rule    string
		source  string
		limit   int64
		remains int64
		retry   string
	}{
		"the store":      {2, fixture.Memory(t, &fixture.Clock{}), fixture.Rate(t, heavy), "api", "bucket", "store", 3, 1, "1h0m0s"},
		"a cap":          {3, fixture.Memory(t, &fixture.Clock{}), fixture.Slots(t, 1), "in-flight", "lease", "store", 1, 0, ""},
		"without it":     {1, fixture.Broken{Err: because("timeout")}, fixture.Rate(t, closed), "login", "bucket", "local", 0, 0, "1s"},
		"this instance":  {1, fixture.Memory(t, nil), drowned, "utilization", "workershed", "local", 1, 0, ""},
		"the deny cache": {3, cached(t), fixture.Rate(t, heavy), "api", "bucket", "deny cache", 3, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := seawall.Config{Store: c.store}
			if name == "a cap" {
				held := fixture.Stack(t, cfg, c.layer).Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("canary")})
				defer held.Done(t.Context())
			}
			logged, span := explained(t, c.times, cfg, c.layer)
			var why map[string]any
			for _, line := range logged {
				if line["msg"] == "seawall: refused" {
					why = line
				}
			}
			require.NotNil(t, why, "%v", logged)
			of := "seawall." + c.layer.Name()
			assert.Equal(t, "denied", span[of+".outcome"])
			assert.Equal(t, c.source, span[of+".source"], "of the last")
			for key, want := range map[string]any{"policy": c.policy, "rule": c.rule, "mode": "enforce", "limit": c.limit, "remaining": c.remains} {
				assert.Equal(t, want, span[of+"."+key], key)
				assert.Equal(t, want, why[key], key)
			}
			if c.retry != "" {
				assert.Equal(t, c.retry, span[of+".retry_after"])
				assert.Equal(t, c.retry, why["retry_after"])
			}
			assert.Equal(t, c.layer.Name(), why["layer"])
			assert.Equal(t, "/v1/charges", why["route"])
			assert.Equal(t, "write", why["tier"])
			assert.Equal(t, seawall.SecretOf([32]byte{1}).CallerID(seawall.NewKey("canary")), why["caller"])
			assert.Equal(t, slog.LevelInfo, why["level"])
		})
	}
}

func TestADarkRefusalIsExplained(t *testing.T) {
	logged, span := explained(t, 2, seawall.Config{
		Store: fixture.Memory(t, &fixture.Clock{}), Modes: seawall.Fixed{"ratelimit": seawall.LogOnly},
	}, fixture.Rate(t, fixture.Policy("api", 1)), fixture.Slots(t, 1))
	require.Len(t, logged, 1)
	assert.Equal(t, "seawall: would be refused", logged[0]["msg"])
	assert.Equal(t, "log-only", logged[0]["mode"])
	assert.Equal(t, "store", logged[0]["source"])
	assert.Equal(t, "would_deny", span["seawall.ratelimit.outcome"])
	assert.Equal(t, "bucket", span["seawall.ratelimit.rule"])
	assert.NotContains(t, span, "seawall.concurrency.rule", "what is admitted needs no explanation")
}

// TestRefusalsAreSampled: one a second of each policy and mode, and none is lost count of.
func TestRefusalsAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		tel := scrape.Into(t, telemetry.Config{Registerer: prometheus.NewPedanticRegistry(), Logger: slog.New(log)})
		limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
		require.NoError(t, err)
		r := &seawall.Request{Key: seawall.NewKey("canary")}
		refuse := func(policy string, mode seawall.Mode, outcome seawall.Outcome) {
			tel.Decided(t.Context(), r, seawall.Event{
				Layer: "ratelimit", Policy: policy, Mode: mode, Outcome: outcome,
				Check: &seawall.Check{Limit: limit, Key: r.Key}, Result: seawall.Result{RetryAfter: seawall.Never},
			})
		}
		for range 100 {
			refuse("api", seawall.Enforce, seawall.Denied)
			refuse("api", seawall.LogOnly, seawall.WouldDeny)
			refuse("other", seawall.Enforce, seawall.Denied)
			refuse("other", seawall.Enforce, seawall.Allowed)
		}
		require.Len(t, log.all, 3)
		assert.Equal(t, "never", log.all[0]["retry_after"])
		assert.NotContains(t, log.all[0], "caller", "without what names callers")
		time.Sleep(time.Second)
		refuse("api", seawall.Enforce, seawall.Denied)
		require.Len(t, log.all, 4)
		assert.EqualValues(t, 99, log.all[3]["kept_back"])
	})
}
