package abuse

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

const stormers = 300

// storm has so many clients ask again at once whatever they were answered, until over is called. It returns how many
// answers of which status there were. The clients share so many keys.
func (p *api) storm(t *testing.T, clients, keys, ms int) (over func() map[int]int) {
	var stop atomic.Bool
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for c := range clients {
		w := dial(t, p.addr)
		request := get(nil, fmt.Sprintf("/v1/reports?ms=%d", ms), fmt.Sprintf("Authorization: Bearer sk_live_storm%d\r\n", c%keys))
		all.Go(func() {
			defer w.Close()
			own := map[int]int{}
			for !stop.Load() {
				_, err := w.Write(request)
				if !assert.NoError(t, err) {
					return
				}
				code, err := w.skip()
				if !assert.NoError(t, err) {
					return
				}
				own[code]++
			}
			mu.Lock()
			defer mu.Unlock()
			for code, n := range own {
				codes[code] += n
			}
		})
	}
	return func() map[int]int {
		stop.Store(true)
		all.Wait()
		return codes
	}
}

// TestAStormOfRetries has clients that are over their limits ask again at once, far more often than they may: that costs
// others nothing.
func TestAStormOfRetries(t *testing.T) {
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		p := start(t, server)
		w := p.watch(t)
		over := p.bystanders(20)
		ended := p.storm(t, stormers, 5, 10) // the keys together may have 50 requests a second, half a worker
		time.Sleep(stormFor(t))              // it rages
		codes := ended()
		b := over(t)
		t.Logf("storm: %v", codes)
		assert.Greater(t, codes[http.StatusTooManyRequests], 10*codes[http.StatusOK], "it was a storm")
		b.served(t)
		assert.InDelta(t, 1, b.goodput("critical"), 0, "what is critical is all served")
		w.over(t, 80*mib) // 300 connections of 25 KiB, and garbage of ten thousands of refusals
	})
}

// TestAStormOfStrangers has clients that are all within their limits, but together want ten times what there is: nothing
// tells them from others, so ordinary requests fight for what is not reserved; what is critical is served.
func TestAStormOfStrangers(t *testing.T) {
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		notInMemory(t, server)
		p := start(t, server, "-workers", "8")
		w := p.watch(t)
		over := p.bystanders(20)
		ended := p.storm(t, stormers, stormers, 25)
		time.Sleep(stormFor(t)) // it rages
		codes := ended()
		b := over(t)
		t.Logf("storm: %v; of others' reads %.0f %%, writes %.0f %%, critical %.0f %% served",
			codes, 100*b.goodput("read"), 100*b.goodput("write"), 100*b.goodput("critical"))
		assert.Positive(t, codes[http.StatusServiceUnavailable], "it was a storm")
		assert.InDelta(t, 1, b.goodput("critical"), 0, "what is critical is all served")
		w.over(t, 80*mib)
	})
}

func stormFor(t *testing.T) time.Duration {
	return time.Duration(count(t, "tenths of a second", 10, 50)) * time.Second / 10
}
