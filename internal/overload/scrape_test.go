package overload

import (
	"fmt"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape asks the process for its metrics, and fills in what they say about now.
func (p *payments) scrape(s *Second) error {
	resp, err := p.client.Get(p.url + "/metrics")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/metrics answers %s", resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return err
	}
	var shed [Tiers]float64
	for i, tier := range TierNames() {
		shed[i] = gauge(families["seawall_shed_level"], "tier", tier)
	}
	inFlight := gauge(families["seawall_inflight"], "layer", "concurrency")
	utilization := gauge(families["seawall_worker_utilization"], "", "")
	s.InFlight, s.Utilization, s.Shed = &inFlight, &utilization, &shed
	return nil
}

// gauge returns the sample with the label, or the one without any if the label has no name.
func gauge(f *dto.MetricFamily, name, value string) float64 {
	for _, m := range f.GetMetric() {
		if name == "" && len(m.GetLabel()) == 0 {
			return m.GetGauge().GetValue()
		}
		for _, l := range m.GetLabel() {
			if l.GetName() == name && l.GetValue() == value {
				return m.GetGauge().GetValue()
			}
		}
	}
	return 0
}
