package playbook

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAlertsThatAreNoneAreNamed(t *testing.T) {
	t.Parallel()
	const before = "groups:\n  - name: a\n    rules:\n      - "
	for rules, want := range map[string]string{
		before + "alert: A\n        expr: sum(\n":                                       "p.md:4: ",
		before + "alert: A\n        exp: up\n":                                          "field exp not found",
		before + "record: a\n        expr: up\n":                                        `rule "a" is no alert`,
		before + "alert: A\n        expr: up\n        annotations: {a: '{{ $labels'}\n": `annotation "a"`,
		"groups: []\n": "no alerts",
	} {
		_, err := Block{Language: YAML, Lines: []string{rules}, Page: "p.md", Line: 5}.Alerts()
		assert.ErrorContains(t, err, want, rules)
	}
}

// alertOf returns the one alert of rules.
func alertOf(t *testing.T, rules string) rulefmt.Rule {
	t.Helper()
	alerts, err := Block{Language: YAML, Lines: []string{rules}}.Alerts()
	require.NoError(t, err)
	require.Len(t, alerts, 1)
	return alerts[0]
}

func TestAnAlertFiresWhenItHasHeld(t *testing.T) {
	t.Parallel()
	alert := alertOf(t, "groups: [{name: a, rules: [{alert: A, expr: seawall_instances > 1, for: 10m}]}]")
	h, prometheus := NewHistory(), NewPrometheus()
	defer prometheus.Close()
	for _, c := range []struct {
		instances       float64
		during          time.Duration
		pending, firing bool
	}{
		{instances: 1, during: 20 * time.Minute},
		{instances: 2, during: 9 * time.Minute, pending: true},
		{instances: 2, during: 2 * time.Minute, pending: true, firing: true},
		{instances: 1, during: time.Minute},
		{instances: 2, during: 9 * time.Minute, pending: true},
	} {
		s, err := ParseScrape([]byte("seawall_instances 1\n"))
		require.NoError(t, err)
		s[0].Value = c.instances
		h.Scraped(s, c.during)
		raised, err := prometheus.Raise(t.Context(), h, alert)
		require.NoError(t, err)
		assert.Equal(t, c.pending, raised.Pending, c)
		assert.Equal(t, c.firing, len(raised.Firing) > 0, c)
	}
}

func TestAnAnnotationOfNoLabelIsAnError(t *testing.T) {
	t.Parallel()
	alert := alertOf(t, "groups: [{name: a, rules: [{alert: A, expr: seawall_instances > 0, annotations: {a: '{{ $labels.jobs }}'}}]}]")
	s, err := ParseScrape([]byte(scraped))
	require.NoError(t, err)
	h, prometheus := NewHistory(), NewPrometheus()
	defer prometheus.Close()
	h.Scraped(s, time.Minute)
	raised, err := prometheus.Raise(t.Context(), h, alert)
	require.NoError(t, err)
	require.True(t, raised.Pending)
	require.Len(t, raised.Firing, 1)
	_, err = Notice(t.Context(), alert, raised.Firing[0])
	assert.ErrorContains(t, err, "annotation a of A")
}
