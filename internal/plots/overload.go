package main

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/seawall-go/seawall/internal/overload"
)

// tierColours are those of what is indexed by tier.
func tierColours() [overload.Tiers]color.Color { return [...]color.Color{blue, green, plum, pale} }

// colourOf is a run's in panels with all of them.
func colourOf(r overload.Run) color.Color {
	if r.Shedder == overload.Off {
		return orange
	}
	return blue
}

// overloadFigure shows a process that has three times too much to do, without the worker shedder and with it.
func overloadFigure(rec overload.Record) ([]byte, error) {
	panels := []*plot.Plot{
		servedPanel(rec, 0, "without the shedder: served a second, of those sent"),
		servedPanel(rec, 1, "with the shedder"),
		sharePanel(rec), latencyPanel(rec), inFlightPanel(rec), levelPanel(rec),
	}
	return stack(640, panels...)
}

// overloadPanel returns a plot over a run, in which the part with too much load is shaded. Only the last panel has its
// seconds' names.
func overloadPanel(rec overload.Record, last bool, bottom, top float64, heights ...float64) *plot.Plot {
	p := blank()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(rec.Seconds()), bottom, top
	p.Y.Tick.Marker = marks(heights...)
	var edges plot.ConstantTicks
	at := 0
	tick := func() {
		name := " " // without any, the tick would be a shorter one
		if last {
			name = strconv.Itoa(at) + " s"
		}
		edges = append(edges, plot.Tick{Value: float64(at), Label: name})
	}
	tick()
	for _, part := range rec.Parts {
		from, to := float64(at), float64(at+part.Seconds)
		if part.Times > 1 {
			p.Add(area(shade, plotter.XYs{{X: from, Y: bottom}, {X: from, Y: top}, {X: to, Y: top}, {X: to, Y: bottom}}))
		}
		at += part.Seconds
		tick()
	}
	p.X.Tick.Marker = edges
	return p
}

// servedPanel shows a run's requests by tier, the most important at the bottom.
func servedPanel(rec overload.Record, run int, words string) *plot.Plot {
	top := 0.0
	for _, r := range rec.Runs {
		for _, part := range r.Parts {
			top = max(top, 1.25*float64(part.Rate))
		}
	}
	p := overloadPanel(rec, false, 0, top, 0, 100, 200)
	var sent []int
	var upTo [overload.Tiers][]int // served, of this tier and those below it in the figure
	for _, s := range rec.Runs[run].Seconds {
		all, sum := 0, 0
		for tier := range overload.Tiers {
			all, sum = all+s.Sent[tier], sum+s.Served[tier]
			upTo[tier] = append(upTo[tier], sum)
		}
		sent = append(sent, all)
	}
	p.Add(bars(grey, 0, sent))
	colours, names := tierColours(), overload.TierNames()
	for tier := overload.Tiers - 1; tier >= 0; tier-- {
		p.Add(bars(colours[tier], 0, upTo[tier]))
	}
	heading(p, words)
	if run == 0 {
		keyAt(p, 505)
		p.Legend.Add("sent", area(grey))
		for tier := overload.Tiers - 1; tier >= 0; tier-- {
			p.Legend.Add(names[tier], area(colours[tier]))
		}
	}
	return p
}

// sharePanel shows how many of the critical requests are served, in every run.
func sharePanel(rec overload.Record) *plot.Plot {
	p := overloadPanel(rec, false, 0, 135, 0, 50, 100)
	for _, r := range rec.Runs {
		var curve plotter.XYs
		for i, s := range r.Seconds {
			curve = append(curve, point{X: float64(i) + 0.5, Y: 100 * float64(s.Served[0]) / float64(max(1, s.Sent[0]))})
		}
		p.Add(stroke(line(colourOf(r), 1.4), curve...))
	}
	heading(p, "critical requests served, percent; all runs")
	keyAt(p, 300)
	p.Legend.YOffs = -36 // between the curves
	p.Legend.Add("without the shedder", stroke(line(orange, 1.4)))
	p.Legend.Add("with the shedder", stroke(line(blue, 1.4)))
	return p
}

// latencyPanel shows the times that critical requests took, also if it was in vain.
func latencyPanel(rec overload.Record) *plot.Plot {
	most := 1000 * rec.Patience
	p := overloadPanel(rec, false, 0, 1.35*most, 0, most/2, most)
	for _, r := range rec.Runs {
		var curve plotter.XYs
		for i, s := range r.Seconds {
			curve = append(curve, point{X: float64(i) + 0.5, Y: s.P99[0]})
		}
		p.Add(stroke(line(colourOf(r), 1.4), curve...))
	}
	heading(p, "critical requests, p99 in milliseconds; whoever gives up has waited "+strconv.Itoa(int(most)))
	return p
}

// inFlightPanel shows how many requests the process works at, as far as it still says so.
func inFlightPanel(rec overload.Record) *plot.Plot {
	p := overloadPanel(rec, false, 1, 60_000, 1, 10, 100, 1000)
	p.Y.Scale = plot.LogScale{}
	for _, r := range rec.Runs {
		var curve plotter.XYs
		flush := func() {
			if len(curve) > 0 {
				p.Add(stroke(line(colourOf(r), 1.4), curve...))
			}
			curve = nil
		}
		for i, s := range r.Seconds {
			if s.InFlight == nil {
				flush()
				continue
			}
			curve = append(curve, point{X: float64(i + 1), Y: max(1, *s.InFlight)})
		}
		flush()
	}
	workers := float64(rec.Workers)
	p.Add(
		stroke(line(grey, 1, 4, 3), point{X: 0, Y: workers}, point{X: p.X.Max, Y: workers}),
		note(point{X: 0.4, Y: 1.15 * workers}, lettering(false, ink, draw.XLeft, draw.YBottom), strconv.Itoa(rec.Workers)+" workers"),
	)
	heading(p, "requests in flight, as the process counts them; a gap: it did not answer")
	return p
}

// levelPanel shows what the level sheds of each tier, in the runs with the shedder.
func levelPanel(rec overload.Record) *plot.Plot {
	p := overloadPanel(rec, true, 0, 135, 0, 50, 100)
	colours := [overload.Tiers]color.Color{blue, green, plum, grey}
	for _, r := range rec.Runs {
		if r.Shedder == overload.Off {
			continue
		}
		for tier := overload.Tiers - 1; tier >= 0; tier-- {
			var curve plotter.XYs
			for i, s := range r.Seconds {
				if s.Shed != nil {
					curve = append(curve, point{X: float64(i + 1), Y: 100 * s.Shed[tier]})
				}
			}
			p.Add(stroke(line(colours[tier], 1.4), curve...))
		}
	}
	heading(p, "shed by level, percent of the tier; the rest is the hard cap's")
	keyAt(p, 6)
	p.Legend.YOffs = -18 // below the heading, where nothing is shed yet
	names := overload.TierNames()
	for tier := overload.Tiers - 1; tier > 0; tier-- {
		p.Legend.Add(names[tier], stroke(line(colours[tier], 1.4)))
	}
	return p
}
