package workershed

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// The tests of this file run a shedder with its real sampler in virtual time.

// loop is a service in a closed loop with its shedder: requests of one second arrive at a rate per second,
// 10 % of them test mode, 50 % reads, 20 % writes and 20 % critical.
type loop struct {
	shedder *Shedder
	mode    seawall.Mode
	keys    []seawall.Key
	arrived int
	running [4][]seawall.Ticket // by the quarter of a second in which they began

	decisions []bool
	levels    []float64
	refused   map[seawall.Tier]int
}

func newLoop(t *testing.T, mode seawall.Mode) *loop {
	s, err := New(Config{Workers: 40})
	require.NoError(t, err)
	time.Sleep(tick / 2) // between the sampler's ticks
	return &loop{shedder: s, mode: mode, keys: callers(97), refused: map[seawall.Tier]int{}}
}

// run lets rate requests a second arrive for d.
func (l *loop) run(rate int, d time.Duration) {
	tiers := [10]seawall.Tier{
		seawall.TestMode, seawall.Read, seawall.Read, seawall.Read, seawall.Read, seawall.Read, seawall.Write,
		seawall.Write, seawall.Critical, seawall.Critical,
	}
	for i := range int(d / tick) {
		slot := &l.running[i%len(l.running)]
		for _, ticket := range *slot {
			l.shedder.Leave(ticket)
		}
		*slot = (*slot)[:0]
		for range rate / len(l.running) {
			r := &seawall.Request{Key: l.keys[l.arrived%len(l.keys)], Tier: tiers[l.arrived%len(tiers)]}
			l.arrived++
			res, ticket := l.shedder.Enter(r, l.mode)
			*slot = append(*slot, ticket)
			l.decisions = append(l.decisions, res.Admitted)
			if !res.Admitted {
				l.refused[r.Tier]++
			}
		}
		time.Sleep(tick)
		l.levels = append(l.levels, l.shedder.Level())
	}
}

// overload runs ten minutes at 1.4 times the capacity, between minutes at half of it.
func overload(t *testing.T, mode seawall.Mode) (l *loop) {
	synctest.Test(t, func(t *testing.T) {
		l = newLoop(t, mode)
		l.run(20, time.Minute)
		require.Zero(t, l.shedder.Level())
		require.Equal(t, 0.5, l.shedder.Utilization())

		l.run(56, 10*time.Minute)
		assert.Greater(t, l.shedder.Level(), 1./3, "test mode alone is not enough")
		assert.Less(t, l.shedder.Level(), 2./3, "reads are more than enough")
		assert.LessOrEqual(t, l.shedder.Utilization(), 1.0)
		if mode == seawall.LogOnly {
			assert.EqualValues(t, 56, l.shedder.InFlight())
		} else {
			assert.Equal(t, l.shedder.Utilization()*40, float64(l.shedder.InFlight()))
		}

		l.run(20, 10*time.Minute)
		assert.Zero(t, l.shedder.Level())
		l.run(0, time.Second)
		assert.Zero(t, l.shedder.InFlight())
		require.NoError(t, l.shedder.Close())
	})
	return l
}

func TestClosedLoopShedsNoMoreThanItMust(t *testing.T) {
	l := overload(t, seawall.Enforce)
	assert.Zero(t, l.refused[seawall.Critical])
	assert.Zero(t, l.refused[seawall.Write])
	assert.Positive(t, l.refused[seawall.Read])
	assert.Greater(t, l.refused[seawall.TestMode], 56*60*10/10*8/10, "nearly all of them")

	settled := l.levels[2*60*4 : 10*60*4] // the first epoch, from a minute of overload on
	assert.Less(t, slices.Max(settled)-slices.Min(settled), 0.02, "the level rests, it does not hunt")
}

func TestLogOnlyDecidesAsEnforceDoes(t *testing.T) {
	enforced, shadow := overload(t, seawall.Enforce), overload(t, seawall.LogOnly)
	assert.Equal(t, enforced.levels, shadow.levels)
	assert.Equal(t, enforced.decisions, shadow.decisions)
}

func TestSamplerDrivesTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Workers: 10})
		require.NoError(t, err)
		after := func(d time.Duration) float64 {
			time.Sleep(d)
			synctest.Wait()
			return s.Level()
		}
		tickets := enterAll(s, 10, seawall.Critical, seawall.Enforce)
		assert.Zero(t, after(8*time.Second))
		assert.InDelta(t, 0.25/30, after(tick), 1e-9)
		assert.InDelta(t, 0.5, after(15*time.Second-tick), 1e-9)
		assert.InDelta(t, 1, after(15*time.Second), 1e-9)
		for _, ticket := range tickets {
			s.Leave(ticket)
		}
		assert.InDelta(t, 0.5, after(time.Minute), 1e-9)
		assert.Zero(t, after(time.Minute+tick))
		require.NoError(t, s.Close())
	})
}

func TestSamplerRotatesTheCohorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Workers: 10, Rotate: time.Minute})
		require.NoError(t, err)
		enterAll(s, 10, seawall.Critical, seawall.Enforce)
		time.Sleep(8*time.Second + 5*time.Second + tick/2) // level 1/6: half of test mode
		for range 10 {
			s.Leave(ticketKept)
		}
		enterAll(s, 7, seawall.Critical, seawall.Enforce) // in the dead zone, where the level rests

		keys := callers(5000)
		out := func() []bool {
			out := make([]bool, len(keys))
			for i, k := range keys {
				res, ticket := handle(s, &seawall.Request{Key: k, Tier: seawall.TestMode}, seawall.Enforce)
				s.Leave(ticket)
				out[i] = !res.Admitted
			}
			return out
		}
		first := out()
		assert.InDelta(t, s.ShedFraction(seawall.TestMode), float64(count(first))/5000, 0.02)
		time.Sleep(40 * time.Second)
		assert.Equal(t, first, out(), "within the epoch")
		time.Sleep(10 * time.Second)
		second := out()
		assert.NotEqual(t, first, second, "next epoch")
		assert.InDelta(t, count(first), count(second), 150)
		require.NoError(t, s.Close())
	})
}

func TestSamplerUsesTheClockGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Duration(0)
		s, err := New(Config{Workers: 10, Now: func() time.Duration { now += tick / 2; return now }})
		require.NoError(t, err)
		enterAll(s, 10, seawall.Critical, seawall.Enforce)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		assert.Zero(t, s.Level(), "half as fast")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		assert.InDelta(t, 0.5, s.Level(), 1e-9)
		require.NoError(t, s.Close())
	})
}
