package overload

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheCommittedRecord is whole, and shows what docs/overload.md says.
func TestTheCommittedRecord(t *testing.T) {
	t.Parallel()
	rec, err := Measured()
	require.NoError(t, err)
	text, err := rec.Marshal()
	require.NoError(t, err)
	assert.Equal(t, string(committed), string(text))
	assert.Equal(t, shares(), rec.Mix)
	assert.Equal(t, [...]int{workers, workMs, callers}, [...]int{rec.Workers, rec.WorkMs, rec.Callers})
	require.Len(t, rec.Runs, 4)
	for i, r := range rec.Runs {
		assert.Equal(t, [...]string{Off, Enforce}[i%2], r.Shedder)
		require.Len(t, r.Parts, len(rec.Parts))
		require.Len(t, r.Seconds, rec.Seconds())
		for k, p := range r.Parts {
			assert.Equal(t, p.Rate*rec.Parts[k].Seconds, All(p.Tiers[:]...).Sent, "run %d, %s", i+1, rec.Parts[k].Name)
		}
	}
	for i := 0; i < len(rec.Runs); i += 2 {
		holds(t, rec.Runs[i].Parts[1], rec.Runs[i+1].Parts[1])
	}
}

func TestTheMix(t *testing.T) {
	t.Parallel()
	assert.InDeltaSlice(t, []float64{0.2, 0.2, 0.45, 0.15}, func() []float64 { s := shares(); return s[:] }(), 1e-9)
	requests := mix(1000, 7)
	var n [Tiers]int
	keys := map[string]bool{}
	for _, r := range requests {
		n[r.tier]++
		keys[r.key] = true
	}
	assert.Equal(t, [Tiers]int{200, 200, 450, 150}, n)
	assert.Greater(t, len(keys), callers/2)
	assert.Equal(t, requests, mix(1000, 7))
	assert.NotEqual(t, requests, mix(1000, 8))
}

// TestSummary sums up a run of two parts, of which the first is a second long.
func TestSummary(t *testing.T) {
	t.Parallel()
	const s = time.Second
	critical, read := request{tier: 0}, request{tier: 2}
	p := played{
		rates: []int{3, 2}, generator: []float64{0.1234, 0.5}, server: []float64{1.987, 1},
		parts: [][]answer{
			{
				{request: critical, code: http.StatusOK, due: 0, latency: 10 * time.Millisecond, late: time.Millisecond},
				{request: read, code: http.StatusServiceUnavailable, due: s / 2, latency: 2 * time.Millisecond, late: 4 * time.Millisecond},
				{request: critical, code: http.StatusOK, due: s * 3 / 4, latency: 30 * time.Millisecond},
			},
			{
				{request: critical, due: s, latency: 2 * s},
				{request: read, code: http.StatusTeapot, due: s + s/2, latency: s},
			},
		},
		seconds: make([]Second, 2),
	}
	run := p.summary(Off)
	assert.Equal(t, Off, run.Shedder)
	require.Len(t, run.Parts, 2)
	first, second := run.Parts[0], run.Parts[1]
	assert.Equal(t, [...]float64{0.12, 1.99, 4}, [...]float64{first.Generator, first.Server, first.LateP99})
	assert.Equal(t, Outcome{Sent: 2, Served: 2, ServedP50: 10, ServedP99: 30, P50: 10, P99: 30}, first.Tiers[0])
	assert.Equal(t, Outcome{Sent: 1, Refused: 1, P50: 2, P99: 2}, first.Tiers[2])
	assert.Equal(t, Outcome{Sent: 1, GaveUp: 1, P50: 2000, P99: 2000}, second.Tiers[0])
	assert.Equal(t, Outcome{Sent: 1, Failed: 1, P50: 1000, P99: 1000}, second.Tiers[2])
	assert.Equal(t, Outcome{Sent: 2, Refused: 1, Failed: 1}, All(first.Tiers[2], second.Tiers[2]))
	assert.InDelta(t, 1, first.Tiers[0].Share(), 0)
	assert.Zero(t, Outcome{}.Share())
	assert.Equal(t, [Tiers]int{2, 0, 1, 0}, run.Seconds[0].Sent)
	assert.Equal(t, [Tiers]int{2, 0, 0, 0}, run.Seconds[0].Served)
	assert.Equal(t, [Tiers]float64{2000, 0, 1000, 0}, run.Seconds[1].P99)
}
