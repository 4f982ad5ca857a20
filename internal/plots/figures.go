package main

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	benchmarks "github.com/seawall-go/seawall/internal/bench"
	"github.com/seawall-go/seawall/internal/overload"
)

// figures draws all figures, by the names of their files.
func figures(shed *shedding) (map[string][]byte, error) {
	all, err := replayAll()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for name, of := range map[string]func([]replayed) ([]byte, error){
		"traffic.svg": trafficFigure, "edge.svg": edgeFigure, "remaining.svg": remainingFigure,
	} {
		if out[name], err = of(all); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	rec, err := overload.Measured()
	if err != nil {
		return nil, err
	}
	if out["overload.svg"], err = overloadFigure(rec); err != nil {
		return nil, err
	}
	benched, err := benchmarks.Measured()
	if err != nil {
		return nil, err
	}
	if out["growth.svg"], err = growthFigure(benched); err != nil {
		return nil, err
	}
	more, err := sheddingFigures(shed)
	maps.Copy(out, more)
	return out, err
}

// The minute around the edge that is shaded.
const shadeFrom, shadeTo = edge - 30*time.Second, edge + 30*time.Second

// trafficFigure shows what every rule admits of the traffic, and what it refuses, second by second.
func trafficFigure(all []replayed) ([]byte, error) {
	const top = 15
	offered := perSecond(all[0], func(answer) bool { return true })
	first := panel(false, top, 0, 10)
	first.Add(band(shade, shadeFrom, shadeTo, top), bars(grey, 0, offered))
	heading(first, "what a caller sends, requests a second")
	keyAt(first, 445)
	first.Legend.Add("admitted", area(blue))
	first.Legend.Add("refused", area(orange))
	first.Legend.Add("the minute around 3:00", area(shade))
	panels := []*plot.Plot{first}
	for i, r := range all {
		p := panel(i == len(all)-1, top, 0, 10)
		p.Add(
			band(shade, shadeFrom, shadeTo, top),
			bars(orange, 0, offered), // what is not covered by
			bars(blue, 0, perSecond(r, func(a answer) bool { return a.admitted })),
		)
		heading(p, r.name)
		p.Add(
			note(point{X: edge.Seconds(), Y: top - 0.3}, lettering(true, ink, draw.XCenter, draw.YTop),
				fmt.Sprintf("%d admitted", r.admitted(shadeFrom, shadeTo))),
			note(point{X: length.Seconds() - 79, Y: top - 0.3}, lettering(false, ink, draw.XLeft, draw.YTop),
				fmt.Sprintf("most in any 60 s: %d", r.most(window))),
		)
		panels = append(panels, p)
	}
	return stack(440, panels...)
}

// perSecond counts the answers of a kind in every second of the traffic.
func perSecond(r replayed, kind func(answer) bool) []int {
	counts := make([]int, int(length/time.Second))
	for _, a := range r.answers {
		if kind(a) {
			counts[a.at/time.Second]++
		}
	}
	return counts
}

// edgeFigure shows how many requests of the burst around the edge were admitted so far.
func edgeFigure(all []replayed) ([]byte, error) {
	const before, after, end = 8, 14, 9 // seconds from the edge; at the end the curves have their names
	const gap = 6.5                     // between names, in requests
	sent := func(r replayed) []answer { return r.between(straddle.from, straddle.end()) }
	n := len(sent(all[0]))
	p := blank()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -before, after, 0, float64(n)*1.1
	p.Y.Tick.Marker = marks(0, limit/2, limit, 3*limit/2, 2*limit)
	p.X.Tick.Marker = plot.ConstantTicks{{Value: -6, Label: "2:54"}, {Value: -3, Label: "2:57"}, {Value: 0, Label: "3:00"}, {Value: 3, Label: "3:03"}, {Value: 6, Label: "3:06"}, {Value: end, Label: "3:09"}}
	p.Add(
		stroke(line(pale, hair), point{X: 0, Y: 0}, point{X: 0, Y: p.Y.Max}),
		stroke(line(grey, 1, 4, 3), point{X: -before, Y: limit}, point{X: end, Y: limit}),
		note(point{X: -before + 0.15, Y: limit + 1}, lettering(false, ink, draw.XLeft, draw.YBottom), fmt.Sprintf("%d a minute", limit)),
	)
	heading(p, fmt.Sprintf("admitted so far of the %d requests around 3:00", n))
	byHeight := slices.Clone(all)
	slices.SortStableFunc(byHeight, func(a, b replayed) int { return len(admittedOf(sent(a))) - len(admittedOf(sent(b))) })
	colours, name := []color.Color{green, plum, blue, ink}, 0.0
	for i, r := range byHeight {
		curve, sum := plotter.XYs{{X: -before}}, 0.0
		for _, a := range admittedOf(sent(r)) {
			x := (a.at - edge).Seconds()
			curve = append(curve, point{X: x, Y: sum}, point{X: x, Y: sum + 1})
			sum++
		}
		name = max(sum, name+gap)
		p.Add(
			stroke(line(colours[i], 2), append(curve, point{X: end, Y: sum})...),
			note(point{X: end + 0.2, Y: name}, lettering(true, colours[i], draw.XLeft, draw.YCenter), fmt.Sprintf("%s: %.0f", r.name, sum)),
		)
	}
	return stack(250, p)
}

// remainingFigure shows what remains by every rule, and when it refuses.
func remainingFigure(all []replayed) ([]byte, error) {
	const top, below, rug = 82, -14, 7
	var panels []*plot.Plot
	for i, r := range all {
		p := panel(i == len(all)-1, top, 0, limit/2, limit)
		p.Y.Min = below
		curve := remainingCurve(r.samples)
		refused := perSecond(r, func(a answer) bool { return !a.admitted })
		for s := range refused {
			refused[s] = min(refused[s], 1) * rug
		}
		p.Add(bars(orange, below, refused), stroke(line(blue, 1.4), curve...))
		heading(p, r.name)
		if i == 0 {
			keyAt(p, 445)
			p.Legend.Add("Remaining", stroke(line(blue, 1.4)))
			p.Legend.Add("refused in this second", area(orange))
		}
		panels = append(panels, p)
	}
	return stack(400, panels...)
}

// remainingCurve goes through the samples. What remains changes at once, but a slope of less than a second and
// one unit looks the same and takes half the points.
func remainingCurve(samples []sample) plotter.XYs {
	var curve plotter.XYs
	for i, s := range samples {
		if i > 0 {
			last := samples[i-1]
			if step := s.remaining - last.remaining; step < -1 || step > 1 || s.at-last.at > time.Second {
				curve = append(curve, point{X: s.at.Seconds(), Y: float64(last.remaining)})
			}
		}
		curve = append(curve, point{X: s.at.Seconds(), Y: float64(s.remaining)})
	}
	return append(curve, point{X: length.Seconds(), Y: curve[len(curve)-1].Y})
}
