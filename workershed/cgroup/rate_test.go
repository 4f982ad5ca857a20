package cgroup

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const own = sys + "/system.slice/api.service" // the group of v2-host: two CPUs, and its cpu.stat says 50 s

// linear is what cpu_cgroup maps a share below .85 to.
func linear(share float64) float64 { return share * .8 / .85 }

func TestTheAverageIsExact(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{10 * time.Millisecond, tick, 333 * time.Millisecond, 2 * time.Second} {
		f := load(t, "v2-host")
		cpu := f.system().CPU()
		read(t, cpu, 0)
		var now time.Duration
		for range 6 {
			now += step
			f.stat(own, 50*time.Second+now, 1000, 10) // one CPU of two
			want := .5 * (1 - math.Exp(-now.Seconds()))
			assert.InDelta(t, linear(want), read(t, cpu, now), 1e-6, "every %v, after %v", step, now)
		}
	}
}

// An average in whole numbers would stay below what it averages for ever.
func TestAFullCPUIsOneAndAnIdleOneIsZero(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	reader := newCPUReader(f.system().tree(), 8)
	now, used := time.Duration(0), 50*time.Second
	advance := func(cpus float64) {
		now += tick
		used += time.Duration(cpus * float64(tick))
		f.stat(own, used, 1000, 10)
		_, err := reader.read(now)
		require.NoError(t, err)
	}
	for range 200 {
		advance(2)
	}
	assert.InDelta(t, 1, reader.rate.average, 1e-9)
	for range 200 {
		advance(0)
	}
	assert.InDelta(t, 0, reader.rate.average, 1e-9)
}

// Readings of 250 ms see a quota that is handed out every 100 ms two times or three, and use all of it: a share of .8,
// then 1.2. Cut at 1 they would average to .9 on a group that has nothing left.
func TestAQuotaInPeriodsIsFull(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	cpu := f.system().CPU()
	read(t, cpu, 0)
	const period, quota = 100 * time.Millisecond, 200 * time.Millisecond
	for i := 1; i <= 40; i++ {
		now := time.Duration(i) * tick
		f.stat(own, 50*time.Second+quota*(now/period), 1000, 10)
		if u := read(t, cpu, now); i > 16 {
			assert.Equal(t, 1.0, u, "after %v", now)
		}
	}
}

func TestTimeThatDoesNotAdvanceChangesNothing(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	signals := f.system().Signals()[:2]
	for _, s := range signals {
		read(t, s, time.Second)
	}
	f.stat(own, 51*time.Second, 1010, 11)
	for _, s := range signals {
		before := read(t, s, 2*time.Second)
		require.NotZero(t, before, s.Name)
		for _, now := range []time.Duration{2 * time.Second, time.Second, 0, -time.Second} {
			assert.Equal(t, before, read(t, s, now), "%s at %v", s.Name, now)
		}
	}
	// None of that was a reading: the next one counts from the second second.
	f.stat(own, 51*time.Second+long, 1010, 11)
	assert.InDelta(t, linear(.5), read(t, signals[0], 2*time.Second+long), 1e-9)
}

func TestACounterThatStepsBackStartsAgain(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	signals := f.system().Signals()[:2]
	for _, s := range signals {
		read(t, s, 0)
	}
	f.stat(own, 51*time.Second, 1010, 11)
	var before []float64
	for _, s := range signals {
		before = append(before, read(t, s, time.Second))
		require.NotZero(t, before[len(before)-1], s.Name)
	}
	f.stat(own, time.Second, 10, 1)
	for i, s := range signals {
		assert.Equal(t, before[i], read(t, s, 2*time.Second), s.Name)
	}
	f.stat(own, time.Second+long, 110, 21)
	assert.InDelta(t, linear(.5), read(t, signals[0], 2*time.Second+long), 1e-9)
	assert.InDelta(t, .2/.25, read(t, signals[1], 2*time.Second+long), 1e-9)
}

func TestPeriodsThatStepBackStartAgain(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	throttling := f.system().Throttling()
	read(t, throttling, 0)
	f.stat(own, 50*time.Second, 1100, 20)
	before := read(t, throttling, long)
	require.InDelta(t, .1/.25, before, 1e-9)
	f.stat(own, 50*time.Second, 30, 25)
	assert.Equal(t, before, read(t, throttling, 2*long))
}

func TestPeriodsThatDoNotAdvanceAreNotThrottled(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	throttling := f.system().Throttling()
	read(t, throttling, 0)
	f.stat(own, 50*time.Second, 1010, 15)
	before := read(t, throttling, long)
	require.Equal(t, 1.0, before)
	assert.InDelta(t, math.Exp(-1)*.5/.25, read(t, throttling, long+time.Second), 1e-9, "the group is idle, and forgives")
	assert.InDelta(t, math.Exp(-2)*.5/.25, read(t, throttling, long+2*time.Second), 1e-9)
}

func TestTheMaximumOverGroups(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-tighter-parent")
	signals := f.system().Signals()[:2]
	for _, s := range signals {
		read(t, s, 0)
	}
	// The group itself uses three of its four CPUs, and others next to it nothing; its parent has one, and is slow to tell.
	f.stat(sys+"/outer", 50*time.Second+long/2, 1100, 12)
	f.stat(sys+"/outer/inner", 20*time.Second+3*long, 1100, 20)
	assert.InDelta(t, linear(.75), read(t, signals[0], long), 1e-9)
	assert.InDelta(t, .1/.25, read(t, signals[1], long), 1e-9)
}

func TestAQuotaThatNobodyCanUseDoesNotHideTheCPUs(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	f.set(own+"/cpu.max", "3000000 100000") // thirty CPUs on a machine of eight
	cpu := f.system().CPU()
	read(t, cpu, 0)
	f.stat(own, 50*time.Second+4*long, 1000, 10)
	assert.InDelta(t, linear(.5), read(t, cpu, long), 1e-9)
}

func TestAQuotaThatComesAndGoes(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	signals := f.system().Signals()[:2]
	step := func(now time.Duration, used time.Duration, throttled int) (cpu, throttling float64) {
		f.stat(own, 50*time.Second+used, 1000+throttled, 10+throttled)
		return read(t, signals[0], now), read(t, signals[1], now)
	}
	step(0, 0, 0)
	cpu, throttling := step(long, long, 100)
	assert.InDelta(t, linear(.5), cpu, 1e-9)
	assert.Equal(t, 1.0, throttling)

	f.set(own+"/cpu.max", "max 100000")
	cpu, throttling = step(2*long, 2*long, 200)
	assert.InDelta(t, linear(.125), cpu, 1e-9, "of eight CPUs now")
	assert.Zero(t, throttling)

	f.set(own+"/cpu.max", "100000 100000")
	cpu, throttling = step(3*long, 2*long+long/2, 300)
	assert.InDelta(t, linear(.5), cpu, 1e-9)
	assert.Zero(t, throttling, "a rate needs two readings")
	_, throttling = step(4*long, 3*long, 400)
	assert.Equal(t, 1.0, throttling)
}
