package abuse

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// TestClientsThatHangUp resets connections while the handler works for them. It goes on working, as handlers do, and its
// slots come back when it has returned.
func TestClientsThatHangUp(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		p := start(t, server, "-rate", "100000", "-burst", "100000", "-workers", "2000", "-max-in-flight", "1000")
		w := p.watch(t)
		over := p.bystanders(20)
		const clients = 40
		n := count(t, "resets", 2000, 10_000)
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				for i := c; i < n; i += clients {
					conn := dial(t, p.addr)
					_, err := conn.Write(get(nil, "/v1/reports?ms=100", fmt.Sprintf("Authorization: Bearer sk_live_gone%d\r\n", c)))
					assert.NoError(t, err)
					time.Sleep(25 * time.Millisecond) // so that it has come to the handler, which takes four times as long
					conn.reset()
				}
			})
		}
		all.Wait()
		over(t).served(t)
		after := w.over(t, 60*mib) // a hundred connections and handlers at a time, and what is not collected yet
		outcomes := map[string]float64{}
		for _, outcome := range []string{"allowed", "denied", "skipped"} {
			outcomes[outcome] = after.sum("seawall_decisions_total", "layer", "fleetshed", "policy", "ordinary", "outcome", outcome)
		}
		t.Logf("%d resets; the last layer's outcomes: %v", n, outcomes)
		assert.GreaterOrEqual(t, outcomes["allowed"], 0.9*float64(n), "they were in the handler")
		assert.Equal(t, http.StatusOK, p.do(http.MethodGet, "/v1/charges", "gone0", "").code, "also they may come back")
	})
}
