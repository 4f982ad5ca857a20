// Package scrape reads metrics, for tests.
package scrape

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/middleware/telemetry"
)

// Into returns what counts in Prometheus.
func Into(t testing.TB, cfg telemetry.Config) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(cfg)
	require.NoError(t, err)
	return tel
}

// Series reads a metric: the values of its labels in the order of their names, and its number; of a
// histogram, how much it observed.
func Series(t *testing.T, g prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			all[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}
