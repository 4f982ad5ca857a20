package workershed

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// observe says for d that rate requests a second begin and take as long as it takes for inFlight to be in flight.
func observe(a *advice, inFlight int64, rate float64, seconds int) (n float64) {
	for range seconds * 4 {
		n = a.step(census{kept: inFlight}, rate/4, tick)
	}
	return n
}

func TestAdviceIsPeakThroughputTimesCalmLatency(t *testing.T) {
	a := &advice{}
	assert.Zero(t, observe(a, 1, 20, 14), "too early to tell")
	a = &advice{}
	assert.Zero(t, observe(a, 1, 2, 30), "too little to tell")
	observe(a, 4, 20, 120) // 200 ms each
	assert.InDelta(t, 4, observe(a, 4, 20, 60), 0.3)
	observe(a, 50, 100, 60) // saturated: 500 ms each, of which 300 ms are waiting
	assert.InDelta(t, 20, observe(a, 4, 20, 240), 1.5, "100 a second of 200 ms each")
	assert.InDelta(t, 4, observe(a, 4, 20, 600), 0.3, "ten minutes later that is forgotten")
	for range 10_000 {
		a.step(census{kept: 40_000, spared: 100}, 50, tick)
	}
	assert.InDelta(t, 4, observe(a, 4, 20, 60), 0.3, "a service that drowns in log-only mode teaches nothing")
	assert.InDelta(t, 4, a.step(census{kept: 4}, 1, 0), 0.3, "no time has passed")
}
