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
			res, ticket := handle(l.shedder, r, l.mode)
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

	settled := l.levels[2*60*4 : 10*60*4] // from a minute of overload on
	assert.Less(t, slices.Max(settled)-slices.Min(settled), 0.02, "the level rests, it does not hunt")
}

func TestLogOnlyDecidesAsEnforceDoes(t *testing.T) {
	enforced, shadow := overload(t, seawall.Enforce), overload(t, seawall.LogOnly)
	assert.Equal(t, enforced.levels, shadow.levels)
	assert.Equal(t, enforced.decisions, shadow.decisions)
}

// busy returns a shedder of ten workers, all of them busy with critical requests, that has just seen other traffic.
func busy(t *testing.T, cfg Config) (*Shedder, []seawall.Ticket) {
	t.Helper()
	cfg.Workers, cfg.Smoothing = 10, time.Nanosecond
	s, err := New(cfg)
	require.NoError(t, err)
	for tier := seawall.TestMode; tier < seawall.Critical; tier++ {
		for _, k := range callers(1000) {
			_, ticket := handle(s, &seawall.Request{Key: k, Tier: tier}, seawall.Enforce)
			s.Leave(ticket)
		}
	}
	return s, enterAll(s, 10, seawall.Critical, seawall.Enforce)
}

func TestSamplerDrivesTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tickets := busy(t, Config{})
		after := func(d time.Duration) float64 {
			time.Sleep(d)
			synctest.Wait()
			return s.Level()
		}
		assert.Zero(t, after(8*time.Second))
		assert.InDelta(t, 0.25/30, after(tick), 1e-9)
		assert.InDelta(t, 0.5, after(15*time.Second-tick), 1e-9)
		assert.InDelta(t, 1, after(15*time.Second), 1e-9)
		res, _ := handle(s, request(seawall.Write), seawall.Enforce)
		assert.False(t, res.Admitted)
		for _, ticket := range tickets {
			s.Leave(ticket)
		}
		assert.InDelta(t, 0.5, after(time.Minute), 1e-9)
		assert.Zero(t, after(time.Minute+tick))
		require.NoError(t, s.Close())
	})
}

// TestALevelThatHasShedNobodyIsNotReleasedSlowly: it is not why the overload has ended, and would be in the way of others.
func TestALevelThatHasShedNobodyIsNotReleasedSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tickets := busy(t, Config{})
		time.Sleep(time.Minute)
		require.InDelta(t, 1, s.Level(), 1e-9)
		for _, ticket := range tickets {
			s.Leave(ticket)
		}
		time.Sleep(2 * tick)
		assert.Zero(t, s.Level())
		tickets = enterAll(s, 10, seawall.Critical, seawall.Enforce)
		time.Sleep(9 * time.Second)
		assert.Less(t, s.Level(), 0.1, "and the next overload has its dwell")
		time.Sleep(time.Minute)
		_, _ = handle(s, request(seawall.Read), seawall.Enforce)
		for _, ticket := range tickets {
			s.Leave(ticket)
		}
		time.Sleep(2 * tick)
		assert.Greater(t, s.Level(), 0.9)
		require.NoError(t, s.Close())
	})
}

func TestTheLinesTurnSteadily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rotate = 256 * time.Second // a slot a second
		s, tickets := busy(t, Config{Rotate: rotate})
		time.Sleep(8*time.Second + 5*time.Second + tick/2) // level 1/6: half of test mode
		for _, ticket := range tickets[:3] {
			s.Leave(ticket) // into the dead zone, where the level rests
		}
		keys := callers(5000)
		out := func() []bool {
			out := make([]bool, len(keys))
			for i, k := range keys {
				out[i] = s.out(newTicket(0, tierOf(seawall.TestMode), int(k.Hash()%places), int(k.Hash()%slots), seawall.Enforce))
			}
			return out
		}
		turns := make([]int, len(keys))
		since := make([]int, len(keys))
		longest := 0
		before := out()
		for range 512 {
			time.Sleep(time.Second)
			synctest.Wait()
			now := out()
			changed := 0
			for i := range now {
				if now[i] != before[i] {
					changed++
				}
				if since[i]++; !now[i] {
					since[i] = 0
				}
				longest = max(longest, since[i])
				if now[i] {
					turns[i]++
				}
			}
			assert.Less(t, changed, 150, "of 5000: one slot out, one in")
			assert.InDelta(t, s.ShedFraction(seawall.TestMode), float64(count(now))/5000, 0.05)
			before = now
		}
		assert.InDelta(t, 128, longest, 15, "out for half of Rotate at a time, as half of the tier is out")
		for i, n := range turns {
			require.InDelta(t, 256, n, 30, "%v is out as long as others", keys[i])
		}
		require.NoError(t, s.Close())
	})
}

func TestSamplerUsesTheClockGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Duration(0)
		s, _ := busy(t, Config{Now: func() time.Duration { now += tick / 2; return now }})
		time.Sleep(16 * time.Second)
		synctest.Wait()
		assert.Zero(t, s.Level(), "half as fast")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		assert.InDelta(t, 0.5, s.Level(), 1e-9)
		require.NoError(t, s.Close())
	})
}
