package bench

import (
	"fmt"
	"math"
)

// Curve is what a decision costs by how much there is of something.
type Curve struct {
	By     string  `json:"by"`    // "keys", "callers", "checks" or "instances"
	Where  string  `json:"where"` // "memstore" or "Redis"
	Unit   string  `json:"unit"`
	Points []Point `json:"points"`
}

// Point is a decision's cost at N.
type Point struct {
	N    int    `json:"n"`
	Cost Spread `json:"cost"`
}

// flat is by how much the cost may differ between the ends of a curve that is called constant.
const flat = 1.25

// Factor is what the last point costs of the first.
func (c Curve) Factor() float64 {
	return c.Points[len(c.Points)-1].Cost.Median / c.Points[0].Cost.Median
}

// Growth names how the cost grows: constant if the ends differ by a quarter at most, otherwise by which of a line and a
// logarithm is nearer, or that it falls.
func (c Curve) Growth() string {
	f := c.Factor()
	grown := fmt.Sprintf("%s times from %s to %s", Number(f), Short(c.Points[0].N), Short(c.Points[len(c.Points)-1].N))
	if f < 1/flat {
		return "falls: " + grown
	}
	if f <= flat {
		return "constant: " + grown
	}
	line, a, b := c.fit(func(n float64) float64 { return n })
	logarithm, _, tenfold := c.fit(math.Log10)
	if line <= logarithm {
		return fmt.Sprintf("linear: %.3g %s + %.3g %s each; %s", a, c.Unit, b, c.Unit, grown)
	}
	return fmt.Sprintf("logarithmic: %.3g %s more for ten times as many; %s", tenfold, c.Unit, grown)
}

// fit returns the least squares of cost = a + b·of(n), and their sum.
func (c Curve) fit(of func(float64) float64) (sum, a, b float64) {
	var x, y, xx, xy float64
	n := float64(len(c.Points))
	for _, p := range c.Points {
		u, v := of(float64(p.N)), p.Cost.Median
		x, y, xx, xy = x+u, y+v, xx+u*u, xy+u*v
	}
	b = (n*xy - x*y) / (n*xx - x*x)
	a = (y - b*x) / n
	for _, p := range c.Points {
		d := p.Cost.Median - a - b*of(float64(p.N))
		sum += d * d
	}
	return sum, a, b
}

// Short writes 1000 as 1 k and 1000000 as 1 M.
func Short(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%d k", n/1000)
	}
	return fmt.Sprint(n)
}
