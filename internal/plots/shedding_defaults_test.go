package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/workershed"
)

// stepped is a shedder with the defaults, 1000 workers and its clock in hand.
type stepped struct {
	t       *testing.T
	shedder *workershed.Shedder
	step    func(now time.Duration)
	now     time.Duration
	held    []seawall.Ticket
}

func newStepped(t *testing.T) *stepped {
	t.Helper()
	shedder, step, err := workershed.NewStepped(workershed.Config{Workers: 1000, Smoothing: 1})
	require.NoError(t, err)
	return &stepped{t: t, shedder: shedder, step: step}
}

// enter has one more request begin, if it is admitted.
func (s *stepped) enter() seawall.Result {
	res, ticket := s.shedder.Enter(&seawall.Request{Tier: seawall.Write}, seawall.Enforce)
	if res.Admitted {
		res, ticket = s.shedder.Begin(ticket, false)
	}
	if res.Admitted {
		s.held = append(s.held, ticket)
	}
	return res
}

// level returns the level after a time with n requests in flight.
func (s *stepped) level(n int, lasts time.Duration) float64 {
	s.t.Helper()
	for len(s.held) < n {
		require.True(s.t, s.enter().Admitted)
	}
	for ; len(s.held) > n; s.held = s.held[:len(s.held)-1] {
		s.shedder.Leave(s.held[len(s.held)-1])
	}
	for end := s.now + lasts; s.now < end; {
		s.now += workershed.DefaultInterval
		s.step(s.now)
	}
	return s.shedder.Level()
}

// TestSheddingDefaults steps a shedder through what shedding.md says of the defaults.
func TestSheddingDefaults(t *testing.T) {
	t.Parallel()
	for _, says := range []string{
		"| `Low`, `High` | 0.7 and 0.8 |", "| `Dwell`, `RampUp`, `RampDown` | 8 s, 30 s, 120 s |", "| `HardCap` | 1.5 |",
		"1 s at level 0, where only the hard cap refuses, 10 s at level 1.",
	} {
		saysIn(t, sheddingPage, says)
	}
	s := newStepped(t)
	assert.Zero(t, s.level(799, time.Minute), "in the dead zone")
	assert.Zero(t, s.level(1500, 0))
	refused := s.enter()
	assert.False(t, refused.Admitted, "the hard cap")
	assert.Equal(t, time.Second, refused.RetryAfter)
	assert.Zero(t, s.level(1500, 8*time.Second), "the dwell")
	assert.InDelta(t, 0.5, s.level(1500, 15*time.Second), 1e-6, "the ramp up, half of it")
	assert.InDelta(t, 1, s.level(1500, 15*time.Second), 1e-6, "the ramp up")
	assert.Equal(t, 10*time.Second, s.enter().RetryAfter.Round(time.Millisecond))
	assert.InDelta(t, 1, s.level(701, time.Minute), 1e-6, "in the dead zone")
	assert.InDelta(t, 0.5, s.level(0, time.Minute), 1e-6, "the ramp down, half of it")
	assert.InDelta(t, 0, s.level(0, time.Minute), 1e-6, "the ramp down")

	assert.Positive(t, newStepped(t).level(801, 9*time.Second), "above the dead zone")
	s = newStepped(t)
	high := s.level(1500, 30*time.Second)
	assert.Less(t, s.level(699, time.Second), high, "below the dead zone")
}
