package sim_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
	"github.com/seawall-go/seawall/workershed/sim"
)

func run(t *testing.T, sc sim.Scenario, s sim.Subject) *sim.Result {
	t.Helper()
	r, err := sim.Run(sc, s)
	require.NoError(t, err)
	return r
}

func worker(t *testing.T, cfg workershed.Config, m seawall.Mode) sim.Subject {
	t.Helper()
	s, err := sim.Worker("worker", cfg, m)
	require.NoError(t, err)
	return s
}

// erlangC is the share of requests that wait in a queue M/M/c at load a, in Erlangs.
func erlangC(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b / (1 - a/float64(c)*(1-b))
}

// TestTheQueueIsErlangs compares the mean number of waiting requests with the formula for M/M/c.
func TestTheQueueIsErlangs(t *testing.T) {
	t.Parallel()
	const c, load = 4, 0.8
	r := run(t, sim.Scenario{Workers: c, For: 2 * time.Hour, Load: sim.Always(load), Patience: time.Hour}, sim.None())
	sum := 0.0
	for _, s := range r.Seconds {
		sum += float64(s.Queued)
	}
	want := erlangC(c, load*c) * load / (1 - load)
	assert.InEpsilon(t, want, sum/float64(len(r.Seconds)), 0.06)
}

// TestSharedWorkersTakeAsLong: the mean number of requests in M/M/1 with processor sharing is that of M/M/1, load ÷ (1 − load).
func TestSharedWorkersTakeAsLong(t *testing.T) {
	t.Parallel()
	const load = 0.7
	s := worker(t, workershed.Config{Workers: 1000}, seawall.Enforce)
	inFlight, n := 0.0, 0.0
	step := s.Step
	s.Step = func(now time.Duration) {
		step(now)
		inFlight += float64(s.Shedder.(*workershed.Shedder).InFlight())
		n++
	}
	run(t, sim.Scenario{Workers: 1, Discipline: sim.Share, Service: 100 * time.Millisecond, For: 2 * time.Hour, Load: sim.Always(load), Patience: time.Hour}, s)
	assert.InEpsilon(t, load/(1-load), inFlight/n, 0.06)
}

func TestTheSameScenarioGivesTheSameResult(t *testing.T) {
	t.Parallel()
	sc := sim.Scenario{
		For: 90 * time.Second, Load: sim.During(sim.Span{From: 20 * time.Second, To: time.Minute}, 2, 0.5), Overload: sim.Span{From: 20 * time.Second, To: time.Minute},
		Retry: sim.Retry{Times: 2, After: time.Second, Doubling: true, Obedient: true}, Skew: 1,
	}
	play := func(seed uint64) *sim.Result {
		sc.Seed = seed
		return run(t, sc, worker(t, workershed.Config{Workers: 40}, seawall.Enforce))
	}
	first := play(1)
	assert.Equal(t, first, play(1))
	assert.NotEqual(t, first, play(2))
	assert.Positive(t, first.Denied())
	assert.Positive(t, first.Back)
	assert.Positive(t, first.Queued)
}

func TestRetries(t *testing.T) {
	t.Parallel()
	sc := sim.Scenario{For: time.Minute, Load: sim.Always(0.5), Mix: [4]float64{0, 1, 0, 0}}
	closed := func(times int, impatient bool) sim.Tier {
		sc.Retry = sim.Retry{Times: times, After: 100 * time.Millisecond, Impatient: impatient}
		return run(t, sc, sim.BangBang(40, 0)).Tiers[1]
	}
	once := closed(0, false)
	assert.Equal(t, sim.Tier{Calls: once.Calls, Denied: once.Calls, Attempts: once.Calls, Refused: once.Calls}, once)
	thrice := closed(2, false)
	assert.Equal(t, sim.Tier{Calls: once.Calls, Denied: once.Calls, Attempts: 3 * once.Calls, Refused: 3 * once.Calls}, thrice)

	sc.Slow, sc.Patience = sim.Always(1000), time.Millisecond
	sc.Retry = sim.Retry{Times: 3, After: time.Second}
	assert.Equal(t, once.Calls, run(t, sc, sim.None()).Tiers[1].Attempts, "who gives up does not ask again")
	sc.Retry.Impatient = true
	impatient := run(t, sc, sim.None()).Tiers[1]
	assert.InDelta(t, 4*once.Calls, impatient.Attempts, 0.01*float64(once.Calls))
	assert.Less(t, impatient.Answered, once.Calls/100)
}

func TestObedientClientsWait(t *testing.T) {
	t.Parallel()
	for obedient, early := range map[bool]bool{true: false, false: true} {
		r := run(t, sim.Scenario{
			For: 5 * time.Second, Load: sim.During(sim.Span{To: 900 * time.Millisecond}, 1, 0), Mix: [4]float64{0, 1, 0, 0},
			Retry: sim.Retry{Times: 1, After: time.Millisecond, Obedient: obedient},
		}, sim.BangBang(40, 0))
		require.Equal(t, 2*r.Tiers[1].Calls, r.Tiers[1].Attempts)
		assert.Equal(t, early, r.Seconds[0].Tiers[1].Attempts > r.Tiers[1].Calls)
		if obedient {
			late := 0
			for _, s := range r.Seconds[2:] {
				late += s.Tiers[1].Attempts
			}
			assert.Positive(t, late, "up to twice as long")
		}
	}
}

func TestWorkHasItsMean(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for name, work := range map[string]sim.Work{"exponential": sim.Exponential, "regular": sim.Regular, "tail": sim.LongTail(1)} {
		sum := 0.0
		for range 200_000 {
			sum += work(r)
		}
		assert.InDelta(t, 1, sum/200_000, 0.02, name)
	}
}

func TestCancelledRequestsLeaveTheLine(t *testing.T) {
	t.Parallel()
	sc := sim.Scenario{For: time.Minute, Load: sim.Always(3)}
	on := run(t, sc, sim.None())
	sc.Cancels = true
	off := run(t, sc, sim.None())
	last := func(r *sim.Result) int { return r.Seconds[59].Queued }
	assert.Greater(t, last(on), 15_000, "two thirds of a minute's calls")
	assert.Greater(t, on.Queued, 50*time.Second)
	assert.EqualValues(t, -1, on.Drained)
	assert.Less(t, last(off), 1500, "of two seconds' calls")
}

func TestLessWorkersAndSlowWork(t *testing.T) {
	t.Parallel()
	answered := func(left, slow sim.Curve) (n int) {
		r := run(t, sim.Scenario{For: 5 * time.Minute, Load: sim.Always(0.9), Left: left, Slow: slow, Patience: time.Hour}, sim.None())
		for _, s := range r.Seconds[:300] {
			for _, tier := range s.Tiers {
				n += tier.Calls
			}
		}
		return n - r.Seconds[299].Queued
	}
	all := answered(nil, nil)
	half := sim.During(sim.Span{To: time.Hour}, 0.5, 1)
	assert.InEpsilon(t, float64(all)/0.9*0.5, answered(half, nil), 0.03)
	assert.InEpsilon(t, float64(all)/0.9*0.5, answered(nil, sim.Always(2)), 0.03)
}

func TestCurves(t *testing.T) {
	t.Parallel()
	span := sim.Span{From: time.Minute, To: 2 * time.Minute}
	at := func(c sim.Curve, s float64) float64 { return c(time.Duration(s * float64(time.Second))) }
	assert.Equal(t, []float64{1, 3, 3, 1}, []float64{at(sim.During(span, 3, 1), 59), at(sim.During(span, 3, 1), 60), at(sim.During(span, 3, 1), 119), at(sim.During(span, 3, 1), 120)})
	wave := sim.Wave(1, 3, time.Minute)
	assert.InDeltaSlice(t, []float64{1, 2, 3, 2, 1}, []float64{at(wave, 0), at(wave, 15), at(wave, 30), at(wave, 45), at(wave, 60)}, 1e-9)
	square := sim.Square(1, 3, time.Minute)
	assert.Equal(t, []float64{1, 1, 3, 3, 1}, []float64{at(square, 0), at(square, 29), at(square, 30), at(square, 59), at(square, 60)})
	assert.Equal(t, []float64{7, 1, 3, 7}, []float64{at(sim.Within(span, square, 7), 0), at(sim.Within(span, square, 7), 61), at(sim.Within(span, square, 7), 95), at(sim.Within(span, square, 7), 121)})
}

func TestAScenarioThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	for want, sc := range map[string]sim.Scenario{
		"For is 0s; want more than 0, at most a week":                        {},
		"Workers is -1; want 1 to 10000":                                     {For: time.Second, Workers: -1},
		"Service is 1ns; want 10µs to 1h":                                    {For: time.Second, Service: 1},
		"Discipline is Discipline(9); want Line, Share or Free":              {For: time.Second, Discipline: 9},
		"Mix is [1 1 0 0]; want shares that add up to 1":                     {For: time.Second, Mix: [4]float64{1, 1}},
		"Mix is [NaN 1 0 0]; want shares from 0":                             {For: time.Second, Mix: [4]float64{math.NaN(), 1}},
		"Callers is -5; want 1 to 100000":                                    {For: time.Second, Callers: -5},
		"Skew is -1; want 0 to 5":                                            {For: time.Second, Skew: -1},
		"Patience is -1s; want a positive duration, or zero for the default": {For: time.Second, Patience: -time.Second},
		"Retry.Times is -1; want 0 to 100":                                   {For: time.Second, Retry: sim.Retry{Times: -1}},
		"Retry.After is -1ns; want at least 0":                               {For: time.Second, Retry: sim.Retry{After: -1}},
	} {
		sc.Name = "mine"
		_, err := sim.Run(sc, sim.None())
		require.EqualError(t, err, `sim: scenario "mine": `+want)
	}
	_, err := sim.Worker("x", workershed.Config{}, seawall.Enforce)
	require.ErrorContains(t, err, "Workers is 0")
}

func TestALoadThatIsNoNumberIsNoLoad(t *testing.T) {
	t.Parallel()
	for _, load := range []float64{math.NaN(), -1, 0, math.Inf(-1)} {
		r := run(t, sim.Scenario{For: time.Minute, Load: sim.Always(load)}, sim.None())
		assert.Zero(t, r.Tiers, "%v", load)
	}
}

// TestNonsenseEnds: curves and distributions are the user's.
func TestNonsenseEnds(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{math.NaN(), -5, math.Inf(1), math.Inf(-1), 1e300} {
		for _, d := range []sim.Discipline{sim.Line, sim.Share, sim.Free} {
			run(t, sim.Scenario{
				For: 20 * time.Second, Discipline: d, Slow: sim.Always(v), Left: sim.Always(v), Work: func(*rand.Rand) float64 { return v },
				Retry: sim.Retry{Times: 100, After: time.Hour, Doubling: true, Impatient: true},
			}, worker(t, workershed.Config{Workers: 40}, seawall.Enforce))
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, sim.Table(&b, []*sim.Result{{Scenario: "1.5×", Subject: "none", Drained: -1, P99: 1234567 * time.Microsecond, Back: 83*time.Second + time.Millisecond}}))
	assert.Equal(t, `| scenario | shedder | critical in time | their p99 | reversals | queue drained after | queued in all | all back after | longest out | refused |
|----------|---------|------------------|-----------|-----------|---------------------|---------------|----------------|-------------|---------|
| 1.5×     | none    | 0.0 %            | 1.23s     | 0         | never               | 0s            | 1m23s          | 0s          | 0.0 %   |
`, b.String())
}

func Example() {
	overload := sim.Span{From: 2 * time.Minute, To: 5 * time.Minute}
	scenario := sim.Scenario{Name: "twice as much", Workers: 40, For: 10 * time.Minute, Load: sim.During(overload, 2, 0.5), Overload: overload}
	fast, err := sim.Worker("defaults", workershed.Config{Workers: 40}, seawall.Enforce)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, subject := range []sim.Subject{sim.None(), fast} {
		result, err := sim.Run(scenario, subject)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %.0f %% of the critical calls in time, %.0f %% of all refused\n", result.Subject, 100*result.Goodput(), 100*result.Denied())
	}
	// Output:
	// none: 1 % of the critical calls in time, 0 % of all refused
	// defaults: 100 % of the critical calls in time, 45 % of all refused
}
