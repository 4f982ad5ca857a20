package proof

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/model"
	"github.com/seawall-go/seawall/ratelimit"
)

// pattern is when one asks, in microseconds, within a window of a minute that it is given the number of.
type pattern func(rnd *rand.Rand, window int) []int64

const minute = int64(60e6)

// patterns ask for more than the limit allows, each in its own way.
func patterns(limit int) map[string]pattern {
	return map[string]pattern{
		"evenly, three times the limit": func(*rand.Rand, int) (at []int64) {
			for i := range 3 * limit {
				at = append(at, minute*int64(i)/int64(3*limit))
			}
			return at
		},
		"evenly, a tenth more than the limit": func(*rand.Rand, int) (at []int64) {
			for i := range limit * 11 / 10 {
				at = append(at, minute*int64(i)/int64(limit*11/10))
			}
			return at
		},
		"all at the end of every other window, evenly in between": func(_ *rand.Rand, window int) (at []int64) {
			for i := range 2 * limit {
				if window%2 == 0 {
					at = append(at, minute-int64(2*limit)+int64(i))
				} else {
					at = append(at, minute*int64(i)/int64(2*limit))
				}
			}
			return at
		},
		"in bursts at random, twice the limit": func(rnd *rand.Rand, _ int) (at []int64) {
			for range 20 {
				burst := rnd.Int64N(minute - 1000)
				for range limit / 10 {
					at = append(at, burst+rnd.Int64N(1000))
				}
			}
			return at
		},
		"one by one at random, twice the limit": func(rnd *rand.Rand, _ int) (at []int64) {
			for range 2 * limit {
				at = append(at, rnd.Int64N(minute))
			}
			return at
		},
	}
}

// TestEstimateOfTheSlidingCounter measures how far what a sliding counter admits in any window is from its
// limit, and how much of what a sliding log would admit it refuses. It never admits twice the limit.
func TestEstimateOfTheSlidingCounter(t *testing.T) {
	const limit, windows = 1000, 14
	for name, p := range patterns(limit) {
		rnd := rand.New(rand.NewPCG(1, 2))
		counter := counted(t, ratelimit.SlidingCounter(limit, time.Minute), p, rnd, windows)
		rnd = rand.New(rand.NewPCG(1, 2))
		log := counted(t, ratelimit.SlidingLog(limit, time.Minute), p, rnd, windows)
		over := 100 * (float64(mostInAMinute(counter))/limit - 1)
		t.Logf("%-58s at most %+6.2f %% of the limit in any window; %6.2f %% of what a sliding log admits", name+":",
			over, 100*float64(len(counter))/float64(len(log)))
		require.LessOrEqual(t, mostInAMinute(log), limit, "%s: the log is exact", name)
		require.Less(t, over, 100.0, name)
	}
}

// counted returns when requests of a pattern are admitted.
func counted(t rapid.TB, q ratelimit.Quota, p pattern, rnd *rand.Rand, windows int) (admitted []int64) {
	mem, _ := memory()
	c := check{account: newAccount(t, "it", seawall.NewKey("caller"), limitOf(t, model.Rule(nil), q)), cost: 1}
	for w := range windows {
		at := p(rnd, w)
		slices.Sort(at)
		for _, us := range at {
			now := minute*int64(30_000_000+w) + us
			mem.set(now)
			checks := []seawall.Check{c.real()}
			if mem.apply(t, checks)[0].Committed {
				admitted = append(admitted, now)
			}
		}
	}
	return admitted
}

// mostInAMinute is the most of the times that lie within less than a minute.
func mostInAMinute(at []int64) int {
	most, first := 0, 0
	for i := range at {
		for at[i]-at[first] >= minute {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
