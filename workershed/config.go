package workershed

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"
)

// The bounds of a Config.
const (
	maxWorkers = 1_000_000
	maxHardCap = 1000
	// DefaultInterval is how often utilization is sampled unless Config.Interval says otherwise.
	DefaultInterval = 250 * time.Millisecond

	minInterval = time.Millisecond
	maxInterval = 10 * time.Second
)

// NoReleaseFloor is a ReleaseFloor too small to matter: the closer utilization is to Low, the slower the
// level falls.
const NoReleaseFloor = 1e-9

// NoEasing is an Easing too short to matter.
const NoEasing = time.Nanosecond

// Config says what a Shedder protects and how fast it acts. Only Workers is required.
type Config struct {
	// Workers is how many requests this process can serve at once: 1 to 1,000,000.
	Workers int64

	// Low and High bound the dead zone, in requests in flight per worker: below Low the level falls, above
	// High it rises. 0 < Low < High < 1; zero is 0.7 and 0.8.
	Low, High float64

	// HardCap is the number of requests in flight per worker at which everything but critical traffic is
	// refused at once: 1 to 1000; zero is 1.5.
	HardCap float64

	// Dwell is how long utilization must be above High before anything is shed by level; zero is 8 s.
	Dwell time.Duration

	// RampUp is how long the level takes from 0 to 1 with all workers busy; zero is 30 s.
	RampUp time.Duration

	// RampDown is how long the level takes from 1 to 0 with all workers idle; zero is 120 s.
	RampDown time.Duration

	// ReleaseFloor is the slowest speed at which the level falls while utilization is below Low, as a share
	// of full speed: more than 0, at most 1; zero is 0.3. See NoReleaseFloor.
	ReleaseFloor float64

	// Easing keeps the level from hunting: after it has turned twice in one overload, each further rise begins at an eighth of
	// full speed, which doubles in this time; a fall in this time × RampDown ÷ RampUp. Zero is 8 s. See NoEasing.
	Easing time.Duration

	// Interval is how often utilization is sampled: 1 ms to 10 s; zero is 250 ms.
	Interval time.Duration

	// Smoothing is the time constant of the average over requests in flight and signals, which fluctuate; zero is 2 s.
	Smoothing time.Duration

	// Rotate is how long it takes until everybody has had a turn at being shed: while a share p of a tier is shed, each of its
	// callers is out for p × Rotate at a time, never longer. At least 256 × Interval; zero is 10 min.
	Rotate time.Duration

	// Signals are further measures of how busy the process is; package cgroup has some. The level follows the largest.
	Signals []Signal

	// Logger reports signals that cannot be read; nil is [slog.Default].
	Logger *slog.Logger

	// Now is a monotonic clock for tests, counted from any start; nil is the real one. It is called by New and then by the
	// sampler and the readers of signals, which keep ticking in real time. It is safe for concurrent use.
	Now func() time.Duration
}

// StripePreset returns the published constants: dead zone 0.7 to 0.8, dwell 28 s, both ramps 120 s, no
// release floor. It ignores short spikes and is slow to act; the hard cap is the default.
func StripePreset(workers int64) Config {
	return Config{
		Workers:      workers,
		Low:          0.7,
		High:         0.8,
		Dwell:        28 * time.Second,
		RampUp:       120 * time.Second,
		RampDown:     120 * time.Second,
		ReleaseFloor: NoReleaseFloor,
		Easing:       NoEasing,
	}
}

// resolve returns c with its zero values replaced, or what is wrong with it.
func (c Config) resolve() (Config, error) {
	c.Low = cmp.Or(c.Low, 0.7)
	c.High = cmp.Or(c.High, 0.8)
	c.HardCap = cmp.Or(c.HardCap, 1.5)
	c.Dwell = cmp.Or(c.Dwell, 8*time.Second)
	c.RampUp = cmp.Or(c.RampUp, 30*time.Second)
	c.RampDown = cmp.Or(c.RampDown, 120*time.Second)
	c.ReleaseFloor = cmp.Or(c.ReleaseFloor, 0.3)
	c.Easing = cmp.Or(c.Easing, 8*time.Second)
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	c.Smoothing = cmp.Or(c.Smoothing, 2*time.Second)
	c.Rotate = cmp.Or(c.Rotate, max(10*time.Minute, slots*c.Interval))
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Signals = slices.Clone(c.Signals)
	for i := range c.Signals {
		c.Signals[i].StaleAfter = cmp.Or(c.Signals[i].StaleAfter, max(staleAfter, stallIntervals*c.Interval))
	}
	if c.Now == nil {
		start := time.Now()
		c.Now = func() time.Duration { return time.Since(start) }
	}
	return c, c.validate()
}

// validate expects zero values to have been replaced. Ratios are tested for what they must be, so that NaN
// is refused.
func (c Config) validate() error {
	switch {
	case c.Workers < 1 || c.Workers > maxWorkers:
		return invalid("Workers", c.Workers, fmt.Sprintf("1 to %d", maxWorkers))
	case !(c.High > 0 && c.High < 1):
		return invalid("High", c.High, "more than 0 and less than 1")
	case !(c.Low > 0 && c.Low < c.High):
		return invalid("Low", c.Low, fmt.Sprintf("more than 0 and less than High, which is %v", c.High))
	case !(c.HardCap >= 1 && c.HardCap <= maxHardCap):
		return invalid("HardCap", c.HardCap, fmt.Sprintf("1 to %d times Workers", maxHardCap))
	case c.Dwell < 0:
		return invalid("Dwell", c.Dwell, "a positive duration, or zero for the default")
	case c.RampUp < 0:
		return invalid("RampUp", c.RampUp, "a positive duration, or zero for the default")
	case c.RampDown < 0:
		return invalid("RampDown", c.RampDown, "a positive duration, or zero for the default")
	case !(c.ReleaseFloor > 0 && c.ReleaseFloor <= 1):
		return invalid("ReleaseFloor", c.ReleaseFloor, "more than 0 and at most 1")
	case c.Easing < 0:
		return invalid("Easing", c.Easing, "a positive duration, or zero for the default")
	case c.Interval < minInterval || c.Interval > maxInterval:
		return invalid("Interval", c.Interval, fmt.Sprintf("%v to %v", minInterval, maxInterval))
	case c.Smoothing < 0:
		return invalid("Smoothing", c.Smoothing, "a positive duration, or zero for the default")
	case c.Rotate < slots*c.Interval:
		return invalid("Rotate", c.Rotate, fmt.Sprintf("at least %v, %d intervals", slots*c.Interval, slots))
	}
	return validateSignals(c.Signals, c.Interval)
}

// cap is the number of requests in flight at which the hard cap refuses. The product is shrunk by more than
// its rounding error, or 1.1 × 50 would be 56.
func (c Config) cap() int64 {
	return int64(math.Ceil(c.HardCap * float64(c.Workers) * (1 - 1e-12)))
}

func invalid(field string, value any, want string) error {
	return fmt.Errorf("workershed: %s is %v; want %s", field, value, want)
}
