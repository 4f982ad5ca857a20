package main

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours on white, so that a figure looks the same on a light and on a dark page. Those that mean something
// can be told apart by people who see few colours.
var (
	white  = color.RGBA{0xff, 0xff, 0xff, 0xff}
	blue   = color.RGBA{0x00, 0x5a, 0x9c, 0xff} // admitted
	orange = color.RGBA{0xe8, 0x6f, 0x0c, 0xff} // refused
	green  = color.RGBA{0x00, 0x8a, 0x66, 0xff}
	plum   = color.RGBA{0xa0, 0x3c, 0x80, 0xff}
	ink    = color.RGBA{0x22, 0x26, 0x2c, 0xff}
	grey   = color.RGBA{0x84, 0x8b, 0x93, 0xff}
	pale   = color.RGBA{0xd9, 0xdd, 0xe1, 0xff} // a grid
	shade  = color.RGBA{0xff, 0xf1, 0xc4, 0xff} // the minute around the edge
)

// Lengths in points, of which a browser makes 4/3 pixels.
const (
	width   = vg.Length(640) // 853 pixels: what a page of GitHub has for text
	size    = vg.Length(9)   // of text: 12 pixels
	margin  = vg.Length(7)
	spacing = vg.Length(5) // between panels
	hair    = vg.Length(0.7)
)

// sans is the font of all text.
func sans(bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return f
}

func lettering(bold bool, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: c, Font: sans(bold), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

func line(c color.Color, w vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: dashes}
}
