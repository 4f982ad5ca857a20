package main

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	benchmarks "github.com/seawall-go/seawall/internal/bench"
)

// growthFigure shows what a decision costs by how much there is of something, as a multiple of what it costs with least of it.
func growthFigure(rec benchmarks.Record) ([]byte, error) {
	var panels []*plot.Plot
	for _, by := range []string{"keys", "callers", "checks", "instances"} {
		var curves []benchmarks.Curve
		for _, c := range rec.Growth {
			if c.By == by {
				curves = append(curves, c)
			}
		}
		if len(curves) > 0 {
			panels = append(panels, growthPanel(by, curves, len(panels) == 0))
		}
	}
	return stack(560, panels...)
}

// growthPanel shows some curves by the same thing. Its bars are quartiles.
func growthPanel(by string, curves []benchmarks.Curve, key bool) *plot.Plot {
	p := blank()
	p.X.Scale = plot.LogScale{}
	points := curves[0].Points
	first, last := float64(points[0].N), float64(points[len(points)-1].N)
	p.X.Min, p.X.Max = first, last*math.Pow(last/first, 0.15) // beyond the last is room for what is written at a curve's end
	var ticks plot.ConstantTicks
	for _, at := range points {
		ticks = append(ticks, plot.Tick{Value: float64(at.N), Label: benchmarks.Short(at.N)})
	}
	p.X.Tick.Marker = ticks
	top := 1.5
	for _, c := range curves {
		for _, at := range c.Points {
			top = max(top, at.Cost.High/c.Points[0].Cost.Median)
		}
	}
	p.Y.Min, p.Y.Max = 0, 1.35*top
	p.Y.Tick.Marker = marks(1, float64(int(top+0.5))) // 0 would be written over 1 where a curve is steep
	p.Add(stroke(line(pale, hair), point{X: p.X.Min, Y: 1}, point{X: p.X.Max, Y: 1}))
	for _, c := range curves {
		colour := map[string]color.Color{"memstore": blue, "Redis": orange}[c.Where]
		base := c.Points[0].Cost.Median
		var curve plotter.XYs
		for _, at := range c.Points {
			x := float64(at.N)
			curve = append(curve, point{X: x, Y: at.Cost.Median / base})
			p.Add(stroke(line(colour, hair), point{X: x, Y: at.Cost.Low / base}, point{X: x, Y: at.Cost.High / base}))
		}
		p.Add(stroke(line(colour, 1.8), curve...))
		end := note(curve[len(curve)-1], lettering(true, colour, draw.XLeft, draw.YCenter),
			"  "+benchmarks.Number(c.Points[len(c.Points)-1].Cost.Median)+" "+c.Unit)
		p.Add(end)
	}
	heading(p, "by "+by+": "+strings.Join(growths(curves), "; "))
	if key {
		keyAt(p, 505)
		p.Legend.Add("memstore", stroke(line(blue, 1.8)))
		p.Legend.Add("Redis", stroke(line(orange, 1.8)))
	}
	return p
}

// growths are the first words of what the curves' growth is called.
func growths(curves []benchmarks.Curve) []string {
	var all []string
	for _, c := range curves {
		name, _, _ := strings.Cut(c.Growth(), ":")
		all = append(all, c.Where+" "+name)
	}
	return all
}
