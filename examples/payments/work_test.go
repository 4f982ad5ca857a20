package main

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// burnt returns the processor time that this process has had.
func burnt(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestWorkBurnsWhatItSays compares what 200 ms of either kind cost. A processor may be faster or slower than it was while
// it was measured, hence half; a sleep costs next to nothing.
func TestWorkBurnsWhatItSays(t *testing.T) {
	cost := map[string]time.Duration{}
	for _, kind := range []string{"sleep", "cpu"} {
		i := start(t, "-work", kind)
		before := burnt(t)
		a := i.get(t, "/v1/charges?ms=200", "sk_live_a")
		cost[kind] = burnt(t) - before
		require.Equal(t, 200, a.code, a.body)
	}
	assert.Greater(t, cost["cpu"], 100*time.Millisecond)
	assert.Less(t, cost["sleep"], 100*time.Millisecond)
}

// TestProcessorsAreShared has more requests work than there are processors: no arrangement of them is done sooner than
// their sum allows, while as many sleepers are done after one sleep.
func TestProcessorsAreShared(t *testing.T) {
	const each = 50
	i := start(t, "-work", "cpu", "-workers", "1000")
	n := 6 * runtime.GOMAXPROCS(0)
	began := time.Now()
	answers := parallel(n, func(k int) answer {
		return i.get(t, fmt.Sprintf("/v1/charges?ms=%d", each), fmt.Sprintf("sk_live_%d", k))
	})
	took := time.Since(began)
	assert.Equal(t, map[int]int{200: n}, codes(answers))
	assert.Greater(t, took, 6*each*time.Millisecond/2)
}

func TestWorkOfNoTime(t *testing.T) {
	for _, kind := range []string{"sleep", "cpu"} {
		i := start(t, "-work", kind)
		assert.Equal(t, 200, i.get(t, "/v1/charges?ms=0", "sk_live_a").code)
		assert.Equal(t, 400, i.get(t, "/v1/charges?ms=-1", "sk_live_a").code)
	}
}
