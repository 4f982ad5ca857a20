package sim

import (
	"math"
	"slices"
	"time"

	"github.com/seawall-go/seawall"
)

// Tier counts the calls of one tier.
type Tier struct {
	// Calls are first attempts, and Denied how many of them were refused; in log-only mode, would have been.
	Calls, Denied int
	// Attempts are all, with repetitions, and Refused how many of them were refused.
	Attempts, Refused int
	// Answered are calls that got their answer in time, at once or after repetitions.
	Answered int
}

func (t *Tier) add(o Tier) {
	t.Calls += o.Calls
	t.Denied += o.Denied
	t.Attempts += o.Attempts
	t.Refused += o.Refused
	t.Answered += o.Answered
}

// Second is what happened in one second.
type Second struct {
	At     time.Duration
	Load   float64 // calls arriving, as a multiple of what the service can take
	Level  float64
	Queued int
	Tiers  [4]Tier
}

// Result is what happened in a run.
type Result struct {
	Scenario, Subject string

	// Tiers counts all calls, by tier from test mode to critical, and InOverload those of the overload.
	Tiers, InOverload [4]Tier
	// P99 is the 99th percentile of how long critical calls of the overload took, those that failed included.
	P99 time.Duration
	// Reversals is how often the level turned, by 0.1 at least.
	Reversals int
	// Drained is how long after the overload began no more than a tenth of the workers' number waited, for ten seconds on; 0 if
	// it never was more, negative if it still was when the run ended.
	Drained time.Duration
	// Queued is how long, in all, more than a tenth of the workers' number waited.
	Queued time.Duration
	// Back is how long after the overload ended the last request was refused.
	Back time.Duration
	// LongestOut is the longest time in which one caller had all requests refused while its tier was shed only in part.
	LongestOut time.Duration
	// Seconds is the course.
	Seconds []Second
}

// Goodput is the share of the critical calls of the overload that were answered in time.
func (r *Result) Goodput() float64 {
	c := r.InOverload[3]
	return float64(c.Answered) / float64(max(1, c.Calls))
}

// Denied is the share of all first attempts that were refused.
func (r *Result) Denied() float64 {
	var all Tier
	for _, t := range r.Tiers {
		all.add(t)
	}
	return float64(all.Denied) / float64(max(1, all.Calls))
}

type measure struct {
	Result
	sc      Scenario
	subject Subject

	latencies  []time.Duration
	outSince   [4][]time.Duration // by caller; negative if it is in
	lastDenied time.Duration
	current    Second
	turning    turning
}

func newMeasure(sc Scenario, subject Subject) *measure {
	m := &measure{sc: sc, subject: subject, lastDenied: -1}
	m.Scenario, m.Subject = sc.Name, subject.Name
	for tier := range m.outSince {
		m.outSince[tier] = slices.Repeat([]time.Duration{-1}, sc.Callers)
	}
	return m
}

func (m *measure) count(at time.Duration, tier int, t Tier) {
	m.Tiers[tier].add(t)
	m.current.Tiers[tier].add(t)
	if m.sc.Overload.has(at) {
		m.InOverload[tier].add(t)
	}
}

func tierOf(r *seawall.Request) int { return int(r.Tier - seawall.TestMode) }

func (m *measure) decided(now time.Duration, a *attempt, admitted bool) {
	tier := tierOf(&a.call.request)
	t := Tier{Attempts: 1}
	if a.first {
		t.Calls = 1
	}
	if !admitted {
		t.Refused = 1
		t.Denied = t.Calls
		m.lastDenied = now
	}
	m.count(a.call.began, tier, t)

	since := &m.outSince[tier][a.call.caller]
	switch {
	case admitted, m.share(a.call.request.Tier) >= 1-1e-9:
		*since = -1
	case *since < 0:
		*since = now
	default:
		m.LongestOut = max(m.LongestOut, now-*since)
	}
}

func (m *measure) share(t seawall.Tier) float64 {
	switch {
	case t >= seawall.Critical:
		return 0
	case m.subject.Share != nil:
		return m.subject.Share(t)
	}
	return m.level()
}

func (m *measure) level() float64 {
	if m.subject.Level == nil {
		return 0
	}
	return m.subject.Level()
}

func (m *measure) answered(now time.Duration, a *attempt) {
	tier := tierOf(&a.call.request)
	m.count(a.call.began, tier, Tier{Answered: 1})
	m.latency(a.call, now-a.call.began)
}

// failed is a call that is not repeated any more.
func (m *measure) failed(now time.Duration, c *call) { m.latency(c, now-c.began) }

func (m *measure) latency(c *call, d time.Duration) {
	if c.request.Tier == seawall.Critical && m.sc.Overload.has(c.began) {
		m.latencies = append(m.latencies, d)
	}
}

func (m *measure) step() { m.turning.see(m.level()) }

func (m *measure) second(now time.Duration, queued int) {
	s := m.current
	s.At, s.Level, s.Queued = now, m.level(), queued
	if now < m.sc.For {
		s.Load = m.sc.Load(now)
	}
	m.Seconds = append(m.Seconds, s)
	m.current = Second{}
}

// settling tells whether something is still being shed.
func (m *measure) settling() bool { return m.level() > 0 }

func (m *measure) result() *Result {
	m.Reversals = m.turning.n
	m.Drained = m.drained()
	m.Back = max(0, m.lastDenied-m.sc.Overload.To)
	if len(m.latencies) > 0 {
		slices.Sort(m.latencies)
		m.P99 = m.latencies[len(m.latencies)*99/100]
	}
	return &m.Result
}

// calm is how long the queue must stay short to be drained.
const calm = 10

func (m *measure) drained() time.Duration {
	long := int(math.Ceil(0.1 * float64(m.sc.Workers)))
	queued, run, since, first := false, 0, time.Duration(0), time.Duration(0)
	for _, s := range m.Seconds {
		switch {
		case s.At <= m.sc.Overload.From:
		case s.Queued > long:
			queued, run = true, 0
			m.Queued += time.Second
		case run == 0:
			run, since = 1, s.At-m.sc.Overload.From
		default:
			run++
		}
		if queued && run == calm && first == 0 {
			first = since
		}
	}
	if queued && first == 0 {
		return -1
	}
	return first
}

// turning counts how often a level turns. What is less than turn is noise.
type turning struct {
	n       int
	extreme float64 // since it turned
	falls   bool
}

const turn = 0.1

func (t *turning) see(level float64) {
	switch {
	case t.falls && level < t.extreme, !t.falls && level > t.extreme:
		t.extreme = level
	case math.Abs(level-t.extreme) >= turn:
		t.n++
		t.falls = !t.falls
		t.extreme = level
	}
}
