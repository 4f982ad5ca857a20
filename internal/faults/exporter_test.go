package faults

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/seawall-go/seawall/internal/redistest"
)

const (
	spanQueue, spanBatch = 64, 32 // of the application's processor
	// atOnce is how many spans may end in the very moment in which the exporter returns.
	atOnce = 16
)

// exporters are the faults of where an application's telemetry goes.
func exporters() []fault {
	return []fault{{
		number: 50, name: "Exporter hangs", injection: "an OpenTelemetry exporter that never returns, behind the application's batch processor",
		promise: usual + ", with ≤ 1 ms added and no fallback; spans that wait ≤ the processor's queue", short: true,
		run: exporterHangs,
	}}
}

func exporterHangs(t *testing.T, r *row) {
	e := &exporter{names: map[string]int{}}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(e, sdktrace.WithMaxQueueSize(spanQueue), sdktrace.WithMaxExportBatchSize(spanBatch),
			sdktrace.WithBatchTimeout(5*time.Millisecond)),
		sdktrace.WithSpanProcessor(e)) // it counts what the one above has let go
	t.Cleanup(func() {
		e.release()
		assert.NoError(t, provider.Shutdown(context.Background()))
	})
	s := setup{url: redistest.Start(t).URL(), tracer: provider.Tracer("application")}
	answered := 0
	r.survives(t, s, outage{
		inject: func() {
			e.hang()
			assert.Less(t, until(e.hangs), soon, "an export does not return")
		},
		heal:  func() { answered = e.release() },
		brief: true, added: addedByNothing,
	})
	assert.NoError(t, provider.ForceFlush(t.Context()))
	e.mu.Lock()
	defer e.mu.Unlock()
	r.note("%d requests answered meanwhile; of their %d spans %d waited, and %d were dropped", answered, e.during, e.waited, e.during-e.waited)
	p := thePace()
	assert.Greater(t, answered, int(float64(p.rate)*p.faulty.Seconds()/2), "requests answered while the exporter hung")
	assert.Greater(t, e.during, spanQueue+spanBatch+atOnce, "nobody waits for room in the queue")
	assert.LessOrEqual(t, e.waited, spanQueue+spanBatch+atOnce, "spans that wait are few")
	assert.Positive(t, e.names["seawall.store"], "Seawall's spans are among them: %v", e.names)
}

// exporter is where spans go, and a processor that counts them. While it hangs, its exports do not return, whatever their
// context says.
type exporter struct {
	mu             sync.Mutex
	gate           chan struct{} // closed when it hangs no more; nil if it does not
	stuck          int           // exports that do not return
	began, ended   time.Time     // of the last time that it hung
	during, waited int           // spans that ended then; those of them that were exported afterwards
	requests       int           // spans of the application that ended then
	names          map[string]int
}

// hang has exports hang from now on.
func (e *exporter) hang() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gate, e.began, e.ended = make(chan struct{}), time.Now(), time.Time{}
	e.during, e.waited, e.requests = 0, 0, 0
}

// hangs tells whether an export does.
func (e *exporter) hangs() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stuck > 0
}

// release has all exports return, and tells how many requests were answered meanwhile.
func (e *exporter) release() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gate != nil {
		e.ended = time.Now()
		close(e.gate)
		e.gate = nil
	}
	return e.requests
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *exporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	gate := e.gate
	if gate != nil {
		e.stuck++
		e.mu.Unlock()
		<-gate
		e.mu.Lock()
		e.stuck--
	}
	defer e.mu.Unlock()
	for _, s := range spans {
		e.names[s.Name()]++
		if at := s.EndTime(); at.After(e.began) && at.Before(e.ended) {
			e.waited++
		}
	}
	return nil
}

// OnStart implements sdktrace.SpanProcessor.
func (*exporter) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (e *exporter) OnEnd(s sdktrace.ReadOnlySpan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gate != nil {
		e.during++
		if s.Name() == requestSpan {
			e.requests++
		}
	}
}

// ForceFlush implements sdktrace.SpanProcessor.
func (*exporter) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdktrace.SpanExporter and sdktrace.SpanProcessor.
func (*exporter) Shutdown(context.Context) error { return nil }
