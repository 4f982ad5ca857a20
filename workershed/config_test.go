package workershed

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigErrorsNameFieldValueAndExpectation(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		name string
		set  func(*Config)
		want string
	}{
		{"no workers", func(c *Config) { c.Workers = 0 }, "Workers is 0; want 1 to 1000000"},
		{"negative workers", func(c *Config) { c.Workers = -3 }, "Workers is -3; want 1 to 1000000"},
		{"too many workers", func(c *Config) { c.Workers = 1_000_001 }, "Workers is 1000001; want 1 to 1000000"},
		{"high one", func(c *Config) { c.High = 1 }, "High is 1; want more than 0 and less than 1"},
		{"high negative", func(c *Config) { c.High = -0.1 }, "High is -0.1; want more than 0 and less than 1"},
		{"high NaN", func(c *Config) { c.High = nan }, "High is NaN; want more than 0 and less than 1"},
		{"high infinite", func(c *Config) { c.High = inf }, "High is +Inf; want more than 0 and less than 1"},
		{"low negative", func(c *Config) { c.Low = -1 }, "Low is -1; want more than 0 and less than High, which is 0.8"},
		{"low NaN", func(c *Config) { c.Low = nan }, "Low is NaN; want more than 0 and less than High, which is 0.8"},
		{"low equals high", func(c *Config) { c.Low, c.High = 0.5, 0.5 }, "Low is 0.5; want more than 0 and less than High, which is 0.5"},
		{"low above the default high", func(c *Config) { c.Low = 0.9 }, "Low is 0.9; want more than 0 and less than High, which is 0.8"},
		{"high below the default low", func(c *Config) { c.High = 0.6 }, "Low is 0.7; want more than 0 and less than High, which is 0.6"},
		{"hard cap below one", func(c *Config) { c.HardCap = 0.99 }, "HardCap is 0.99; want 1 to 1000 times Workers"},
		{"hard cap NaN", func(c *Config) { c.HardCap = nan }, "HardCap is NaN; want 1 to 1000 times Workers"},
		{"hard cap infinite", func(c *Config) { c.HardCap = inf }, "HardCap is +Inf; want 1 to 1000 times Workers"},
		{"dwell", func(c *Config) { c.Dwell = -time.Second }, "Dwell is -1s; want a positive duration, or zero for the default"},
		{"ramp up", func(c *Config) { c.RampUp = -1 }, "RampUp is -1ns; want a positive duration, or zero for the default"},
		{"ramp down", func(c *Config) { c.RampDown = -1 }, "RampDown is -1ns; want a positive duration, or zero for the default"},
		{"floor negative", func(c *Config) { c.ReleaseFloor = -0.1 }, "ReleaseFloor is -0.1; want more than 0 and at most 1"},
		{"floor above one", func(c *Config) { c.ReleaseFloor = 1.1 }, "ReleaseFloor is 1.1; want more than 0 and at most 1"},
		{"floor NaN", func(c *Config) { c.ReleaseFloor = nan }, "ReleaseFloor is NaN; want more than 0 and at most 1"},
		{"interval negative", func(c *Config) { c.Interval = -1 }, "Interval is -1ns; want 1ms to 10s"},
		{"interval too short", func(c *Config) { c.Interval = time.Microsecond }, "Interval is 1µs; want 1ms to 10s"},
		{"interval too long", func(c *Config) { c.Interval = time.Minute }, "Interval is 1m0s; want 1ms to 10s"},
		{"easing", func(c *Config) { c.Easing = -1 }, "Easing is -1ns; want a positive duration, or zero for the default"},
		{"smoothing", func(c *Config) { c.Smoothing = -1 }, "Smoothing is -1ns; want a positive duration, or zero for the default"},
		{"rotate", func(c *Config) { c.Rotate = time.Millisecond }, "Rotate is 1ms; want at least 1m4s, 256 intervals"},
		{"rotate negative", func(c *Config) { c.Rotate = -time.Hour }, "Rotate is -1h0m0s; want at least 1m4s, 256 intervals"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := Config{Workers: 10}
			tc.set(&cfg)
			s, err := New(cfg)
			require.EqualError(t, err, "workershed: "+tc.want)
			assert.Nil(t, s)
		})
	}
}

func TestConfigDefaults(t *testing.T) {
	c, err := Config{Workers: 10}.resolve()
	require.NoError(t, err)
	require.NotNil(t, c.Now)
	assert.Same(t, slog.Default(), c.Logger)
	c.Now, c.Logger = nil, nil
	assert.Equal(t, Config{
		Workers: 10, Low: 0.7, High: 0.8, HardCap: 1.5, Dwell: 8 * time.Second, RampUp: 30 * time.Second,
		RampDown: 120 * time.Second, ReleaseFloor: 0.3, Easing: 8 * time.Second,
		Interval: 250 * time.Millisecond, Smoothing: 2 * time.Second, Rotate: 10 * time.Minute,
	}, c)
}

func TestConfigBoundsAreAccepted(t *testing.T) {
	for _, cfg := range []Config{
		{Workers: 1},
		{Workers: maxWorkers, HardCap: maxHardCap},
		{Workers: 1, Low: 1e-300, High: math.Nextafter(1, 0), HardCap: 1, Dwell: 1, RampUp: 1, RampDown: 1, ReleaseFloor: 1},
		{Workers: 1, Dwell: math.MaxInt64, RampUp: math.MaxInt64, RampDown: math.MaxInt64, Rotate: math.MaxInt64},
		StripePreset(64),
	} {
		s, err := New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}

func TestHardCapIsNotOffByRounding(t *testing.T) {
	for _, tc := range []struct {
		workers int64
		factor  float64
		want    int64
	}{
		{10, 1.5, 15},
		{10, 1.1, 11},
		{50, 1.1, 55},
		{3, 1.5, 5},
		{1, 1, 1},
		{100, 1.15, 115},
		{7, 1.01, 8},
		{maxWorkers, 1.1, 1_100_000},
		{maxWorkers, maxHardCap, 1_000_000_000},
	} {
		assert.Equal(t, tc.want, Config{Workers: tc.workers, HardCap: tc.factor}.cap(), "%v × %d", tc.factor, tc.workers)
	}
}
