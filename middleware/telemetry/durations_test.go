package telemetry //nolint:testpackage // nothing of it is exported

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDurationsAreAPrometheusHistogram observes the same in both.
func TestDurationsAreAPrometheusHistogram(t *testing.T) {
	ours := newDurations("took_seconds", "Help.", "layer")
	buckets := make([]float64, 0, len(bounds))
	for _, b := range bounds {
		buckets = append(buckets, b.Seconds())
	}
	theirs := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "took_seconds", Help: "Help.", Buckets: buckets}, []string{"layer"})
	observe := func(layer string, d time.Duration) {
		ours.with(layer).observe(d)
		theirs.WithLabelValues(layer).Observe(d.Seconds())
	}
	rnd := rand.New(rand.NewPCG(9, 0))
	for _, layer := range []string{"a", "b"} {
		for _, b := range bounds {
			observe(layer, b)
			observe(layer, b+1)
		}
		for range 1000 {
			observe(layer, time.Duration(rnd.ExpFloat64()*float64(5*time.Millisecond)))
		}
	}
	observe("c", 0)
	gather := func(c prometheus.Collector) []*dto.Metric {
		reg := prometheus.NewPedanticRegistry()
		require.NoError(t, reg.Register(c))
		families, err := reg.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		assert.Equal(t, "Help.", families[0].GetHelp())
		assert.Equal(t, dto.MetricType_HISTOGRAM, families[0].GetType())
		return families[0].GetMetric()
	}
	got, want := gather(ours), gather(theirs)
	require.Len(t, got, 3)
	for i, w := range want {
		g := got[i]
		assert.Equal(t, w.GetLabel()[0].GetValue(), g.GetLabel()[0].GetValue())
		assert.Equal(t, w.GetHistogram().GetSampleCount(), g.GetHistogram().GetSampleCount())
		assert.InEpsilon(t, w.GetHistogram().GetSampleSum()+1, g.GetHistogram().GetSampleSum()+1, 1e-9)
		require.Len(t, g.GetHistogram().GetBucket(), len(bounds))
		for j, b := range w.GetHistogram().GetBucket() {
			assert.InDelta(t, b.GetUpperBound(), g.GetHistogram().GetBucket()[j].GetUpperBound(), 0)
			assert.Equal(t, b.GetCumulativeCount(), g.GetHistogram().GetBucket()[j].GetCumulativeCount(), "up to %v", bounds[j])
		}
	}
}
