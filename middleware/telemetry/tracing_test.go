package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/telemetry"
)

// traced sends a request in a server span through layers, and returns the spans that ended.
func traced(t *testing.T, sampler sdktrace.Sampler, cfg seawall.Config, layers ...seawall.Layer) tracetest.SpanStubs {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler))
	cfg.Observer = scrape.Into(t, telemetry.Config{Registerer: prometheus.NewPedanticRegistry(), Logger: discard()})
	server := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			ctx, span := provider.Tracer("server").Start(c.Request().Context(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
			defer span.End()
			c.SetRequest(c.Request().WithContext(ctx))
			return next(c)
		}
	}
	e := serving(server, mounted(t, fixture.Stack(t, cfg, layers...), fixture.Hasher(t).ByAPIKey(identity.APIKey{})))
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", "Bearer sk_live_canary")
	do(e, r)
	spans := exporter.GetSpans()
	require.NoError(t, provider.Shutdown(t.Context()))
	return spans
}

func attributes(s tracetest.SpanStub) map[string]any {
	all := map[string]any{}
	for _, kv := range s.Attributes {
		all[string(kv.Key)] = kv.Value.AsInterface()
	}
	return all
}

func TestDecisionsAreAttributesOfTheServerSpan(t *testing.T) {
	spans := traced(t, sdktrace.AlwaysSample(), seawall.Config{
		Store: fixture.Memory(t, nil), Modes: seawall.Fixed{"concurrency": seawall.LogOnly},
	}, fixture.Rate(t, fixture.Policy("api", 1)), fixture.Slots(t, 1), fixture.Fleet(t, 1), fixture.Workers(t, 1))
	require.Len(t, spans, 2)
	store, server := spans[0], spans[1]
	assert.Equal(t, map[string]any{
		"seawall.workershed.outcome": "allowed", "seawall.workershed.policy": "utilization", "seawall.workershed.mode": "enforce",
		"seawall.ratelimit.outcome": "allowed", "seawall.ratelimit.policy": "api", "seawall.ratelimit.mode": "enforce",
		"seawall.concurrency.outcome": "allowed", "seawall.concurrency.policy": "in-flight", "seawall.concurrency.mode": "log-only",
		"seawall.fleetshed.outcome": "allowed", "seawall.fleetshed.policy": "ordinary", "seawall.fleetshed.mode": "enforce",
	}, attributes(server))
	assert.Equal(t, "seawall.store", store.Name)
	assert.Equal(t, trace.SpanKindClient, store.SpanKind)
	assert.Equal(t, server.SpanContext.SpanID(), store.Parent.SpanID())
	assert.Equal(t, map[string]any{"seawall.checks": int64(3)}, attributes(store))
	assert.Equal(t, codes.Unset, store.Status.Code)
	assert.Equal(t, "github.com/seawall-go/seawall", store.InstrumentationScope.Name)
}

func TestARefusalIsNoErrorOfTheStore(t *testing.T) {
	heavy := fixture.Policy("api", 1)
	heavy.Cost = func(*seawall.Request) int64 { return 2 }
	spans := traced(t, sdktrace.AlwaysSample(), seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, heavy))
	require.Len(t, spans, 2)
	assert.Equal(t, codes.Unset, spans[0].Status.Code)
	assert.Equal(t, "denied", attributes(spans[1])["seawall.ratelimit.outcome"])
}

func TestAFailedStoreCallIsAnErrorOfItsSpanOnly(t *testing.T) {
	for err, reason := range map[error]string{because("oom"): "oom", because("sk_live_canary"): "error"} {
		spans := traced(t, sdktrace.AlwaysSample(), seawall.Config{Store: fixture.Broken{Err: err}}, fixture.Rate(t, fixture.Policy("api", 1)))
		require.Len(t, spans, 2)
		assert.Equal(t, map[string]any{"seawall.checks": int64(1), "error.type": reason}, attributes(spans[0]))
		assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: reason}, spans[0].Status)
		assert.Empty(t, spans[0].Events)
		assert.Equal(t, codes.Unset, spans[1].Status.Code, "the request was served")
	}
}

func TestALocalRefusalHasNoStoreSpan(t *testing.T) {
	w := fixture.Workers(t, 1)
	fixture.Drown(t, w, 1)
	spans := traced(t, sdktrace.AlwaysSample(), seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1)), w)
	require.Len(t, spans, 1)
	assert.Equal(t, "denied", attributes(spans[0])["seawall.workershed.outcome"])
	assert.Equal(t, "skipped", attributes(spans[0])["seawall.ratelimit.outcome"])
}

// dropping samples nothing, and counts the spans that were started.
type dropping struct{ started *int }

func (d dropping) Description() string { return "dropping" }

func (d dropping) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	*d.started++
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

func TestWithoutARecordingSpanNothingIsTraced(t *testing.T) {
	started := 0
	assert.Empty(t, traced(t, dropping{&started}, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1))))
	assert.Equal(t, 1, started, "the server's own")
	reg := prometheus.NewPedanticRegistry()
	e := behind(t, seawall.Config{
		Store: fixture.Memory(t, nil), Observer: scrape.Into(t, telemetry.Config{Registerer: reg}),
	}, fixture.Rate(t, fixture.Policy("api", 1)))
	assert.Equal(t, http.StatusOK, get(e).Code, "no tracer at all")
}

func TestNoCallerIsInTheSpans(t *testing.T) {
	key := fixture.Hasher(t).Key("key", "sk_live_canary").String()
	for _, store := range []seawall.Store{fixture.Memory(t, nil), fixture.Broken{Err: because("sk_live_canary")}} {
		for _, s := range traced(t, sdktrace.AlwaysSample(), seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1)), fixture.Slots(t, 1)) {
			all := append([]attribute.KeyValue{attribute.String("", s.Name), attribute.String("", s.Status.Description)}, s.Attributes...)
			for _, kv := range all {
				assert.NotContains(t, kv.Value.String(), "canary", kv.Key)
				assert.NotContains(t, kv.Value.String(), key, kv.Key)
			}
		}
	}
}
