package cgroup

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const mb = 1 << 20

func TestGarbageIsNotInUse(t *testing.T) {
	t.Parallel()
	read := map[string]float64{
		goLimit: 1000, goTotal: 1100, goReleased: 100, goObjects: 850, goUnused: 20, goFree: 30, goLive: 300,
	}
	share, err := shareOfGo(read)
	require.NoError(t, err)
	assert.Equal(t, .4, share, "300 alive and 100 that is no heap; 550 are garbage until the limit makes the collector run")

	read[goLive] = 850
	share, err = shareOfGo(read)
	require.NoError(t, err)
	assert.Equal(t, .95, share)

	read[goTotal] = 0 // these are not read at one moment
	share, err = shareOfGo(read)
	require.NoError(t, err)
	assert.Equal(t, .85, share)

	read[goLimit] = 0
	_, err = shareOfGo(read)
	assert.ErrorContains(t, err, "GOMEMLIMIT is 0")

	read[goLimit] = math.MaxInt64
	share, err = shareOfGo(read)
	require.NoError(t, err)
	assert.Zero(t, share)
}

// Not parallel: these settings are the process's.
func TestGoMemoryOfThisProcess(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	m := newGoMemory()
	share, err := m.share()
	require.NoError(t, err)
	assert.Zero(t, share, "no limit")

	debug.SetMemoryLimit(1000 * mb)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	idle, err := m.share()
	require.NoError(t, err)
	assert.Positive(t, idle)
	assert.Less(t, idle, .2)

	allocate := func() []byte {
		b := make([]byte, 300*mb)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		return b
	}
	held := allocate()
	garbage, err := m.share()
	require.NoError(t, err)
	assert.InDelta(t, idle, garbage, .1, "no collection has said that it is alive")

	runtime.GC()
	alive, err := m.share()
	require.NoError(t, err)
	assert.InDelta(t, idle+.3, alive, .1)
	runtime.KeepAlive(held)

	held = nil
	runtime.GC()
	freed, err := m.share()
	require.NoError(t, err)
	assert.InDelta(t, idle, freed, .1)
	assert.Nil(t, held)
}
