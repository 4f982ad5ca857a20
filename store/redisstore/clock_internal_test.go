package redisstore

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAClockIsKnownAsWellAsItWasTold learns from answers that took any time on either way, while the clock drifts and is
// set now and then: what is known is never off by more than it says, once an answer contradicts it.
func TestAClockIsKnownAsWellAsItWasTold(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var c clock
	now, ahead := time.Unix(1_800_000_000, 0), 5*time.Hour
	for range 100_000 {
		now = now.Add(rand.N(2 * time.Second))
		set := r.IntN(50) == 0
		if set {
			ahead += time.Duration(r.Int64N(int64(4*time.Hour))) - 2*time.Hour
		}
		there, back := time.Duration(r.Int64N(int64(50*time.Millisecond))), time.Duration(r.Int64N(int64(50*time.Millisecond)))
		if r.IntN(3) > 0 {
			there, back = there/500, back/500
		}
		c.learn(now, now.Add(there+back), now.Add(there+ahead).UnixNano())
		known := c.sample.Load()
		off := time.Duration(known.offset) - ahead
		require.LessOrEqual(t, off.Abs(), time.Duration(known.margin), "set: %v", set)
	}
}

func TestTheBestSampleIsKeptForAWhile(t *testing.T) {
	t.Parallel()
	var c clock
	assert.Zero(t, c.deadline(time.Unix(1, 0), time.Second), "every call is late before anything is known")
	at := time.Unix(1_800_000_000, 0)
	ask := func(took time.Duration) {
		c.learn(at, at.Add(took), at.Add(took/2).UnixNano())
	}
	ask(time.Millisecond)
	good := c.sample.Load()
	ask(time.Second)
	assert.Same(t, good, c.sample.Load())
	ask(time.Microsecond)
	better := c.sample.Load()
	assert.NotSame(t, good, better)
	at = at.Add(refresh)
	ask(time.Second)
	assert.NotSame(t, better, c.sample.Load(), "clocks drift")
	assert.Equal(t, at.Add(time.Second+500*time.Millisecond+time.Microsecond).UnixMicro(), c.deadline(at, time.Second),
		"later by what is not known")
}
