package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPeaksAreThoseOfCountingAtEveryStart compares with looking at all requests whenever one starts.
func TestPeaksAreThoseOfCountingAtEveryStart(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		requests := make([]request, 100)
		for i := range requests {
			requests[i] = request{start: rnd.Int64N(200), took: rnd.Int64N(30) - 2, seq: int64(i), caller: rnd.Int32N(4)}
		}
		slices.SortFunc(requests, func(a, b request) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		var f inFlight
		want, wantAll := make([]int32, 4), int64(0)
		for i := range requests {
			f.add(&requests[i])
			at, all, of := requests[i].start, int64(0), make([]int32, 4)
			for k := range requests {
				if r := &requests[k]; r.took > 0 && r.start <= at && at < r.start+r.took {
					all++
					of[r.caller]++
				}
			}
			wantAll = max(wantAll, all)
			for k := range of {
				want[k] = max(want[k], of[k])
			}
		}
		require.Equal(t, wantAll, f.peak, "seed %d", seed)
		require.Equal(t, want, reach(f.peaks, 3), "seed %d", seed)
	}
}

func TestWhatIsOverWhenAnotherStartsIsNotBesideIt(t *testing.T) {
	var f inFlight
	for _, r := range []request{{start: 10, took: 5}, {start: 15, took: 5}, {start: 17, took: 0}, {start: 18, took: -1}} {
		f.add(&r)
	}
	assert.EqualValues(t, 1, f.peak)
	assert.EqualValues(t, 3, f.known)
}
