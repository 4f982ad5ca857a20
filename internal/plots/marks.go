package main

import (
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

type point = plotter.XY

// stroke is a line through points.
func stroke(style draw.LineStyle, points ...point) *plotter.Line {
	return &plotter.Line{XYs: points, LineStyle: style}
}

// area is a filled shape, or several.
func area(fill color.Color, rings ...plotter.XYs) *plotter.Polygon {
	return &plotter.Polygon{XYs: rings, Color: fill}
}

// band is a time that is shaded from bottom to top.
func band(fill color.Color, from, to time.Duration, top float64) *plotter.Polygon {
	a, b := from.Seconds(), to.Seconds()
	return area(fill, plotter.XYs{{X: a}, {X: a, Y: top}, {X: b, Y: top}, {X: b}})
}

// bars are counts per second, from bottom up: one shape for every run of seconds that have any.
func bars(fill color.Color, bottom float64, counts []int) *plotter.Polygon {
	var rings []plotter.XYs
	for i := 0; i < len(counts); {
		if counts[i] == 0 {
			i++
			continue
		}
		ring := plotter.XYs{{X: float64(i), Y: bottom}}
		for ; i < len(counts) && counts[i] > 0; i++ {
			h := bottom + float64(counts[i])
			if last := ring[len(ring)-1].Y; last != h {
				ring = append(ring, point{X: float64(i), Y: h})
			}
			if i+1 == len(counts) || counts[i+1] != counts[i] {
				ring = append(ring, point{X: float64(i + 1), Y: h})
			}
		}
		rings = append(rings, append(ring, point{X: float64(i), Y: bottom}))
	}
	return area(fill, rings...)
}

// note is text at a point of the plot.
func note(at point, style text.Style, words string) *plotter.Labels {
	return &plotter.Labels{XYs: plotter.XYs{at}, Labels: []string{words}, TextStyle: []text.Style{style}}
}

// heading is what a panel is about, in its upper left corner.
func heading(p *plot.Plot, words string) {
	h := note(point{X: p.X.Min, Y: p.Y.Max}, lettering(true, ink, draw.XLeft, draw.YTop), words)
	h.Offset = vg.Point{X: 6, Y: -2}
	p.Add(h)
}

// keyAt puts a panel's legend below its upper edge, its entries beginning so far from the left. They may grow
// to the right where a browser's letters are wider than those that were reckoned with.
func keyAt(p *plot.Plot, left vg.Length) {
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = left, -2
}
