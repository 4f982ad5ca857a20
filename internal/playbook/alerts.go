package playbook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// Alerts returns the rules of a yaml block, as Prometheus reads them.
func (b Block) Alerts() ([]rulefmt.Rule, error) {
	groups, errs := rulefmt.Parse([]byte(b.Text()), false, model.LegacyValidation, newParser(), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", b.At(-1), errors.Join(errs...))
	}
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				return nil, fmt.Errorf("%s: rule %q is no alert", b.At(-1), r.Record)
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no alerts; want groups of rules", b.At(-1))
	}
	return all, nil
}

// Raised is what an alert has come to at the time of the last scrape.
type Raised struct {
	Firing  []promql.Series // its expression had a value at every evaluation of the rule's "for"
	Pending bool            // it has one now
}

// Raise evaluates an alert.
func (p *Prometheus) Raise(ctx context.Context, h *History, r rulefmt.Rule) (Raised, error) {
	held := time.Duration(r.For)
	matrix, err := p.Since(ctx, h, r.Expr, held)
	if err != nil {
		return Raised{}, err
	}
	var raised Raised
	for _, series := range matrix {
		if n := len(series.Floats); n > 0 && series.Floats[n-1].T == h.now {
			raised.Pending = true
			if n == int(held/evaluation)+1 {
				raised.Firing = append(raised.Firing, series)
			}
		}
	}
	return raised, nil
}

// Notice expands the annotations of an alert that fires. A label that it does not have is an error.
func Notice(ctx context.Context, r rulefmt.Rule, firing promql.Series) (map[string]string, error) {
	last := firing.Floats[len(firing.Floats)-1]
	data := template.AlertTemplateData(firing.Metric.Map(), nil, "", promql.Sample{T: last.T, F: last.F, Metric: firing.Metric})
	const names = "{{$labels := .Labels}}{{$value := .Value}}"
	all := map[string]string{}
	for name, text := range r.Annotations {
		e := template.NewTemplateExpander(ctx, names+text, r.Alert, data, model.Time(last.T), nil, nil, []string{"missingkey=error"})
		expanded, err := e.Expand()
		if err != nil {
			return nil, fmt.Errorf("annotation %s of %s: %w", name, r.Alert, err)
		}
		all[name] = strings.TrimSpace(expanded)
	}
	return all, nil
}
