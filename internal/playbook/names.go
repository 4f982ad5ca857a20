package playbook

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// Names are the metrics that there are, with their labels and the values of these.
type Names map[string]map[string][]string

// NamesOf returns the names in scrapes. A label that some series of a metric lack also has the value "" there.
func NamesOf(scrapes ...Scrape) Names {
	n, all := Names{}, slices.Concat(scrapes...)
	for _, sample := range all {
		name := sample.Series.Get(model.MetricNameLabel)
		if n[name] == nil {
			n[name] = map[string][]string{}
		}
		sample.Series.Range(func(l labels.Label) { n.add(name, l.Name, l.Value) })
	}
	for _, sample := range all {
		name := sample.Series.Get(model.MetricNameLabel)
		for label := range n[name] {
			n.add(name, label, sample.Series.Get(label))
		}
	}
	return n
}

func (n Names) add(metric, label, value string) {
	if !slices.Contains(n[metric][label], value) {
		n[metric][label] = append(n[metric][label], value)
	}
}

// Check parses an expression and returns what in it there is not: Prometheus takes a misspelt name for one without samples.
// Of a selector with != or !~, too, the value must be one that there is; of a regular expression each alternative, or
// one value at least if it is more than alternatives. A label that an operator names must be one of a metric in its operands.
func (n Names) Check(expr string) error {
	parsed, err := newParser().ParseExpr(expr)
	if err != nil {
		return err
	}
	var errs []error
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			errs = append(errs, n.checkSelector(node))
		case *parser.AggregateExpr:
			errs = append(errs, n.checkLabels(node, node.Grouping))
		case *parser.BinaryExpr:
			if m := node.VectorMatching; m != nil {
				errs = append(errs, n.checkLabels(node, m.MatchingLabels), n.checkLabels(node, m.Include))
			}
		}
		return nil
	})
	return errors.Join(errs...)
}

func (n Names) checkSelector(s *parser.VectorSelector) error {
	known := n[s.Name]
	if known == nil {
		return fmt.Errorf("there is no metric %q", s.Name)
	}
	var errs []error
	for _, m := range s.LabelMatchers {
		values := known[m.Name]
		if values == nil {
			errs = append(errs, fmt.Errorf("metric %s has no label %q", s.Name, m.Name))
			continue
		}
		meant := []string{m.Value}
		if m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp {
			meant = m.SetMatches()
			some := func(v string) bool { return m.Matches(v) == (m.Type == labels.MatchRegexp) }
			if len(meant) == 0 && !slices.ContainsFunc(values, some) {
				errs = append(errs, fmt.Errorf("metric %s has no %s that matches %q; has %q", s.Name, m.Name, m.Value, values))
			}
		}
		for _, value := range meant {
			if !slices.Contains(values, value) {
				errs = append(errs, fmt.Errorf("metric %s has no %s=%q; has %q", s.Name, m.Name, value, values))
			}
		}
	}
	return errors.Join(errs...)
}

// checkLabels looks for each of the labels in the metrics that the expression has.
func (n Names) checkLabels(expr parser.Expr, names []string) error {
	var errs []error
	for _, name := range names {
		found := false
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if s, ok := node.(*parser.VectorSelector); ok && n[s.Name][name] != nil {
				found = true
			}
			return nil
		})
		if !found {
			errs = append(errs, fmt.Errorf("no metric in %s has a label %q", expr, name))
		}
	}
	return errors.Join(errs...)
}

// metricsOf returns the names of the metrics in an expression.
func metricsOf(expr string) ([]string, error) {
	parsed, err := newParser().ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, selectors := range parser.ExtractSelectors(parsed) {
		for _, m := range selectors {
			if m.Name == model.MetricNameLabel {
				all = append(all, m.Value)
			}
		}
	}
	return all, nil
}
