package main

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// TestAFailoverIsServedThrough keeps requests coming while a master is killed and another takes its place.
func TestAFailoverIsServedThrough(t *testing.T) {
	sentinel := redistest.StartSentinel(t)
	i := start(t, "-redis-mode", "sentinel", "-redis", sentinel.URL(), "-rate", "100000", "-burst", "100000", "-workers", "1000")
	var served, others atomic.Int64
	var all sync.WaitGroup
	var over atomic.Bool
	for range 4 {
		all.Go(func() {
			for !over.Load() {
				if a := i.get(t, "/v1/charges", "sk_live_a"); a.code == 200 {
					served.Add(1)
				} else {
					others.Add(1)
					t.Logf("%d: %s", a.code, a.body)
				}
				time.Sleep(5 * time.Millisecond) // or they would leave Redis no processor
			}
		})
	}
	old := sentinel.Master(t)
	decides := func(of string) {
		for deadline := time.Now().Add(10 * time.Second); scripts(t, sentinel.Master(t)) < 50; {
			time.Sleep(10 * time.Millisecond) // until it is asked again
			require.True(t, time.Now().Before(deadline), "%s master decides", of)
		}
	}
	defer over.Store(true)
	decides("the first")
	old.Kill()
	began := time.Now()
	sentinel.NextMaster(t, old)
	failover := time.Since(began)
	decides("the next") // or one behind it, on a machine that stands still
	again := time.Since(began)
	over.Store(true)
	all.Wait()
	assert.Zero(t, others.Load())
	assert.Greater(t, served.Load(), int64(200))
	assert.Positive(t, i.metric(t, "seawall_fallback_total", `outcome="allowed"`))
	require.NoError(t, i.stop())
	t.Logf("%d served; another master after %v, and it decides after %v", served.Load(), failover, again)
}
