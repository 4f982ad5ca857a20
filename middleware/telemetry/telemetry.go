// Package telemetry shows what Seawall decides: metrics for Prometheus, attributes and spans of OpenTelemetry, and logs.
// It knows no web framework.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
	"github.com/seawall-go/seawall/workershed"
)

// Config says what is observed and where it goes.
type Config struct {
	// Registerer takes the Prometheus metrics. Required.
	Registerer prometheus.Registerer
	// StoreName is the label of seawall_store_duration_seconds, such as "memory" or "redis".
	StoreName string
	// Fleet, Workers and Flags, where given, are exported as gauges and counters.
	Fleet   seawall.Member
	Workers *workershed.Shedder
	Flags   *flags.Flags
	// DenyCache and Breaker, where given, are exported, too: a store.DenyCache and a store.Failover, each shard of which is a series.
	DenyCache interface{ Saved() uint64 }
	Breaker   interface{ Open() bool }
	// Leases, where given, is exported, too: a redisstore.Store.
	Leases interface{ Lapsed() uint64 }
	// CallerID names callers in the log of refusals: identity.Hasher.CallerID. Nil leaves them out.
	CallerID func(seawall.Key) string
	// Logger is told what goes wrong, each kind at most once a second, and, at level Info, why requests are or would be refused: one
	// each second of every policy and mode at most. Nil is slog.Default().
	Logger *slog.Logger
}

// Telemetry is a seawall.Observer that counts in Prometheus, sets attributes on the current span, spans
// the store call, and explains refusals. No caller's key appears in any of it. It is safe for concurrent use.
type Telemetry struct {
	seawall.NopObserver
	decisions *prometheus.CounterVec
	checks    *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	took      *durations
	inflight  *prometheus.GaugeVec
	store     *duration
	log       *slog.Logger
	callerID  func(seawall.Key) string
	started   time.Time
	failures  samplers

	resolved resolved
	asked    func(took time.Duration, err error) // of store calls without a span
}

var _ seawall.Observer = (*Telemetry)(nil)

// New registers the metrics. One Telemetry serves all stacks of a process.
func New(cfg Config) (*Telemetry, error) {
	if cfg.Registerer == nil {
		return nil, errors.New("telemetry: Config.Registerer is nil; want a prometheus.Registerer")
	}
	if cfg.StoreName == "" {
		cfg.StoreName = "store"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	t := &Telemetry{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seawall_decisions_total", Help: "Decisions by layer, policy, mode and outcome.",
		}, []string{"layer", "policy", "mode", "outcome"}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seawall_checks_total", Help: "Requests that a policy was asked about, by mode; several policies may be asked about one request.",
		}, []string{"layer", "policy", "mode"}),
		fallbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seawall_fallback_total", Help: "Checks decided without the shared store, by outcome and reason.",
		}, []string{"layer", "policy", "outcome", "reason"}),
		took: newDurations("seawall_decision_duration_seconds",
			"Time from the start of a decision until the layer's outcome was known.", "layer"),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "seawall_inflight", Help: "Requests of this instance that hold a slot of the layer.",
		}, []string{"layer"}),
		log: cfg.Logger, callerID: cfg.CallerID, started: time.Now(),
	}
	store := newDurations("seawall_store_duration_seconds", "Time that decisions waited for the store.", "store")
	t.store = store.with(cfg.StoreName)
	t.asked = t.storeAsked
	collectors := append([]prometheus.Collector{t.decisions, t.checks, t.fallbacks, t.took, t.inflight, store}, gauges(cfg)...)
	if err := register(cfg.Registerer, collectors); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return t, nil
}

// register registers all the collectors or none.
func register(reg prometheus.Registerer, collectors []prometheus.Collector) error {
	for i, c := range collectors {
		if err := reg.Register(c); err != nil {
			for _, registered := range collectors[:i] {
				reg.Unregister(registered)
			}
			return err
		}
	}
	return nil
}

// gauges export what the store and what wraps it, the worker shedder and the flags know.
func gauges(cfg Config) []prometheus.Collector {
	var all []prometheus.Collector
	counter := func(name, help string, f func() float64) {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f))
	}
	gauge := func(name, help string, labels prometheus.Labels, f func() float64) {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, f))
	}
	if m := cfg.Fleet; m != nil {
		gauge("seawall_fleet_capacity", "Workers of all live instances; half of what it was at least, for a while after many were lost.", nil,
			func() float64 { return float64(m.Fleet().Capacity) })
		gauge("seawall_fleet_used", "Slots of the fleet that all live instances hold.", nil,
			func() float64 { return float64(m.Fleet().Used) })
		gauge("seawall_instances", "Live instances that share the store.", nil,
			func() float64 { return float64(m.Fleet().Instances) })
	}
	if w := cfg.Workers; w != nil {
		gauge("seawall_worker_utilization", "Requests in flight per worker of this instance.", nil, w.Utilization)
		for tier := seawall.TestMode; tier <= seawall.Critical; tier++ {
			gauge("seawall_shed_level", "Share of the tier's requests that this instance sheds.",
				prometheus.Labels{"tier": tier.String()}, func() float64 { return w.ShedFraction(tier) })
		}
		gauge("seawall_worker_pressure", "What the shed level of this instance follows: the largest of its utilization, averaged, and its signals.", nil, w.Pressure)
		gauge("seawall_worker_suggested", "Workers that this instance seems to have, by what it has served in ten minutes; 0 if that is too little to tell.", nil, w.SuggestedWorkers)
		for i, s := range w.Signals() {
			signal := prometheus.Labels{"signal": s.Name}
			gauge("seawall_worker_signal", "The last reading of a signal of the worker shedder.", signal, func() float64 { return w.Signals()[i].Value })
			gauge("seawall_worker_signal_out", "Whether a signal of the worker shedder is left out, since it cannot be read: 0 or 1.", signal, func() float64 {
				if w.Signals()[i].Err != nil {
					return 1
				}
				return 0
			})
		}
	}
	if f := cfg.Flags; f != nil {
		counter("seawall_flag_errors_total", "Flag evaluations and flag files that could not be used.",
			func() float64 { return float64(f.Errors()) })
		gauge("seawall_flags_unread", "Flags of the file, and defaults, that nothing reads: probably misspelt.", nil,
			func() float64 { return float64(f.UnreadCount()) })
		all = append(all, newModes(f))
	}
	if c := cfg.DenyCache; c != nil {
		counter("seawall_deny_cache_saved_total", "Store calls that the deny cache answered.",
			func() float64 { return float64(c.Saved()) })
	}
	if l := cfg.Leases; l != nil {
		counter("seawall_leases_lapsed_total", "Slots that requests of this instance had lost when they were to be renewed.",
			func() float64 { return float64(l.Lapsed()) })
	}
	if b := cfg.Breaker; b != nil {
		gauge("seawall_breaker_state", "Whether the shared store is given up for now: 0 is closed, 1 is open.", nil,
			func() float64 {
				if b.Open() {
					return 1
				}
				return 0
			})
		if sharded, ok := b.(sharded); ok {
			all = append(all, newShards(sharded))
		}
	}
	return all
}

// Decided implements seawall.Observer.
func (t *Telemetry) Decided(ctx context.Context, r *seawall.Request, e seawall.Event) {
	c := t.countersOf(&e)
	c.byMode[e.Mode][e.Outcome].Inc()
	c.took.observe(e.Took)
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(
			attribute.String("seawall."+e.Layer+".outcome", e.Outcome.String()),
			attribute.String("seawall."+e.Layer+".policy", e.Policy),
			attribute.String("seawall."+e.Layer+".mode", e.Mode.String()),
		)
		if e.Outcome.Refuses() {
			span.SetAttributes(whyAttributes(&e)...)
		}
	}
	if e.Outcome.Refuses() {
		t.logWhy(ctx, r, &e, &c.logged[e.Mode])
	}
}

// Checked implements seawall.Observer.
func (t *Telemetry) Checked(_ *seawall.Request, checks []seawall.Check, results []seawall.Result) {
	for i := range results {
		c := &checks[i]
		t.counters(c.Limit).asked[c.Mode()].Inc()
	}
}

// Fallback implements seawall.Observer.
func (t *Telemetry) Fallback(limit *seawall.Limit, outcome seawall.Outcome, reason string) {
	t.fallbacks.WithLabelValues(limit.Layer(), limit.Policy(), outcome.String(), known(reason)).Inc()
}

// known bounds the reason label.
func known(reason string) string {
	switch reason {
	case "timeout", "refused", "tls", "readonly", "oom", "auth", "loading", "busy", "moved", "script", "panic":
		return reason
	}
	return "error"
}

// Asking implements seawall.Observer.
func (t *Telemetry) Asking(ctx context.Context, checks []seawall.Check) func(time.Duration, error) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return t.asked
	}
	_, span := parent.TracerProvider().Tracer("github.com/seawall-go/seawall").Start(ctx, "seawall.store",
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.Int("seawall.checks", len(checks))))
	return func(took time.Duration, err error) {
		t.storeAsked(took, err)
		if err != nil {
			reason := known(seawall.Reason(err))
			span.SetAttributes(attribute.String("error.type", reason))
			span.SetStatus(codes.Error, reason)
		}
		span.End()
	}
}

func (t *Telemetry) storeAsked(took time.Duration, err error) {
	t.store.observe(took)
	if err != nil {
		t.logSampled("seawall: decided without the store", err)
	}
}

// Inflight implements seawall.Observer.
func (t *Telemetry) Inflight(layer string, delta int) {
	t.gauge(layer).Add(float64(delta))
}

// Failed implements seawall.Observer.
func (t *Telemetry) Failed(what string, err error) {
	t.logSampled("seawall: "+what+" failed", err)
}

// logSampled logs each message with each reason at most once a second, with how many it kept back.
func (t *Telemetry) logSampled(msg string, err error) {
	reason := seawall.Reason(err)
	if keptBack, ok := t.failures.of(msg + ": " + reason).take(time.Since(t.started)); ok {
		t.log.Warn(msg, "reason", reason, "error", err, "kept_back", keptBack)
	}
}
