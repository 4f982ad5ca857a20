package main

import (
	"fmt"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/seawall-go/seawall/workershed/sim"
)

// sheddingFigures are those of shedding.md, by the names of their files.
func sheddingFigures(s *shedding) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, draw := range map[string]func(*shedding) ([]byte, error){
		"shedding.svg": sheddingFigure, "shedding-log-only.svg": logOnlyFigure, "shedding-calm.svg": calmFigure,
	} {
		svg, err := draw(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = svg
	}
	return out, nil
}

// bin is over what time the curves are averages: a call that is answered in another one than it began in is an error, which
// is the smaller the longer they are.
const bin = 10 * time.Second

// scene is a part of a scenario, by which the panels of a figure are drawn.
type scene struct {
	sim.Scenario
	from, to time.Duration
	tick     time.Duration
}

// panel returns a plot over the scene, in which the overload is shaded. Only the last panel has the times' names.
func (c scene) panel(last bool, bottom, top float64, heights ...float64) *plot.Plot {
	p := blank()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = c.from.Seconds(), c.to.Seconds(), bottom, top
	p.Y.Tick.Marker = marks(heights...)
	var ticks plot.ConstantTicks
	for t := c.from; t <= c.to; t += c.tick {
		name := " " // without any, the tick would be a shorter one
		if last {
			name = clock(t)
		}
		ticks = append(ticks, plot.Tick{Value: t.Seconds(), Label: name})
	}
	p.X.Tick.Marker = ticks
	from, to := max(c.from, c.Overload.From).Seconds(), min(c.to, c.Overload.To).Seconds()
	p.Add(area(shade, plotter.XYs{{X: from, Y: bottom}, {X: from, Y: top}, {X: to, Y: top}, {X: to, Y: bottom}}))
	return p
}

// curve goes through a measure of every bin of a run.
func (c scene) curve(r *sim.Result, every time.Duration, of func([]sim.Second) float64) plotter.XYs {
	var points plotter.XYs
	n := int(every / time.Second)
	for i := int(c.from / time.Second); i+n <= min(int(c.to/time.Second), len(r.Seconds)); i += n {
		points = append(points, point{X: float64(i) + float64(n)/2, Y: of(r.Seconds[i : i+n])})
	}
	return points
}

// under is the area below a curve.
func under(curve plotter.XYs) plotter.XYs {
	first, last := curve[0].X, curve[len(curve)-1].X
	return append(append(plotter.XYs{{X: first}}, curve...), point{X: last})
}

// sum adds up a count of a tier over some seconds; of all tiers if tier is negative.
func sum(seconds []sim.Second, tier int, of func(sim.Tier) int) float64 {
	n := 0
	for _, s := range seconds {
		for i, t := range s.Tiers {
			if i == tier || tier < 0 {
				n += of(t)
			}
		}
	}
	return float64(n)
}

const critical = 3 // among the tiers of package sim

func level(seconds []sim.Second) float64 { return 100 * seconds[len(seconds)-1].Level }

// sheddingFigure shows the threefold load without a shedder, with the published constants, and with the defaults.
func sheddingFigure(s *shedding) ([]byte, error) {
	sc, err := s.scenario(threefold)
	if err != nil {
		return nil, err
	}
	c := scene{sc, 0, sc.For, 2 * time.Minute}
	answered := c.panel(false, 0, 190, 0, 60, 120)
	queue := c.panel(false, 1, 1_500_000, 1, 10, 100, 1000, 10_000, 100_000)
	queue.Y.Scale = plot.LogScale{}
	levels := c.panel(true, 0, 135, 0, 50, 100)
	perSecond := func(of func(sim.Tier) int) func([]sim.Second) float64 {
		return func(seconds []sim.Second) float64 { return sum(seconds, critical, of) / float64(len(seconds)) }
	}
	keyAt(answered, 330)
	for i, subject := range []string{unshed, stripe, defaults} {
		r, err := s.of(sc.Name, subject)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			sent := area(pale, under(c.curve(r, bin, perSecond(func(t sim.Tier) int { return t.Calls }))))
			answered.Add(sent)
			answered.Legend.Add("sent", sent)
		}
		style := line([]color.Color{orange, plum, blue}[i], []vg.Length{3.2, 1.6, 1.6}[i]) // the first shows beside those that cover it
		curve := stroke(style, c.curve(r, bin, perSecond(func(t sim.Tier) int { return t.Answered }))...)
		answered.Add(curve)
		answered.Legend.Add([]string{"no shedder", "Stripe's constants, without a hard cap", "the defaults"}[i], curve)
		queue.Add(stroke(style, c.curve(r, bin/2, func(seconds []sim.Second) float64 {
			return max(1, float64(seconds[len(seconds)-1].Queued))
		})...))
		if subject != unshed {
			levels.Add(stroke(style, c.curve(r, bin/2, level)...))
		}
	}
	heading(answered, "critical calls answered in time, a second")
	heading(queue, "requests that wait for a worker; the scale is logarithmic, 0 is drawn as 1")
	heading(levels, "the level: percent of the traffic below critical")
	return stack(400, answered, queue, levels)
}

// logOnlyFigure shows what log-only tells about enforcement, and where it fails.
func logOnlyFigure(s *shedding) ([]byte, error) {
	var panels []*plot.Plot
	names := []string{threefold, dependency, sim.ImpatientClients}
	for i, name := range names {
		sc, err := s.scenario(name)
		if err != nil {
			return nil, err
		}
		c := scene{sc, 0, sc.For, 2 * time.Minute}
		p := c.panel(i == len(names)-1, 0, 140, 0, 50, 100)
		for k, subject := range []string{defaults, logOnly} {
			r, err := s.of(name, subject)
			if err != nil {
				return nil, err
			}
			refused := c.curve(r, bin, func(seconds []sim.Second) float64 {
				calls := sum(seconds, -1, func(t sim.Tier) int { return t.Calls })
				return 100 * sum(seconds, -1, func(t sim.Tier) int { return t.Denied }) / max(1, calls)
			})
			style := []struct {
				colour color.Color
				wide   vg.Length
				dashes []vg.Length
			}{{blue, 2.4, nil}, {orange, 1.4, []vg.Length{4, 2}}}[k]
			curve := stroke(line(style.colour, style.wide, style.dashes...), refused...)
			p.Add(curve)
			if i == 0 {
				keyAt(p, 400)
				p.Legend.Add([]string{"refused, enforced", "would be refused, log-only"}[k], curve)
			}
		}
		heading(p, fmt.Sprintf("%s: percent of the calls", name))
		panels = append(panels, p)
	}
	return stack(340, panels...)
}

// calmFigure shows one threshold and the dead zone, where the load is now above and now below what the service can take.
func calmFigure(s *shedding) ([]byte, error) {
	sc, err := s.scenario(flapping)
	if err != nil {
		return nil, err
	}
	c := scene{sc, time.Minute, 9 * time.Minute, time.Minute}
	load := c.panel(false, 0, 1.7, 0, 1)
	var panels []*plot.Plot
	for i, subject := range []string{bangBang, defaults} {
		r, err := s.of(sc.Name, subject)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			load.Add(area(grey, under(c.curve(r, time.Second, func(seconds []sim.Second) float64 { return seconds[0].Load }))))
			heading(load, "load, as a multiple of what the service can take")
			panels = append(panels, load)
		}
		p := c.panel(i == 1, 0, 150, 0, 50, 100)
		p.Add(stroke(line([]color.Color{orange, blue}[i], 1.2), c.curve(r, time.Second, level)...))
		heading(p, fmt.Sprintf("%s: the level, percent, once a second; turns: %d", []string{"one threshold", "the defaults"}[i], r.Reversals))
		panels = append(panels, p)
	}
	return stack(300, panels...)
}
