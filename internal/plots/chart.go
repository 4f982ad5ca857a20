package main

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// blank returns a plot in the style of all figures.
func blank() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // stack has filled it
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle, a.Tick.LineStyle = line(grey, hair), line(grey, hair)
		a.Padding, a.Tick.Length = 0, 4
		a.Tick.Label.Font, a.Tick.Label.Color = sans(false), ink
		a.Label.TextStyle.Font, a.Label.TextStyle.Color = sans(false), ink
	}
	p.Legend.TextStyle.Font, p.Legend.TextStyle.Color = sans(false), ink
	p.Legend.ThumbnailWidth, p.Legend.Padding = 14, 3
	return p
}

// panel returns a plot over the whole traffic, from 0 to top, marked at some heights, with a line at every
// minute's edge. Only the last panel of a figure says which minute that is.
func panel(last bool, top float64, heights ...float64) *plot.Plot {
	p := blank()
	var minutes plot.ConstantTicks
	for t := time.Duration(0); t <= length; t += window {
		name := " " // without any, the tick would be a shorter one
		if last {
			name = fmt.Sprintf("%d:00", int(t.Minutes()))
		}
		minutes = append(minutes, plot.Tick{Value: t.Seconds(), Label: name})
		if 0 < t && t < length {
			p.Add(stroke(line(pale, hair), point{X: t.Seconds()}, point{X: t.Seconds(), Y: top}))
		}
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, length.Seconds(), minutes
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, top, marks(heights...)
	return p
}

// marks are ticks at some values, whole numbers.
func marks(values ...float64) plot.ConstantTicks {
	var all plot.ConstantTicks
	for _, v := range values {
		all = append(all, plot.Tick{Value: v, Label: strconv.Itoa(int(v))})
	}
	return all
}

// stack draws panels one below the other, aligned, in a figure of the given height, and returns the SVG.
func stack(height vg.Length, panels ...*plot.Plot) ([]byte, error) {
	var rows [][]*plot.Plot
	for _, p := range panels {
		rows = append(rows, []*plot.Plot{p})
	}
	svg := vgsvg.New(width, height)
	canvas := draw.New(svg)
	canvas.SetColor(white)
	canvas.Fill(canvas.Path())
	tiles := draw.Tiles{
		Rows: len(rows), Cols: 1, PadY: spacing,
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: 2 * margin,
	}
	for i, cells := range plot.Align(rows, tiles, canvas) {
		panels[i].Draw(cells[0])
	}
	var out bytes.Buffer
	if _, err := svg.WriteTo(&out); err != nil {
		return nil, err
	}
	return portable(out.Bytes()), nil
}

// portable names the fonts that a browser has in place of the one whose widths were reckoned with.
func portable(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}
