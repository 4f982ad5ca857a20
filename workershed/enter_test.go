package workershed

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// newQuiet returns a shedder whose sampler does not get to run during a test, so that the test says the level.
func newQuiet(t *testing.T, cfg Config) *Shedder {
	t.Helper()
	cfg.Interval = maxInterval
	s, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// setLevel has s shed the share level of a traffic that is the same in all slots.
func (s *Shedder) setLevel(level float64) {
	d := &demand{}
	v := &verdict{level: level, cut: cut{}.of(level, d)}
	_, v.byTier = v.cut.shed(d)
	s.verdict.Store(v)
}

// handle enters a request that the other layers admit.
func handle(s *Shedder, r *seawall.Request, m seawall.Mode) (seawall.Result, seawall.Ticket) {
	res, ticket := s.Enter(r, m)
	if ticket == 0 || !res.Admitted {
		return res, ticket
	}
	return s.Begin(ticket, false)
}

func request(t seawall.Tier) *seawall.Request {
	return &seawall.Request{Key: seawall.NewKey("a"), Tier: t}
}

// enterAll enters n requests of a tier.
func enterAll(s *Shedder, n int, t seawall.Tier, m seawall.Mode) (tickets []seawall.Ticket) {
	for range n {
		_, ticket := handle(s, request(t), m)
		tickets = append(tickets, ticket)
	}
	return tickets
}

func TestEnterCountsAndLeaveUncounts(t *testing.T) {
	s := newQuiet(t, Config{Workers: 4})
	res, ticket := handle(s, request(seawall.Read), seawall.Enforce)
	assert.Equal(t, seawall.Result{Admitted: true, Limit: 4, Remaining: 3}, res)
	assert.NotZero(t, ticket)
	assert.EqualValues(t, 1, s.InFlight())
	assert.Equal(t, 0.25, s.Utilization())

	s.Leave(0)
	assert.EqualValues(t, 1, s.InFlight())
	for range 3 {
		s.Leave(ticket)
		s.Leave(ticketSpared)
		s.Leave(99)
		assert.Zero(t, s.InFlight(), "never below zero")
		assert.Zero(t, s.Utilization())
	}
}

func TestTiersAreShedFromTheBottom(t *testing.T) {
	for _, tc := range []struct {
		level                       float64
		test, read, write, critical bool // admitted
	}{
		{0, true, true, true, true},
		{1. / 3, false, true, true, true},
		{2. / 3, false, false, true, true},
		{1, false, false, false, true},
		{math.NaN(), true, true, true, true},
		{-1, true, true, true, true},
		{math.Inf(1), false, false, false, true},
	} {
		s := newQuiet(t, Config{Workers: 100})
		s.setLevel(tc.level)
		for tier, want := range map[seawall.Tier]bool{
			seawall.TestMode: tc.test, seawall.Read: tc.read, seawall.Write: tc.write, seawall.Critical: tc.critical,
		} {
			for _, key := range append(callers(50), seawall.Key{}) {
				res, ticket := handle(s, &seawall.Request{Key: key, Tier: tier}, seawall.Enforce)
				assert.Equal(t, want, res.Admitted, "%v at level %v", tier, tc.level)
				assert.Equal(t, want, ticket != 0)
				s.Leave(ticket)
			}
		}
	}
}

func TestRefusalSaysWhenToRetry(t *testing.T) {
	for level, want := range map[float64]time.Duration{1. / 3: 4 * time.Second, 1: 10 * time.Second} {
		s := newQuiet(t, Config{Workers: 4})
		enterAll(s, 3, seawall.Critical, seawall.Enforce)
		s.setLevel(level)
		res, ticket := handle(s, request(seawall.TestMode), seawall.Enforce)
		assert.Equal(t, seawall.Result{RetryAfter: want, Limit: 4, Remaining: 1}, res)
		assert.Zero(t, ticket)
		assert.EqualValues(t, 3, s.InFlight(), "a refusal counts nothing")
	}
}

func TestLogOnlyRefusalIsInFlightButNotInUtilization(t *testing.T) {
	s := newQuiet(t, Config{Workers: 4})
	s.setLevel(1)
	res, ticket := handle(s, request(seawall.Read), seawall.LogOnly)
	assert.False(t, res.Admitted)
	assert.Equal(t, 10*time.Second, res.RetryAfter)
	assert.NotZero(t, ticket)
	assert.EqualValues(t, 1, s.InFlight())
	assert.Zero(t, s.Utilization())
	_, kept := handle(s, request(seawall.Critical), seawall.LogOnly)
	assert.EqualValues(t, 2, s.InFlight())
	assert.Equal(t, 0.25, s.Utilization())
	s.Leave(ticket)
	assert.EqualValues(t, 1, s.InFlight())
	assert.Equal(t, 0.25, s.Utilization())
	s.Leave(kept)
	assert.Zero(t, s.InFlight())
}

func TestOffDoesNothing(t *testing.T) {
	s := newQuiet(t, Config{Workers: 1})
	s.setLevel(1)
	for range 5 {
		res, ticket := handle(s, request(seawall.TestMode), seawall.Off)
		assert.True(t, res.Admitted)
		assert.Zero(t, ticket)
	}
	assert.Zero(t, s.InFlight())
}

func TestEnterAndLeaveDoNotAllocate(t *testing.T) {
	for _, tc := range []struct {
		name  string
		level float64
		mode  seawall.Mode
		r     *seawall.Request
	}{
		{"admitted", 0, seawall.Enforce, request(seawall.Read)},
		{"by cohort", 0.5, seawall.Enforce, request(seawall.Read)},
		{"nobody's", 0.5, seawall.Enforce, &seawall.Request{}},
		{"refused", 1, seawall.Enforce, request(seawall.Read)},
		{"log-only", 1, seawall.LogOnly, request(seawall.Read)},
		{"critical", 1, seawall.Enforce, request(seawall.Critical)},
	} {
		s := newQuiet(t, Config{Workers: 4})
		s.setLevel(tc.level)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, ticket := handle(s, tc.r, tc.mode)
			s.Leave(ticket)
		}), tc.name)
	}
}

func BenchmarkEnterLeave(b *testing.B) {
	s, err := New(Config{Workers: 64})
	require.NoError(b, err)
	defer func() { _ = s.Close() }()
	s.setLevel(0.5)
	r := request(seawall.Read)
	b.ReportAllocs()
	for b.Loop() {
		_, ticket := handle(s, r, seawall.Enforce)
		s.Leave(ticket)
	}
}
