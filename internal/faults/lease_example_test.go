package faults

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
)

// TestTheExampleGetsOverLostData empties Redis again and again under two processes of the payments example, and looks at
// their gauges.
func TestTheExampleGetsOverLostData(t *testing.T) {
	if !longLeases() {
		t.Skip("TestWhatRedisLostIsAssertedAgain is the short form; set SEAWALL_LEASES=long to run it over HTTP")
	}
	const flushes, lasting = 4, 20
	server := redistest.Start(t)
	c := admin(t, server)
	args := []string{"-rate", "1000000", "-burst", "1000000000", "-max-in-flight", "1000", "-workers", "1000"}
	two := []*payments{startPayments(t, server, args...), startPayments(t, server, args...)}
	for _, p := range two {
		p.healthy(t)
	}
	sum := func(name string) (total float64) {
		for _, p := range two {
			total += p.metric(t, name)
		}
		return total
	}
	var all sync.WaitGroup
	var refused, served atomic.Int64
	ask := func(i int, caller string, works time.Duration) {
		code := two[i%len(two)].get(caller, "/v1/charges?ms="+strconv.FormatInt(works.Milliseconds(), 10))
		if code == http.StatusOK {
			served.Add(1)
		} else {
			refused.Add(1)
		}
	}
	const pause = exampleTTL/3 + renewal + 500*time.Millisecond
	took := pause * (flushes + 1)
	for i := range lasting {
		all.Go(func() { ask(i, "lasting", took+3*time.Second) })
	}
	key := newKey(t, c, nil)
	all.Go(func() {
		openloop.Run(context.Background(), openloop.Load{Rate: 200, For: took, Workers: 700}, func(i int) {
			ask(i, fmt.Sprint("caller", i%20), 3*time.Second*time.Duration(i*7919%1000)/1000)
		})
	})
	require.Less(t, until(func() bool { n, _ := held(t, c, key); return n == lasting }), soon)
	time.Sleep(time.Second) // what an instance at work granted by itself is counted now
	least := math.Inf(1)
	look := func(until time.Time) {
		for ; time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
			for _, p := range two {
				for _, layer := range []string{"concurrency", "fleetshed", "workershed", "ratelimit"} {
					least = min(least, p.metric(t, "seawall_inflight", fmt.Sprintf("layer=%q", layer)))
				}
				least = min(least, p.metric(t, "seawall_fleet_used"))
			}
		}
	}
	lapsed := 0.0
	for range flushes {
		do(t, c, "FLUSHALL")
		began := time.Now()
		look(began.Add(exampleTTL/3 + renewal))
		require.Less(t, until(func() bool { n, _ := held(t, c, key); return n == lasting }), soon)
		within(t, "asserted again after", time.Since(began), exampleTTL/3+renewal+200*time.Millisecond)
		look(began.Add(pause))
		before := lapsed
		lapsed = sum("seawall_leases_lapsed_total")
		assert.GreaterOrEqual(t, lapsed-before, float64(lasting*perRequest), "lost leases that are counted")
	}
	all.Wait()
	gone := until(func() bool { return leasesOf(t, c, "payments") == 0 })
	t.Logf("%d served, %d not; Redis was emptied %d times; seawall_leases_lapsed_total %v; the least of any gauge %v; leases left 0 after %s",
		served.Load(), refused.Load(), flushes, lapsed, least, text(gone))
	t.Logf("fallbacks: %v checks", sum("seawall_fallback_total"))
	assert.Zero(t, refused.Load())
	assert.GreaterOrEqual(t, least, 0.0)
	assert.Less(t, gone, soon)
	assert.Less(t, until(func() bool { return sum("seawall_inflight") == 0 && sum("seawall_fleet_used") == 0 }), soon, "gauges")
}
