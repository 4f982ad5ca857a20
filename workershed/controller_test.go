package workershed

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const tick = 250 * time.Millisecond

// newTestController returns the controller of a configuration with ten workers.
func newTestController(t *testing.T, set func(*Config)) *controller {
	t.Helper()
	cfg := Config{Workers: 10}
	if set != nil {
		set(&cfg)
	}
	cfg, err := cfg.resolve()
	require.NoError(t, err)
	c := newController(cfg)
	return &c
}

func stripe(c *Config) { *c = StripePreset(10) }

// phase is a utilization that lasts, and the level at its end.
type phase struct {
	u    float64
	d    time.Duration
	want float64
}

func TestControllerFollowsUtilization(t *testing.T) {
	s := time.Second
	for _, tc := range []struct {
		name   string
		set    func(*Config)
		phases []phase
	}{
		{"idle", nil, []phase{{0, time.Hour, 0}}},
		{"dead zone never begins", nil, []phase{{0.7, time.Hour, 0}, {0.75, time.Hour, 0}, {0.8, time.Hour, 0}}},
		{"dwell, then full ramp in RampUp", nil, []phase{{1, 8 * s, 0}, {1, 15 * s, 0.5}, {1, 15 * s, 1}, {1, time.Hour, 1}}},
		{"beyond 1 is full speed", nil, []phase{{40, 8 * s, 0}, {40, 15 * s, 0.5}}},
		{"half speed", nil, []phase{{0.9, 8 * s, 0}, {0.9, 30 * s, 0.5}, {0.9, 30 * s, 1}}},
		{"dead zone holds the level", nil, []phase{{1, 23 * s, 0.5}, {0.8, time.Hour, 0.5}, {0.75, time.Hour, 0.5}, {0.7, time.Hour, 0.5}}},
		{"no dwell while shedding", nil, []phase{{1, 23 * s, 0.5}, {0.75, time.Minute, 0.5}, {1, 3 * s, 0.6}}},
		{"no dwell after a partial release", nil, []phase{{1, 38 * s, 1}, {0, 60 * s, 0.5}, {1, 3 * s, 0.6}}},
		{"dwell again after a full release", nil, []phase{{1, 38 * s, 1}, {0, 120 * s, 0}, {1, 8 * s, 0}, {1, 3 * s, 0.1}}},
		{"full release in RampDown", nil, []phase{{1, 38 * s, 1}, {0, 60 * s, 0.5}, {0, 60 * s, 0}, {0, time.Hour, 0}}},
		{"half release", nil, []phase{{1, 38 * s, 1}, {0.35, 120 * s, 0.5}, {0.35, 120 * s, 0}}},
		{"release floor just below low", nil, []phase{{1, 38 * s, 1}, {0.699, 200 * s, 0.5}, {0.699, 200 * s, 0}}},
		{"no release floor", func(c *Config) { c.ReleaseFloor = NoReleaseFloor }, []phase{{1, 38 * s, 1}, {0.63, 120 * s, 0.9}, {0.63, 1080 * s, 0}}},
		{"spike shorter than the dwell", nil, []phase{{5, 7750 * time.Millisecond, 0}, {0.5, s, 0}, {5, 7750 * time.Millisecond, 0}, {0.5, s, 0}}},
		{"dwell rests in the dead zone", nil, []phase{{1, 5 * s, 0}, {0.75, time.Hour, 0}, {1, 3 * s, 0}, {1, 3 * s, 0.1}}},
		{"dwell starts again below low", nil, []phase{{1, 7 * s, 0}, {0.69, tick, 0}, {1, 8 * s, 0}, {1, 3 * s, 0.1}}},
		{"stripe: 10 s spikes", stripe, []phase{{3, 10 * s, 0}, {0.3, 10 * s, 0}, {3, 10 * s, 0}, {0.3, 10 * s, 0}, {3, 10 * s, 0}}},
		{"stripe: all busy", stripe, []phase{{1, 28 * s, 0}, {1, 60 * s, 0.5}, {1, 60 * s, 1}}},
		{"stripe: release", stripe, []phase{{1, 148 * s, 1}, {0.35, 120 * s, 0.5}, {0.35, 120 * s, 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestController(t, tc.set)
			for i, p := range tc.phases {
				for range p.d / tick {
					c.step(p.u, tick)
				}
				require.InDelta(t, p.want, c.level, 1e-9, "phase %d: u=%v for %v", i, p.u, p.d)
			}
		})
	}
}

func TestControllerReachesTheEndsExactlyOnTime(t *testing.T) {
	for _, tc := range []struct {
		name       string
		set        func(*Config)
		first, all time.Duration
	}{
		{"default", nil, 8 * time.Second, 38 * time.Second},
		{"stripe", stripe, 28 * time.Second, 148 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestController(t, tc.set)
			for at := tick; at <= tc.all; at += tick {
				level := c.step(1, tick)
				assert.Equal(t, at > tc.first, level > 0, "at %v", at)
				assert.Equal(t, at > tc.all-tick, level > 1-1e-9, "at %v", at)
			}
		})
	}
}

func TestControllerDoesNotDependOnTheStep(t *testing.T) {
	fine := newTestController(t, func(c *Config) { c.Interval = 10 * time.Second })
	coarse := newTestController(t, func(c *Config) { c.Interval = 10 * time.Second })
	for range 200 {
		fine.step(0.95, 100*time.Millisecond)
	}
	coarse.step(0.95, 20*time.Second)
	assert.InDelta(t, 12*0.75/30, coarse.level, 1e-9)
	assert.InDelta(t, coarse.level, fine.level, 1e-9)
}

func TestControllerIgnoresWhatIsNoUtilization(t *testing.T) {
	for _, u := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -math.SmallestNonzeroFloat64} {
		c := newTestController(t, nil)
		for range 4000 {
			c.step(u, tick)
		}
		assert.Zero(t, c.level, "u=%v sheds", u)

		for range 23 * 4 {
			c.step(1, tick)
			c.step(u, tick)
		}
		assert.InDelta(t, 0.5, c.level, 1e-9, "u=%v moves the level", u)
	}
}

func TestControllerDoesNotJumpAfterAStall(t *testing.T) {
	stall := stallIntervals * tick
	c := newTestController(t, nil)
	c.step(1, time.Hour)
	assert.Zero(t, c.level)
	assert.Equal(t, stall, c.over)

	for range 8 * 4 {
		c.step(1, tick)
	}
	before := c.level
	c.step(1, time.Hour)
	assert.InDelta(t, before+stall.Seconds()/30, c.level, 1e-9)
	before = c.level
	c.step(0, time.Hour)
	assert.InDelta(t, max(0, before-stall.Seconds()/120), c.level, 1e-9)
}

func TestControllerIgnoresTimeThatDoesNotPass(t *testing.T) {
	c := newTestController(t, nil)
	for range 23 * 4 {
		c.step(1, tick)
	}
	before := *c
	for _, dt := range []time.Duration{0, -tick, math.MinInt64} {
		c.step(1, dt)
		c.step(0, dt)
		assert.Equal(t, before, *c, "dt=%v", dt)
	}
}

func TestControllerDoesNotWindUp(t *testing.T) {
	c := newTestController(t, nil)
	for range 100_000 {
		c.step(math.MaxFloat64, tick)
	}
	require.Equal(t, 1.0, c.level)
	c.step(0, tick)
	assert.Less(t, c.level, 1.0, "release begins at once")
}

func TestControllerStaysInRangeAndMovesTheRightWay(t *testing.T) {
	extremes := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e-320, 1e308, 0.7, 0.8, 1}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newTestController(t, func(c *Config) {
			c.High = 0.01 + 0.98*r.Float64()
			c.Low = c.High * (0.01 + 0.98*r.Float64())
			c.Dwell, c.RampUp, c.RampDown = 1+time.Duration(r.Int64N(1e10)), 1+time.Duration(r.Int64N(1e11)), 1+time.Duration(r.Int64N(1e11))
		})
		for range 2000 {
			u := 2 * r.Float64()
			if r.IntN(4) == 0 {
				u = extremes[r.IntN(len(extremes))]
			}
			before, after := c.level, c.step(u, time.Duration(r.Int64N(2e9))-1e9)
			require.True(t, after >= 0 && after <= 1, "level %v", after)
			switch {
			case u > c.high && !math.IsInf(u, 0):
				require.GreaterOrEqual(t, after, before)
			case u >= 0 && u < c.low:
				require.LessOrEqual(t, after, before)
			default:
				require.Equal(t, before, after)
			}
		}
	}
}
