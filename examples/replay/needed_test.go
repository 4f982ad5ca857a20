package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/examples/replay/accesslog"
	"github.com/seawall-go/seawall/ratelimit"
)

// played replays requests of some callers through one quota.
func played(t *testing.T, q ratelimit.Quota, cost int64, requests []request) *tally {
	t.Helper()
	c := newCallers(identity{v4: 32, v6: 128})
	for i := range 4 {
		c.of(&accesslog.Entry{Address: fmt.Append(nil, "10.0.0.", i)})
	}
	r, err := newRoutes(nil)
	require.NoError(t, err)
	policy := ratelimit.Policy{Name: "test", Quota: q}
	if cost > 1 {
		policy.Cost = func(*seawall.Request) int64 { return cost }
	}
	p, err := newPlayer([]ratelimit.Policy{policy}, 0, time.Millisecond, c, r)
	require.NoError(t, err)
	defer p.close()
	for i := range requests {
		require.NoError(t, p.play(&requests[i]))
	}
	return p.tallies[0]
}

// someRequests are in bursts, in order.
func someRequests(rnd *rand.Rand) (requests []request) {
	at := int64(1_700_000_000_000_000_000)
	for i := range 150 {
		if rnd.IntN(4) == 0 {
			at += rnd.Int64N(int64(6 * time.Second))
		}
		requests = append(requests, request{start: at, took: -1, seq: int64(i), caller: rnd.Int32N(4)})
	}
	return requests
}

// TestTheNeededBurstIsTheSmallestThatRefusesNobody tries bursts out: with the one that is needed a caller is refused nothing, with
// one less something.
func TestTheNeededBurstIsTheSmallestThatRefusesNobody(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		requests, cost := someRequests(rnd), 1+rnd.Int64N(3)
		quota := func(burst int64) ratelimit.Quota {
			if seed%2 == 0 {
				return ratelimit.TokenBucket(ratelimit.PerSecond(3), burst)
			}
			return ratelimit.FixedWindow(burst, ratelimit.Every(10*time.Second))
		}
		first := played(t, quota(1+rnd.Int64N(10)), cost, requests) // also below the cost
		for who := range first.callers {
			need := first.callers[who].needed.most
			require.Positive(t, need)
			require.Zero(t, played(t, quota(need), cost, requests).callers[who].refused, "seed %d, caller %d, burst %d, cost %d", seed, who, need, cost)
			if need > 1 {
				require.Positive(t, played(t, quota(need-1), cost, requests).callers[who].refused, "seed %d, caller %d, burst %d", seed, who, need-1)
			}
		}
	}
}

// TestTheNeededLimitOfAWindowCountsWhatAnotherPolicyRefuses also while nothing is spent in the window.
func TestTheNeededLimitOfAWindowCountsWhatAnotherPolicyRefuses(t *testing.T) {
	policy := write(t, "policy.yaml", `
version: 1
ratelimit:
  - {name: never, bucket: {rate: 1/s, burst: 1}, cost: 2}
  - {name: day, window: {limit: 3, every: day}}
`)
	var log strings.Builder
	for i := range 20 {
		log.WriteString(combined(i, "192.0.2.1", "/"))
	}
	got := replayed(t, "-policy", policy, write(t, "log", log.String()))
	assert.Equal(t, &enough{0.01, 20, 20, 0}, got.Policies[1].Enough)
}

func TestOfSlidingWindowsNothingIsSaid(t *testing.T) {
	requests := someRequests(rand.New(rand.NewPCG(1, 3)))
	for _, q := range []ratelimit.Quota{ratelimit.SlidingLog(2, time.Minute), ratelimit.SlidingCounter(2, time.Minute)} {
		assert.Zero(t, played(t, q, 1, requests).callers[0].needed.most)
	}
}

// TestSufficientRefusesAtMostSoMany compares with trying every burst.
func TestSufficientRefusesAtMostSoMany(t *testing.T) {
	bursts := []int64{1, 1, 2, 3, 3, 7, 20}
	for refused := range len(bursts) + 2 {
		want := int64(1)
		for ; ; want++ {
			n := 0
			for _, b := range bursts {
				if b > want {
					n++
				}
			}
			if n <= refused {
				break
			}
		}
		assert.Equal(t, want, sufficient(bursts, refused), "%d refused", refused)
		assert.InDelta(t, refusedBy(bursts, want)/100*float64(len(bursts)), float64(refused), 3)
		assert.LessOrEqual(t, refusedBy(bursts, want)/100*float64(len(bursts)), float64(refused)+1e-9)
	}
	assert.Zero(t, sufficient(nil, 0))
}

// TestASeriesKeepsAll however long it becomes.
func TestASeriesKeepsAll(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 4))
	var s series
	at, refused := int64(1_700_000_000_000_000_000), int64(0)
	for range 20_000 {
		at += rnd.Int64N(int64(time.Minute))
		no := rnd.IntN(3) == 0
		if no {
			refused++
		}
		s.add(at, no)
	}
	s.add(1, false) // one from before all others
	var sum part
	for _, p := range s.parts {
		sum.requests += p.requests
		sum.refused += p.refused
	}
	assert.Equal(t, part{20_001, refused}, sum)
	assert.LessOrEqual(t, len(s.parts), maxParts)
	assert.GreaterOrEqual(t, len(s.parts), maxParts/2)
	assert.Less(t, at-s.from, s.width*int64(len(s.parts)), "the last part holds the last request")
}
