package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// TestProse checks the figures that algorithms.md states in sentences.
func TestProse(t *testing.T) {
	t.Parallel()
	all, err := replayAll()
	require.NoError(t, err)
	bucket, log, counter, fixed := all[0], all[1], all[2], all[3]
	around := func(r replayed) int { return r.admitted(straddle.from, straddle.end()) }
	says(t, fmt.Sprintf("the fixed window admits %d in 12 s", around(fixed)))
	says(t, fmt.Sprintf("The sliding counter admits %d and the bucket %d,", around(counter), around(bucket)))
	says(t, fmt.Sprintf("admits all %d requests, the others %d to %d]", around(fixed), around(log), around(bucket)))

	minute := func(r replayed) int { return r.admitted(straddle.from, straddle.from+window) }
	says(t, fmt.Sprintf("**In any 60 s** only the log keeps to %d.", log.most(window)))
	says(t, fmt.Sprintf("The bucket admits %d from 2:54 on,", minute(bucket)))
	says(t, fmt.Sprintf("The counter admits %d in the same 60 s,", minute(counter)))
	says(t, fmt.Sprintf("because all %d requests of the minute before 3:00 came in its last six seconds", counter.admitted(straddle.from, edge)))
	assert.Equal(t, bucket.most(window), minute(bucket))
	assert.Equal(t, counter.most(window), minute(counter))
	assert.Equal(t, counter.admitted(edge-window, edge), counter.admitted(straddle.from, edge))
}

// TestBounds looks for traffic that gets more through than algorithms.md says, in any time up to a window.
func TestBounds(t *testing.T) {
	t.Parallel()
	const most = 30
	for _, c := range []struct {
		name  string
		quota ratelimit.Quota
		bound func(x float64) float64 // in a time of so many windows
	}{
		{"bucket", ratelimit.TokenBucket(ratelimit.PerMinute(most), most), func(x float64) float64 { return most * (1 + x) }},
		{"log", ratelimit.SlidingLog(most, window), func(float64) float64 { return most }},
		{"counter", ratelimit.SlidingCounter(most, window), func(x float64) float64 { return most * (1 + x) }},
		{"fixed window", ratelimit.FixedWindow(most, ratelimit.Every(window)), func(float64) float64 { return 2 * most }},
	} {
		fullest := 0.0
		for seed := range uint64(200) {
			rnd := rand.New(rand.NewPCG(seed, 11))
			b, err := newBench()
			require.NoError(t, err)
			var spent []step
			for at := time.Duration(0); at < 5*window; {
				cost := 1 + rnd.Int64N(3)
				_, res, err := b.ask(at, c.quota, seawall.Check{Cost: cost})
				require.NoError(t, err)
				switch {
				case res.Admitted:
					spent = append(spent, step{at: at, cost: cost})
					at += time.Duration(rnd.IntN(50)) * time.Millisecond
				case rnd.IntN(3) == 0:
					at += time.Duration(rnd.Int64N(2*window.Microseconds())) * time.Microsecond
				default:
					at += res.RetryAfter
				}
			}
			for i := range spent {
				sum := int64(0)
				for _, s := range spent[i:] {
					if s.at-spent[i].at >= window {
						break
					}
					sum += s.cost
					bound := c.bound(float64(s.at-spent[i].at) / float64(window))
					require.LessOrEqual(t, float64(sum), bound+1e-9, "%s, seed %d: from %v to %v", c.name, seed, spent[i].at, s.at)
					fullest = max(fullest, float64(sum)/bound)
				}
			}
		}
		assert.Greater(t, fullest, 0.95, "%s: the search was no good", c.name)
	}
}
