package playbook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	// interval is the time between two scrapes.
	interval = 15 * time.Second
	// evaluation is the time between two evaluations of an alert.
	evaluation = time.Minute
)

// Scrape is what a target's /metrics says, with the labels that Prometheus adds.
type Scrape []Sample

// Sample is a series' value.
type Sample struct {
	Series labels.Labels
	Value  float64
}

// ParseScrape reads the text format.
func ParseScrape(text []byte) (Scrape, error) {
	var all Scrape
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		switch entry, err := p.Next(); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("playbook: scrape: %w", err)
		case entry == textparse.EntrySeries:
			var series labels.Labels
			p.Labels(&series)
			_, _, value := p.Series()
			b := labels.NewBuilder(series)
			b.Set("job", "payments").Set("instance", pageAddress)
			all = append(all, Sample{b.Labels(), value})
		}
	}
}

// History is what Prometheus has scraped, on a made-up clock. It is a [storage.Queryable].
type History struct {
	now    int64                     // of the last scrape, in milliseconds
	series map[uint64]*promql.Series // by hash of labels
}

// NewHistory returns one of nothing.
func NewHistory() *History {
	return &History{
		now:    time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC).UnixMilli(),
		series: map[uint64]*promql.Series{},
	}
}

// Now is the time of the last scrape.
func (h *History) Now() time.Time { return time.UnixMilli(h.now) }

// Scraped goes on for so long, with every scrape the same.
func (h *History) Scraped(s Scrape, during time.Duration) {
	for range during / interval {
		h.now += interval.Milliseconds()
		for _, sample := range s {
			key := sample.Series.Hash()
			if h.series[key] == nil {
				h.series[key] = &promql.Series{Metric: sample.Series}
			}
			h.series[key].Floats = append(h.series[key].Floats, promql.FPoint{T: h.now, F: sample.Value})
		}
	}
}

// Querier implements storage.Queryable.
func (h *History) Querier(from, to int64) (storage.Querier, error) {
	selected := func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &seriesSet{}
		for _, series := range h.series {
			if !matches(series.Metric, matchers) {
				continue
			}
			// Copied: the engine reuses what it gets.
			floats := slices.DeleteFunc(slices.Clone(series.Floats), func(p promql.FPoint) bool { return p.T < from || p.T > to })
			if len(floats) > 0 {
				set.all = append(set.all, promql.NewStorageSeries(promql.Series{Metric: series.Metric, Floats: floats}))
			}
		}
		slices.SortFunc(set.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
		return set
	}
	return &storage.MockQuerier{SelectMockFunction: selected}, nil
}

// matches tells whether a series has what is asked for.
func matches(series labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(series.Get(m.Name)) })
}

// seriesSet is series in the order of their labels.
type seriesSet struct {
	all  []storage.Series
	next int
}

func (s *seriesSet) Next() bool                        { s.next++; return s.next <= len(s.all) }
func (s *seriesSet) At() storage.Series                { return s.all[s.next-1] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// Prometheus evaluates expressions.
type Prometheus struct{ engine *promql.Engine }

// NewPrometheus returns one with the settings that Prometheus has by default. Whoever calls it owes a Close.
func NewPrometheus() *Prometheus {
	return &Prometheus{promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: 2 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		LookbackDelta:            5 * time.Minute,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		Parser:                   newParser(),
	})}
}

// Close ends it.
func (p *Prometheus) Close() error { return p.engine.Close() }

// Query returns the answer at the time of the last scrape. A warning, such as of a rate of a gauge, is an error.
func (p *Prometheus) Query(ctx context.Context, h *History, expr string) (promql.Vector, error) {
	q, err := p.engine.NewInstantQuery(ctx, h, nil, expr, h.Now())
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(ctx)
	if err := errors.Join(append(result.Warnings.AsErrors(), result.Err)...); err != nil {
		return nil, err
	}
	vector, err := result.Vector()
	return slices.Clone(vector), err
}

// Since returns the answers at all evaluations from so long before the last scrape on.
func (p *Prometheus) Since(ctx context.Context, h *History, expr string, ago time.Duration) (promql.Matrix, error) {
	q, err := p.engine.NewRangeQuery(ctx, h, nil, expr, h.Now().Add(-ago), h.Now(), evaluation)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(ctx)
	if err := errors.Join(append(result.Warnings.AsErrors(), result.Err)...); err != nil {
		return nil, err
	}
	matrix, err := result.Matrix()
	kept := slices.Clone(matrix)
	for i := range kept {
		kept[i].Floats = slices.Clone(kept[i].Floats)
	}
	return kept, err
}
