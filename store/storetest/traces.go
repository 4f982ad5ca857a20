package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// SameTraces drives two stores with the same random traces, of so many steps each, and compares every field
// of every result. A failure names the seed and the step.
func SameTraces(t *testing.T, a, b Open, traces, steps int) {
	for seed := range uint64(traces) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			trace(t, a(t), b(t), rand.New(rand.NewPCG(seed, 7)), steps)
		})
	}
}

// trace walks both stores through one trace: time goes on, stands still or steps back; requests carry one
// to five checks, enforced or advisory, on a few callers, so that they meet; leases are released, twice at
// times, renewed or left to expire.
func trace(t *testing.T, a, b Subject, rnd *rand.Rand, steps int) {
	menu := menuOf(t, a, b, rnd)
	var heldA, heldB, spentA, spentB []seawall.Check
	for step := range steps {
		switch p := rnd.IntN(20); {
		case p < 4:
			d := time.Duration(rnd.IntN(2_000_000)) * time.Microsecond
			if rnd.IntN(10) == 0 {
				d = time.Duration(rnd.IntN(30)-10) * time.Second
			}
			a.Advance(d)
			b.Advance(d)
		case p < 7 && len(heldA) > 0:
			i := rnd.IntN(len(heldA))
			a.release(t, heldA[i])
			b.release(t, heldB[i])
			if rnd.IntN(4) > 0 { // otherwise it may be released again
				heldA = append(heldA[:i], heldA[i+1:]...)
				heldB = append(heldB[:i], heldB[i+1:]...)
			}
		case p < 8:
			a.Renew()
			b.Renew()
		case p < 9 && len(spentA) > 0:
			i := rnd.IntN(len(spentA))
			earlier := time.Duration(rnd.IntN(10_000_000)-1_000_000) * time.Microsecond
			a.undo(t, spentA[i], earlier)
			b.undo(t, spentB[i], earlier)
		default:
			checks := pick(menu, rnd)
			asked := fmt.Sprintf("seed's step %d: %s", step, describe(checks))
			forB := append([]seawall.Check(nil), checks...)
			resA, resB := a.apply2(t, checks), b.apply2(t, forB)
			require.Equal(t, resA, resB, asked)
			for i, r := range resA {
				if _, ok := checks[i].Rule.(seawall.Holder); ok && r.Committed {
					heldA, heldB = append(heldA, checks[i]), append(heldB, forB[i])
				} else if r.Committed && checks[i].Op == seawall.Spend {
					spentA, spentB = append(spentA, checks[i]), append(spentB, forB[i])
				}
			}
		}
	}
}

// apply2 is apply on the caller's slice, so that it learns the ids.
func (s Subject) apply2(t *testing.T, checks []seawall.Check) []seawall.Result {
	t.Helper()
	results, err := s.Store.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	return results
}

func menuOf(t *testing.T, a, b Subject, rnd *rand.Rand) []seawall.Check {
	rates := []ratelimit.Rate{
		ratelimit.PerSecond(1), ratelimit.PerSecond(3), ratelimit.PerSecond(1000), ratelimit.PerSecond(999_983),
		{Count: 11, Per: 20 * time.Second},
		ratelimit.PerMinute(100), ratelimit.PerHour(10),
		{Count: 1, Per: 30 * 24 * time.Hour},
	}
	bursts := []int64{1, 2, 7, 20, 1000}
	limits := []int64{1, 3, 10, 100, 1_000_000_000}
	windows := []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, time.Hour, 366 * 24 * time.Hour}
	calendars := []ratelimit.Calendar{
		ratelimit.Every(time.Second), ratelimit.Every(7 * time.Second).From(time.Unix(5, 0)), ratelimit.Every(time.Hour),
		ratelimit.Daily(), ratelimit.Weekly(time.Monday), ratelimit.Monthly(31).At(9 * time.Hour),
	}
	var menu []seawall.Check
	for _, caller := range []string{"a", "b"} {
		limit, window := limits[rnd.IntN(len(limits))], windows[rnd.IntN(len(windows))]
		menu = append(menu,
			quota(t, "log", caller, ratelimit.SlidingLog(limit, window), 1),
			quota(t, "counter", caller, ratelimit.SlidingCounter(limit, window), 1),
			quota(t, "window", caller, ratelimit.FixedWindow(limit, calendars[rnd.IntN(len(calendars))]), 1))
		for _, policy := range []string{"one", "two"} {
			rate, burst := rates[rnd.IntN(len(rates))], bursts[rnd.IntN(len(bursts))]
			menu = append(menu, bucket(t, policy, caller, rate, burst, 1))
		}
		menu = append(menu, lease(t, caller, 1+rnd.Int64N(4)))
		menu = append(menu, weighted(t, caller, 1+rnd.Int64N(9), 1))
		slots := 1 + rnd.Int64N(3)
		for waiter := range uint64(4) {
			menu = append(menu, queued(t, caller, slots, waiter, time.Duration(waiter%3)*time.Second))
		}
	}
	workers := 1 + rnd.Int64N(8)
	reserve := float64(rnd.IntN(10)) / 10
	ordinary, critical := slots(t, a, workers, reserve)
	slots(t, b, workers, reserve)
	return append(menu, ordinary, critical)
}

// undo takes a commit back, as if it had been so much earlier, or forgets all about the key.
func (s Subject) undo(t *testing.T, c seawall.Check, earlier time.Duration) {
	t.Helper()
	c.Op, c.At = seawall.Refund, max(0, c.At-int64(earlier))
	if earlier%10_000 == 0 {
		c.Op = seawall.Reset
	}
	require.Equal(t, seawall.Result{Admitted: true, Committed: true}, s.apply(t, c)[0])
}

// pick returns one to five different checks with random cost and mode.
func pick(menu []seawall.Check, rnd *rand.Rand) []seawall.Check {
	var checks []seawall.Check
	for _, i := range rnd.Perm(len(menu))[:1+rnd.IntN(5)] {
		c := menu[i]
		if slices.ContainsFunc(checks, func(other seawall.Check) bool { return *other.Limit == *c.Limit && other.Key == c.Key }) {
			continue
		}
		if b, ok := c.Rule.(ratelimit.Rule); ok {
			c.Cost = 1 + rnd.Int64N(min(b.Limit()+1, 30))
		} else if rnd.IntN(2) == 0 { // of slots, which plain ones take one of all the same
			c.Cost = 1 + rnd.Int64N(10)
		}
		c.Advisory = rnd.IntN(3) == 0
		c.Timed = rnd.IntN(3) > 0
		if rnd.IntN(8) == 0 {
			c.Op = seawall.Peek
		}
		checks = append(checks, c)
	}
	return checks
}

func describe(checks []seawall.Check) string {
	var text strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&text, "%s of %v, cost %d, advisory %v, op %d; ", c.Limit.Name(), c.Key, c.Cost, c.Advisory, c.Op)
	}
	return text.String()
}
