package cgroup

// curve maps what is measured to utilization: straight lines from 0, 0 through its points, and level after the last. Its
// points rise in both, so more measured is never less utilization.
type curve []point

type point struct{ measured, utilization float64 }

// Where a signal is 0.8, the shedder starts to shed; where it is below 0.7, it lets go.

func cpuCurve() curve        { return curve{{.85, .8}, {.95, 1}} }
func throttlingCurve() curve { return curve{{.25, 1}} }
func memoryCurve() curve     { return curve{{.90, .7}, {.95, 1}} }

// at returns the utilization for what was measured, which is 0 or more.
func (c curve) at(measured float64) float64 {
	var last point
	for _, p := range c {
		if measured < p.measured {
			share := (measured - last.measured) / (p.measured - last.measured)
			return last.utilization + share*(p.utilization-last.utilization)
		}
		last = p
	}
	return last.utilization
}
