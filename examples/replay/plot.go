package main

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/go-analyze/charts"
)

// The size of a plot, in pixels.
const (
	plotWidth  = 860
	plotHeight = 260
)

// draw draws how many requests came, and how many were refused, over time.
func (s *series) draw() (template.HTML, error) {
	if len(s.parts) == 0 {
		return "", nil
	}
	requests, refused, labels := make([]float64, 0, len(s.parts)+1), make([]float64, 0, len(s.parts)+1), make([]string, 0, len(s.parts)+1)
	layout := "15:04:05"
	if s.width*int64(len(s.parts)) > int64(24*time.Hour) {
		layout = "2006-01-02 15:04"
	}
	for i, p := range s.parts {
		requests, refused = append(requests, float64(p.requests)), append(refused, float64(p.refused))
		labels = append(labels, at(s.from+int64(i)*s.width).Format(layout))
	}
	if len(labels) == 1 { // a line has two ends
		requests, refused, labels = append(requests, requests[0]), append(refused, refused[0]), append(labels, labels[0])
	}
	return line([][]float64{requests, refused}, labels, []string{"requests", "refused"},
		"in each "+brief(time.Duration(s.width)), func(v float64) string { return fmt.Sprintf("%.0f", v) })
}

// drawBursts draws whom bursts would refuse something.
func drawBursts(bursts []int64) (template.HTML, error) {
	if len(bursts) == 0 {
		return "", nil
	}
	most := bursts[len(bursts)-1]
	var shares []float64
	var labels []string
	for burst := int64(1); ; burst = max(burst+1, burst*5/4) {
		shares, labels = append(shares, refusedBy(bursts, burst)), append(labels, fmt.Sprint(burst))
		if burst >= most && len(shares) > 1 {
			break
		}
	}
	return line([][]float64{shares}, labels, []string{"callers who are refused something"}, "by burst, at the policy's rate",
		func(v float64) string { return fmt.Sprintf("%.3g%%", v) })
}

func line(values [][]float64, labels, names []string, title string, format charts.ValueFormatter) (template.HTML, error) {
	o := charts.NewLineChartOptionWithData(values)
	o.Title.Text, o.Title.FontStyle.FontSize = title, 11
	o.Legend.SeriesNames = names
	o.XAxis.Labels = labels
	o.Symbol.Shape = charts.SymbolNone
	o.FillArea = new(true)
	o.LineStrokeWidth = 1.5
	o.ValueFormatter = format
	o.YAxis = []charts.YAxisOption{{Min: new(0.0)}}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: plotWidth, Height: plotHeight})
	if err := p.LineChart(o); err != nil {
		return "", fmt.Errorf("plot: %w", err)
	}
	svg, err := p.Bytes()
	if err != nil {
		return "", fmt.Errorf("plot: %w", err)
	}
	return template.HTML(svg), nil //nolint:gosec // its texts are ours, and numbers
}

// brief is a duration without its empty parts: 1h for 1h0m0s.
func brief(d time.Duration) string {
	text := d.String()
	for _, empty := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, empty) {
			text = strings.TrimSuffix(text, empty[1:])
		}
	}
	return text
}
