package workershed

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// The tests of this file are attacks that once succeeded.

// TestQuietHoursPoisonNothing has a level that rests while nobody asks for a day, and then a request.
func TestQuietHoursPoisonNothing(t *testing.T) {
	d := &demand{}
	even := map[seawall.Tier]uint32{seawall.TestMode: 1, seawall.Read: 1, seawall.Write: 1}
	flow(d, cut{}, even, 100)
	c := cut{}.of(0.3, d)
	for range 24 * 360 {
		d.update(&traffic{}, &c, 10*time.Second)
	}
	flow(d, c, even, 2)
	for tier := range sheddable {
		for slot := range slots {
			rate := d.rate[tier][slot]
			require.True(t, rate >= 0 && !math.IsInf(rate, 0), "%v", rate)
		}
	}
	all, _ := c.shed(d)
	assert.InDelta(t, 0.3, all, 0.02, "what is out is what it was")
	little := c.of(0.008, d)
	all, _ = little.shed(d)
	assert.InDelta(t, 0.008, all, 0.005)
}

// TestBesideAWhaleOneGetsATurn: slots that stand beside one with most of the traffic are out no longer than others.
func TestBesideAWhaleOneGetsATurn(t *testing.T) {
	d := &demand{}
	for slot := range slots {
		d.rate[tierOf(seawall.Read)][slot] = 1
	}
	const whale = 77
	d.rate[tierOf(seawall.Read)][whale] = 400
	d.sum = 655
	var out [slots]int
	for turn := range slots {
		c := cut{turn: turn}.of(0.4, d)
		require.True(t, c.isHeavy(whale))
		require.InDelta(t, 0.4, c.share(tierOf(seawall.Read), whale), 1e-6)
		all, _ := c.shed(d)
		require.InDelta(t, 0.4, all, 0.005)
		for slot := range slots {
			if slot != whale {
				out[slot] += int(c.share(tierOf(seawall.Read), slot))
			}
		}
	}
	for slot, n := range out {
		if slot != whale {
			assert.InDelta(t, 0.4*slots, n, 2, "slot %d", slot)
		}
	}
}

// TestWhatIsShedInPartIsKnownWhole: of a heavy slot only what gets in is counted.
func TestWhatIsShedInPartIsKnownWhole(t *testing.T) {
	d := &demand{}
	read := tierOf(seawall.Read)
	d.rate[read][5], d.sum = 100, 100
	c := cut{}.of(0.75, d)
	require.InDelta(t, 0.75, c.share(read, 5), 1e-6)
	for range 1000 {
		var seen traffic
		seen[read][5].Store(25) // of 100 a second, in a second
		d.update(&seen, &c, time.Second)
	}
	assert.InDelta(t, 100, d.rate[read][5], 1)
}

func TestAShiftOfTheTrafficIsFollowed(t *testing.T) {
	d := &demand{}
	c := cut{}.of(0.5, d)
	for slot := range slots {
		d.rate[tierOf(seawall.TestMode)][slot], d.rate[tierOf(seawall.Read)][slot], d.rate[tierOf(seawall.Write)][slot] = 1.2, 1, 1
		d.sum += 3.2
	}
	followed := c.follow(0.5, 0.5, d)
	assert.Less(t, followed.arc, c.arc, "three percent more than the level would be shed")
	all, _ := followed.shed(d)
	assert.InDelta(t, 0.5, all, 0.002)
}

// TestTimeThatStandsStillOrIsNegative has a clock that does so.
func TestTimeThatStandsStillOrIsNegative(t *testing.T) {
	s, step, err := NewStepped(Config{Workers: 10, Smoothing: 1})
	require.NoError(t, err)
	for i := range 100 {
		for _, k := range callers(50) {
			_, ticket := handle(s, &seawall.Request{Key: k, Tier: seawall.Read}, seawall.Enforce)
			s.Leave(ticket)
		}
		step(time.Duration(i) * tick)
	}
	enterAll(s, 10, seawall.Critical, seawall.Enforce)
	for i := range 100 {
		step(time.Duration(100+i) * tick)
	}
	level, share := s.Level(), s.ShedFraction(seawall.Read)
	require.Positive(t, level)
	require.Positive(t, share)
	for range 20 {
		step(199 * tick)
	}
	assert.Equal(t, level, s.Level())
	assert.Equal(t, share, s.ShedFraction(seawall.Read))
	step(-time.Hour)
	assert.Equal(t, level, s.Level())
	for now := -10 * time.Minute; now < 10*time.Minute; now += time.Second {
		turn := turned(now, time.Minute)
		require.True(t, turn >= 0 && turn < slots, "%v", now)
	}
}

// TestNoiseDoesNotHoldTheLevel has a signal that is above High for one reading in sixteen.
func TestNoiseDoesNotHoldTheLevel(t *testing.T) {
	u := 1.0
	s, step, err := NewStepped(Config{Workers: 10, Signals: []Signal{{Name: "cpu", Read: func(time.Duration) (float64, error) { return u, nil }}}})
	require.NoError(t, err)
	at := func(i int) {
		_, ticket := handle(s, &seawall.Request{Key: callers(1)[0], Tier: seawall.Read}, seawall.Enforce)
		s.Leave(ticket)
		step(time.Duration(i) * tick)
	}
	i := 0
	for ; s.Level() < 0.99; i++ {
		at(i)
	}
	began := i
	for ; s.Level() > 0; i++ {
		if u = 0.5; i%16 == 0 {
			u = 0.85
		}
		at(i)
		require.Less(t, i-began, int(10*time.Minute/tick))
	}
}

// TestWhatLogOnlyHoldsUpTakesNoRoomFromEnforced is about a rollout by percent of callers.
func TestWhatLogOnlyHoldsUpTakesNoRoomFromEnforced(t *testing.T) {
	s := newQuiet(t, Config{Workers: 4}) // six at most
	var tickets []seawall.Ticket
	for i := range 6 {
		_, ticket := handle(s, &seawall.Request{Key: callers(6)[i], Tier: seawall.Read}, seawall.LogOnly)
		tickets = append(tickets, ticket)
	}
	other := of("other", seawall.Read)
	res, _ := handle(s, other, seawall.Enforce)
	assert.False(t, res.Admitted)
	s.phantoms.enter() // one of the six would have ended
	res, ticket := handle(s, other, seawall.Enforce)
	assert.True(t, res.Admitted)
	assert.Equal(t, 1.5, s.Utilization())
	for _, ticket := range append(tickets, ticket) {
		s.Leave(ticket)
	}
	assertEmpty(t, s)
}

// TestOnceEnforcedAllInFlightCounts: after a switch in the middle of an overload the backlog is real.
func TestOnceEnforcedAllInFlightCounts(t *testing.T) {
	p := newPool(t)
	p.run(1, 0, 30*time.Second)
	p.run(3, 1./3+1./6, time.Minute)
	require.Greater(t, p.shedder.phantoms.load(), int64(50))
	for range 12 {
		p.now += tick
		p.step(p.now)
	}
	assert.Zero(t, p.shedder.phantoms.load())
	assert.Greater(t, p.shedder.Utilization(), 5.0)
}

// TestLogOnlyDoesNotWindUpBySignals has a CPU that is saturated since nothing is shed.
func TestLogOnlyDoesNotWindUpBySignals(t *testing.T) {
	s := &shadow{last: census{spared: 10}, keptBegun: 60}
	s.all.ends = 100
	assert.Equal(t, 0.6, s.scale(), "sixty percent of what is done would be left")
	s.keptBegun = 150
	assert.Equal(t, 1.5, s.scale(), "half as much again is asked as can be done")
	s.last.spared = 0
	assert.Equal(t, 1.0, s.scale(), "nothing is spared")
}

func TestASignalThatWasNeverReadIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var calls atomic.Int64
		s, _ := busy(t, Config{Signals: []Signal{{Name: "stuck", Read: func(time.Duration) (float64, error) { calls.Add(1); <-hang; return 1, nil }}}})
		time.Sleep(time.Second) // of the bubble, as the next two: a reading is due
		assert.ErrorIs(t, s.Signals()[0].Err, errUnread)
		time.Sleep(2 * time.Second)
		assert.ErrorIs(t, s.Signals()[0].Err, errStale)
		require.NoError(t, s.Close())
		close(hang)
		time.Sleep(time.Second)
		assert.EqualValues(t, 1, calls.Load(), "nothing is read after Close")
	})
}

func TestAStallIsNotTheSignalsFault(t *testing.T) {
	w := &watched{Signal: Signal{Name: "cpu", StaleAfter: 2 * time.Second}, reports: make(chan report, 9)}
	w.last.Store(&reading{at: time.Second, value: 0.5})
	_, ok := w.latest(time.Minute, 59*time.Second)
	assert.False(t, ok)
	assert.Empty(t, w.reports)
	_, ok = w.latest(time.Minute+tick, tick)
	assert.False(t, ok)
	assert.Len(t, w.reports, 1)
	w.last.Store(&reading{at: time.Minute, err: errors.New("gone")})
	_, ok = w.latest(time.Minute+tick, tick)
	assert.False(t, ok)
	assert.Len(t, w.reports, 1, "once")
}

func TestSignalsMayBeAsOldAsFourIntervals(t *testing.T) {
	read := func(time.Duration) (float64, error) { return 0, nil }
	for interval, want := range map[time.Duration]time.Duration{tick: 2 * time.Second, 2 * time.Second: 8 * time.Second} {
		cfg, err := Config{Workers: 1, Interval: interval, Signals: []Signal{{Name: "a", Read: read}}}.resolve()
		require.NoError(t, err)
		assert.Equal(t, want, cfg.Signals[0].StaleAfter)
	}
}

func TestAdviceCountsWhatEnds(t *testing.T) {
	a := &advice{}
	inFlight := int64(0)
	n := 0.0
	for i := range 4 * 60 { // twenty a second begin, ten end
		if i%4 == 0 {
			inFlight += 10
		}
		n = a.step(census{kept: inFlight}, 5, tick)
	}
	// Ten a second end; in the calmer spans, the first three of four, 235 are in flight in the mean.
	assert.InDelta(t, 235, n, 20)
}
