package workershed

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

func callers(n int) []seawall.Key {
	keys := make([]seawall.Key, n)
	for i := range keys {
		keys[i] = seawall.NewKey("caller", strconv.Itoa(i))
	}
	return keys
}

// outAt returns who is out in the epoch of now.
func outAt(c *cohorts, keys []seawall.Key, now time.Duration, p float64) []bool {
	c.rotate(now, time.Minute)
	out := make([]bool, len(keys))
	for i, k := range keys {
		out[i] = c.out(k, p)
	}
	return out
}

func count(out []bool) (n int) {
	for _, o := range out {
		if o {
			n++
		}
	}
	return n
}

func TestCohortsShedTheShare(t *testing.T) {
	keys := callers(20_000)
	for _, p := range []float64{0, 1e-9, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 1} {
		for epoch := range time.Duration(5) {
			out := outAt(new(cohorts), keys, epoch*time.Minute, p)
			assert.InDelta(t, p, float64(count(out))/float64(len(keys)), 0.012, "p=%v epoch %d", p, epoch)
		}
	}
}

func TestCohortsAreConsistentWithinAnEpoch(t *testing.T) {
	keys := callers(1000)
	var a, b cohorts
	first := outAt(&a, keys, 10*time.Minute, 0.3)
	assert.Equal(t, first, outAt(&a, keys, 11*time.Minute-1, 0.3), "same epoch")
	assert.Equal(t, first, outAt(&b, keys, 10*time.Minute, 0.3), "another process")
	assert.NotEqual(t, first, outAt(&a, keys, 11*time.Minute, 0.3), "next epoch")
}

func TestCohortsGrowWithTheShare(t *testing.T) {
	var c cohorts
	c.rotate(7*time.Minute, time.Minute)
	for _, k := range callers(1000) {
		before := false
		for p := 0.0; p <= 1; p += 0.05 {
			out := c.out(k, p)
			assert.False(t, before && !out, "%v is out at less than %v only", k, p)
			before = out
		}
	}
}

func TestRotationIsFair(t *testing.T) {
	const epochs = 100
	keys := callers(1000)
	times := make([]int, len(keys))
	previous := make([]bool, len(keys))
	for epoch := range time.Duration(epochs) {
		out := outAt(new(cohorts), keys, epoch*time.Minute, 0.3)
		for i := range out {
			assert.False(t, out[i] && previous[i], "%v is out twice in a row", keys[i])
			if out[i] {
				times[i]++
			}
		}
		previous = out
	}
	for i, n := range times {
		assert.InDelta(t, 0.3*epochs, n, 3, "%v is out in %d of %d epochs", keys[i], n, epochs)
	}
}

func TestNobodysRequestsAreSpread(t *testing.T) {
	var c cohorts
	run, longest, refused := 0, 0, 0
	for range 1000 {
		run++
		if !c.out(seawall.Key{}, 0.25) {
			run = 0
		} else {
			refused++
		}
		longest = max(longest, run)
	}
	assert.InDelta(t, 250, refused, 3)
	assert.Equal(t, 1, longest, "refusals come one by one")
	assert.False(t, c.out(seawall.Key{}, 0))
	assert.True(t, c.out(seawall.Key{}, 1))
}
