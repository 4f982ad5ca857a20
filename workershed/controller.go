package workershed

import (
	"math"
	"time"
)

// stallIntervals is how many sampler intervals a step may count for.
const stallIntervals = 4

// negligible is a level that sheds nobody, and far above the rounding error of a release.
const negligible = 1e-9

// controller turns utilization into a shed level: an integral with a dead zone, a dwell before it leaves
// zero, and a floor under the speed of release. It knows no clock, no request and no lock.
type controller struct {
	low, high        float64
	dwell            time.Duration
	rampUp, rampDown time.Duration
	floor            float64
	easing           time.Duration
	maxStep          time.Duration

	level float64
	idle  bool          // nobody was shed since the level left zero
	over  time.Duration // time above high since utilization was last below low, at most dwell

	falls bool          // the level fell when it last moved
	turns int           // since it was zero, or has fallen by more than hunt
	top   float64       // where it last turned
	run   time.Duration // that it has moved since then
}

// hunt is how far a level falls while it hunts for the load that the service can take. A rise after more than that is another
// overload.
const hunt = 0.25

// noise is how far a level must have moved before it can turn.
const noise = 0.01

// eased is the share of full speed with which the third and every further turn of an overload begins, as a power of two.
const eased = -3

// newController expects a Config that was resolved.
func newController(c Config) controller {
	return controller{
		low:      c.Low,
		high:     c.High,
		dwell:    c.Dwell,
		rampUp:   c.RampUp,
		rampDown: c.RampDown,
		floor:    c.ReleaseFloor,
		easing:   c.Easing,
		maxStep:  stallIntervals * c.Interval,
	}
}

// step says that utilization was u for the last dt, and returns the level. Of a dt beyond maxStep the rest is ignored, and so is a
// u that is no utilization.
func (c *controller) step(u float64, dt time.Duration) float64 {
	if !(u >= 0) || math.IsInf(u, 1) || dt <= 0 { // NaN is not >= 0
		return c.level
	}
	dt = min(dt, c.maxStep)
	a := c.speed(u)
	switch {
	case a > 0:
		if dt = c.wait(dt); dt > 0 {
			c.level += a * c.ease(false, dt, c.rampUp) * float64(dt) / float64(c.rampUp)
		}
	case a < 0:
		c.over = 0
		c.level += a * c.ease(true, dt, c.rampDown) * float64(dt) / float64(c.rampDown)
		if c.top-c.level > hunt {
			c.turns = 0
		}
		if c.level < negligible || c.idle {
			// What rounding left of a level would let the next overload skip its dwell; and a level that has shed nobody is not why
			// there is less load now.
			c.level, c.turns, c.falls = 0, 0, false
		}
	}
	c.level = clamp(c.level)
	return c.level
}

// speed is Stripe's a(u) in [-1, 1], with the floor under release.
func (c *controller) speed(u float64) float64 {
	switch {
	case u > c.high:
		return min(1, (u-c.high)/(1-c.high))
	case u < c.low:
		return -max(c.floor, 1-u/c.low)
	}
	return 0
}

// ease returns the share of full speed with which the level moves: a level that has turned twice hunts for the load that the
// service can take, and each further turn begins slowly. In proportion to the ramp, speed doubles with the easing.
func (c *controller) ease(falls bool, dt, ramp time.Duration) float64 {
	if falls != c.falls && (math.Abs(c.level-c.top) >= noise || c.turns == 0) {
		c.falls, c.run, c.top = falls, 0, c.level
		c.turns++
	}
	c.run += dt
	if c.turns < 2 {
		return 1
	}
	return min(1, math.Exp2(eased+float64(c.run)/float64(c.easing)*float64(c.rampUp)/float64(ramp)))
}

// wait takes from dt, a time of overload, what the dwell still needs, and returns the rest. While the level
// is above zero there is no dwell.
func (c *controller) wait(dt time.Duration) time.Duration {
	if c.level > 0 {
		return dt
	}
	spent := min(dt, c.dwell-c.over)
	c.over += spent
	return dt - spent
}

// clamp limits x to [0, 1]; NaN is 0.
func clamp(x float64) float64 {
	if x > 0 {
		return min(x, 1)
	}
	return 0
}
