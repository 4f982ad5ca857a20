package abuse

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scrape is what /metrics says, parsed.
type scrape map[string]*dto.MetricFamily

// scrape asks for the metrics. That they do not parse fails the test.
func (p *api) scrape(t assert.TestingT) scrape {
	a := p.do(http.MethodGet, "/metrics", "", "")
	assert.Equal(t, http.StatusOK, a.code, a.body)
	return parse(t, a.body)
}

func parse(t assert.TestingT, text string) scrape {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	assert.NoError(t, err)
	return families
}

// sum adds up the samples of a metric that have all the labels, such as "layer", "ratelimit".
func (s scrape) sum(name string, labels ...string) (sum float64) {
	for _, m := range s[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		matches := true
		for i := 0; i < len(labels); i += 2 {
			matches = matches && has[labels[i]] == labels[i+1]
		}
		if matches {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return sum
}

// series are all series but those of seawall_fallback_total: a machine with too much to do has those, and a constant counts
// them. A histogram is one.
func (s scrape) series() (all []string) {
	for name, f := range s {
		if name == "seawall_fallback_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			text := name
			for _, l := range m.GetLabel() {
				text += " " + l.GetName() + "=" + l.GetValue()
			}
			all = append(all, text)
		}
	}
	return all
}

// maxSeries is what a process has at most, whatever clients do.
const maxSeries = 200

// watch is what the command was like before an attack.
type watch struct {
	api    *api
	before scrape
}

// watch notes what the command is like.
func (p *api) watch(t *testing.T) watch { return watch{p, p.scrape(t)} }

// over waits until nothing is left of an attack, and returns the last scrape: no slot is held, here or on Redis, there
// are no new series, no more than a handful of new goroutines, and at most so many new bytes.
//
// The bytes are those of the heap's spans and of the whole process. Neither shrinks before the garbage collector has
// run, which it does every two minutes at the latest: what counts is what the process is allowed to take, and each test
// says why.
func (w watch) over(t *testing.T, bytes float64) (after scrape) {
	t.Helper()
	w.api.client.CloseIdleConnections() // others have left, too
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		after = w.api.scrape(t)
		for _, gauge := range []string{"seawall_inflight", "seawall_fleet_used"} {
			assert.Zero(t, after.sum(gauge), gauge)
		}
		// A few of this scrape's connection, and of connections that the kernel still has to tell of.
		assert.LessOrEqual(t, after.sum("go_goroutines"), w.before.sum("go_goroutines")+20)
		if w.api.redis != nil {
			assert.Zero(t, held(t, w.api.redis), "leases on Redis")
		}
	}, soon, 20*time.Millisecond)
	grown := map[string]bool{}
	for _, s := range after.series() {
		grown[s] = true
	}
	for _, s := range w.before.series() {
		delete(grown, s)
	}
	assert.Empty(t, grown, "new series")
	assert.LessOrEqual(t, len(after.series())+len(after["seawall_fallback_total"].GetMetric()), maxSeries)
	for _, gauge := range []string{"go_memstats_heap_inuse_bytes", "process_resident_memory_bytes"} {
		if gauge == "process_resident_memory_bytes" && w.api.proc == nil {
			continue // it is this test's process, and its race detector's
		}
		assert.LessOrEqual(t, after.sum(gauge)-w.before.sum(gauge), bytes, gauge)
	}
	t.Logf("memory: heap %s, process %s; goroutines %.0f to %.0f; series %d; fallbacks %.0f",
		w.change(after, "go_memstats_heap_inuse_bytes"), w.change(after, "process_resident_memory_bytes"),
		w.before.sum("go_goroutines"), after.sum("go_goroutines"), len(after.series()), after.sum("seawall_fallback_total"))
	return after
}

const mib = 1 << 20

// change shows a number of bytes before and after.
func (w watch) change(after scrape, name string) string {
	return fmt.Sprintf("%.1f to %.1f MiB", w.before.sum(name)/mib, after.sum(name)/mib)
}
