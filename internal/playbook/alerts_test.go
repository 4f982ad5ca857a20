package playbook

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// phase is a time in which some counters grow, by so much at every scrape, and at whose begin some gauges change, by so
// much. They are named by selectors.
type phase struct {
	during time.Duration
	grow   map[string]float64
	shift  map[string]float64
}

const (
	checks     = `{__name__="seawall_checks_total", mode="enforce"}`
	allowed    = `{__name__="seawall_decisions_total", mode="enforce", outcome="allowed"}`
	denied     = `seawall_decisions_total{outcome="denied", layer="ratelimit", policy="api"}`
	fallback   = `seawall_fallback_total`
	flagErrors = `seawall_flag_errors_total`
	unread     = `seawall_flags_unread`
	mode       = `seawall_mode{layer="ratelimit", policy=""}`
)

// usual is traffic as on any day: one request in a hundred is refused.
func usual(during time.Duration) phase {
	return phase{during: during, grow: map[string]float64{checks: 100, allowed: 99, denied: 1}}
}

// silence is no traffic.
func silence(during time.Duration) phase { return phase{during: during} }

// alone is traffic that is decided without the shared store, as many in a hundred.
func alone(during time.Duration, share float64) phase {
	return phase{during: during, grow: map[string]float64{checks: 100, allowed: 100, fallback: share}}
}

// refusing is traffic of which as many in a hundred are refused.
func refusing(during time.Duration, share float64) phase {
	return phase{during: during, grow: map[string]float64{checks: 100, allowed: 100 - share, denied: share}}
}

// nonsense is a flag that is found unusable once.
func nonsense() phase {
	return phase{during: interval, grow: map[string]float64{flagErrors: 1}}
}

// misspelt is usual traffic while a flag is one that nothing reads.
func misspelt(during time.Duration) phase {
	p := usual(during)
	p.shift = map[string]float64{unread: 1}
	return p
}

// turned is usual traffic while one layer's mode has been raised, or lowered, by so much; 2 is from enforce to off.
func turned(during time.Duration, by float64) phase {
	p := usual(during)
	p.shift = map[string]float64{mode: by}
	return p
}

// alertCases says of every alert after what it must fire, and after what not although it is close. An alert of a page that
// is not here fails the test. Further, no alert may be raised by usual traffic, nor by none since the page was played.
var alertCases = map[string]struct {
	fires  [][]phase
	spares [][]phase
}{
	"SeawallRefusesMany": {
		fires: [][]phase{{usual(time.Hour), refusing(25*time.Minute, 10)}},
		spares: [][]phase{
			{usual(time.Hour), refusing(25*time.Minute, 4)},
			{usual(time.Hour), refusing(8*time.Minute, 10)},
			{usual(time.Hour), refusing(8*time.Minute, 10), usual(15 * time.Minute)},
		},
	},
	"SeawallDecidesAlone": {
		fires: [][]phase{{usual(time.Hour), alone(15*time.Minute, 100)}},
		spares: [][]phase{
			{usual(time.Hour), alone(15*time.Minute, 1)},
			{usual(time.Hour), alone(4*time.Minute, 100)},
		},
	},
	"SeawallFlagsUnusable": {
		fires:  [][]phase{{usual(time.Hour), nonsense(), usual(5 * time.Minute)}, {usual(time.Hour), misspelt(time.Minute)}},
		spares: [][]phase{{usual(time.Hour), nonsense(), usual(20 * time.Minute)}},
	},
	"SeawallSwitchedOff": {
		fires: [][]phase{{usual(time.Hour), turned(45*time.Minute, 2)}},
		spares: [][]phase{
			{usual(time.Hour), turned(20*time.Minute, 2)},
			{usual(time.Hour), turned(45*time.Minute, 1)}, // log-only
			{usual(time.Hour), turned(45*time.Minute, 2), turned(15*time.Minute, -2)},
			{usual(time.Hour), silence(3 * time.Hour)},
		},
	},
}

// raise proves the page's alerts.
func (p *player) raise(t *testing.T) {
	t.Helper()
	names := NamesOf(append(p.scrapes, p.alone)...)
	start := p.startOfCases()
	for _, selector := range []string{checks, allowed, denied, fallback, flagErrors, unread, mode} {
		require.True(t, grow(t, start, selector, 0), "there is no %s to grow", selector)
	}
	for _, alert := range p.alerts {
		c, ok := alertCases[alert.Alert]
		require.True(t, ok, "alert %s: the test's table does not say when it must fire", alert.Alert)
		require.NoError(t, names.Check(alert.Expr), alert.Alert)

		for i, phases := range c.fires {
			fires := p.raised(t, alert, start, phases)
			assert.NotEmpty(t, fires.Firing, "%s does not fire when it must: case %d", alert.Alert, i+1)
			for _, series := range fires.Firing {
				notice, err := Notice(t.Context(), alert, series)
				require.NoError(t, err)
				t.Logf("%s: %v", alert.Alert, notice)
			}
		}
		for i, spared := range c.spares {
			assert.Empty(t, p.raised(t, alert, start, spared).Firing, "%s fires when it must not: case %d", alert.Alert, i+1)
		}
		assert.Empty(t, p.raised(t, alert, start, []phase{usual(2 * time.Hour)}), "%s: usual traffic", alert.Alert)
		played := p.scrapes[len(p.scrapes)-1]
		assert.Empty(t, p.raised(t, alert, played, []phase{silence(2 * time.Hour)}), "%s: as the page left it, and quiet", alert.Alert)
	}
}

// raised is what an alert comes to after the phases.
func (p *player) raised(t *testing.T, alert rulefmt.Rule, start Scrape, phases []phase) Raised {
	t.Helper()
	metrics, err := metricsOf(alert.Expr)
	require.NoError(t, err)
	h, now := NewHistory(), slices.Clone(start)
	now = slices.DeleteFunc(now, func(s Sample) bool { // nothing else matters, and there is much of it
		return !slices.Contains(metrics, s.Series.Get(model.MetricNameLabel))
	})
	h.Scraped(now, interval)
	for _, ph := range phases {
		for selector, by := range ph.shift {
			grow(t, now, selector, by)
		}
		for range ph.during / interval {
			for selector, by := range ph.grow {
				grow(t, now, selector, by)
			}
			h.Scraped(now, interval)
		}
	}
	raised, err := p.prometheus.Raise(t.Context(), h, alert)
	require.NoError(t, err, alert.Alert)
	return raised
}

// grow adds to the series that a selector means, and tells whether there are any.
func grow(t *testing.T, s Scrape, selector string, by float64) (found bool) {
	t.Helper()
	matchers, err := newParser().ParseMetricSelector(selector)
	require.NoError(t, err)
	for i := range s {
		if matches(s[i].Series, matchers) {
			s[i].Value += by
			found = true
		}
	}
	return found
}

// startOfCases is how the page left the instance, and what only an instance without its Redis has.
func (p *player) startOfCases() Scrape {
	all := slices.Clone(p.scrapes[len(p.scrapes)-1])
	names := NamesOf(all)
	for _, sample := range p.alone {
		if names[sample.Series.Get(model.MetricNameLabel)] == nil {
			all = append(all, sample)
		}
	}
	return all
}
