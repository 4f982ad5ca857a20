package playbook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const scraped = `# TYPE seawall_decisions_total counter
seawall_decisions_total{layer="ratelimit",mode="enforce",outcome="allowed",policy="api"} 5
seawall_decisions_total{layer="ratelimit",mode="log-only",outcome="would_deny",policy="api"} 3
# TYPE seawall_store_duration_seconds histogram
seawall_store_duration_seconds_bucket{store="memory",le="+Inf"} 60
seawall_store_duration_seconds_sum{store="memory"} 1
seawall_store_duration_seconds_count{store="memory"} 60
# TYPE seawall_instances gauge
seawall_instances 1
`

func TestNamesThatThereAreNotAreFound(t *testing.T) {
	t.Parallel()
	s, err := ParseScrape([]byte(scraped))
	require.NoError(t, err)
	require.Len(t, s, 6)
	names := NamesOf(s)
	for _, good := range []string{
		`sum by (layer, policy) (rate(seawall_decisions_total{outcome="would_deny", mode!="enforce"}[5m]))`,
		`seawall_decisions_total{outcome=~"allowed|would_deny"} / ignoring(mode) seawall_decisions_total{policy=~"a.+"}`,
		`histogram_quantile(0.99, sum by (le) (rate(seawall_store_duration_seconds_bucket[5m])))`,
		`seawall_instances{job="payments", instance=~".+:8080"} or vector(0)`,
	} {
		assert.NoError(t, names.Check(good), good)
	}
	for bad, want := range map[string]string{
		`seawall_decisions_total / on(layer) group_left(tier) seawall_decisions_total`: `has a label "tier"`,
		`seawall_decision_total`:                                                      `there is no metric "seawall_decision_total"`,
		`rate(seawall_store_duration_seconds[5m])`:                                    `there is no metric "seawall_store_duration_seconds"`,
		`seawall_decisions_total{outcome="would-deny"}`:                               `no outcome="would-deny"; has ["allowed" "would_deny"]`,
		`seawall_decisions_total{outcome!="would-deny"}`:                              `no outcome="would-deny"`,
		`seawall_decisions_total{outcome=~"allowed|denied"}`:                          `no outcome="denied"`,
		`seawall_decisions_total{outcome=~"deni.+"}`:                                  `no outcome that matches "deni.+"`,
		`seawall_decisions_total{outcome!~"deni.+"}`:                                  `no outcome that matches "deni.+"`,
		`seawall_decisions_total{result="allowed"}`:                                   `has no label "result"`,
		`{job="payments"}`:                                                            `there is no metric ""`,
		`sum by (limiter) (seawall_decisions_total)`:                                  `has a label "limiter"`,
		`sum by (layer) (seawall_instances)`:                                          `has a label "layer"`,
		`seawall_decisions_total / on(tier) group_left(mode) seawall_decisions_total`: `has a label "tier"`,
		`sum(seawall_instances`:                                                       `unclosed left parenthesis`,
		`rate(seawall_instances)`:                                                     `expected type range vector`,
		`quantil(0.9, seawall_instances)`:                                             `unknown function`,
	} {
		assert.ErrorContains(t, names.Check(bad), want, bad)
	}
}

func TestPrometheusAnswers(t *testing.T) {
	t.Parallel()
	s, err := ParseScrape([]byte(scraped))
	require.NoError(t, err)
	h, prometheus := NewHistory(), NewPrometheus()
	defer prometheus.Close()
	h.Scraped(s, 10*time.Minute)
	s[1].Value += 6
	h.Scraped(s, time.Minute)
	answer, err := prometheus.Query(t.Context(), h, `increase(seawall_decisions_total[5m]) > 0`)
	require.NoError(t, err)
	require.Len(t, answer, 1)
	assert.InDelta(t, 6, answer[0].F, 1)
	assert.Equal(t, "would_deny", answer[0].Metric.Get("outcome"))

	h.Scraped(s, 10*time.Minute)
	answer, err = prometheus.Query(t.Context(), h, `increase(seawall_decisions_total[5m]) > 0`)
	require.NoError(t, err)
	assert.Empty(t, answer)
	_, err = ParseScrape([]byte("seawall_instances{"))
	assert.Error(t, err)
}
