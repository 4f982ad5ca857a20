package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/seawall-go/seawall"
)

// whyAttributes explain a refusal, enforced or not, to whoever reads the trace.
func whyAttributes(e *seawall.Event) []attribute.KeyValue {
	of := "seawall." + e.Layer
	return []attribute.KeyValue{
		attribute.String(of+".rule", rule(e)),
		attribute.String(of+".source", e.Source().String()),
		attribute.Int64(of+".limit", e.Result.Limit),
		attribute.Int64(of+".remaining", e.Result.Remaining),
		attribute.String(of+".retry_after", retryAfter(e)),
	}
}

// logWhy explains a refusal in the log, unless there was one of its kind within the last second.
func (t *Telemetry) logWhy(ctx context.Context, r *seawall.Request, e *seawall.Event, s *sampler) {
	if !t.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	keptBack, ok := s.take(time.Since(t.started))
	if !ok {
		return
	}
	msg := "seawall: refused"
	if e.Outcome == seawall.WouldDeny {
		msg = "seawall: would be refused"
	}
	attrs := []slog.Attr{
		slog.String("layer", e.Layer), slog.String("policy", e.Policy), slog.String("rule", rule(e)),
		slog.String("mode", e.Mode.String()), slog.String("source", e.Source().String()),
		slog.Int64("limit", e.Result.Limit), slog.Int64("remaining", e.Result.Remaining),
		slog.String("retry_after", retryAfter(e)), slog.String("route", r.Route), slog.String("tier", r.Tier.String()),
	}
	if t.callerID != nil && e.Check != nil {
		attrs = append(attrs, slog.String("caller", t.callerID(e.Check.Caller(r))))
	}
	t.log.LogAttrs(ctx, slog.LevelInfo, msg, append(attrs, slog.Int64("kept_back", keptBack))...)
}

// rule is the kind of arithmetic that refused; a local layer's is its own business.
func rule(e *seawall.Event) string {
	if e.Check == nil || e.Check.Rule == nil {
		return e.Layer
	}
	return e.Check.Rule.Kind()
}

func retryAfter(e *seawall.Event) string {
	if e.Result.RetryAfter == seawall.Never {
		return "never"
	}
	return e.Result.RetryAfter.String()
}
