package telemetry

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seawall-go/seawall/flags"
)

// modes exports which mode everything is in, so that a forgotten kill switch can be seen, and alarmed of.
type modes struct {
	flags *flags.Flags
	desc  *prometheus.Desc
}

func newModes(f *flags.Flags) modes {
	return modes{f, prometheus.NewDesc("seawall_mode",
		"Mode of a layer, or of a policy by itself, as flags say for a caller whom they do not target: 0 enforce, 1 log-only, 2 off.",
		[]string{"layer", "policy"}, nil)}
}

// Describe implements prometheus.Collector.
func (m modes) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

// Collect implements prometheus.Collector.
func (m modes) Collect(ch chan<- prometheus.Metric) {
	for name, mode := range m.flags.Modes() {
		layer, policy, _ := strings.Cut(name, ":")
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(mode), layer, policy)
	}
}
