package abuse

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// TestCallersWithoutNumber has every request come from a caller of its own, as somebody who invents keys does. In memory
// there is room for so many; on Redis a bucket is there until it would be full again, and then gone.
func TestCallersWithoutNumber(t *testing.T) {
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		// In memory no bucket is full again while the test runs. On Redis it is gone after burst ÷ rate.
		args, part := []string{"-rate", "0.01", "-burst", "2", "-workers", "1000"}, 100_000
		if server != nil {
			args, part = []string{"-rate", "1", "-burst", "2", "-workers", "1000"}, 20_000
		}
		p := start(t, server, args...)
		victim := func() int { return p.do(http.MethodGet, "/v1/charges", "victim", "").code }
		for victim() == http.StatusOK {
		}
		n := count(t, "callers", part, 1_000_000)
		w := p.watch(t)
		usedBefore := p.usedMemory(t)
		over := p.bystanders(2000) // each of them asks once in 50 s
		began := time.Now()
		codes := flood(t, p.addr, n, func(b []byte, i int) []byte {
			return get(b, "/v1/charges", "Authorization: Bearer sk_live_"+strconv.Itoa(i)+"\r\n")
		})
		took := time.Since(began)
		t.Logf("%d callers in %.1f s: %v", n, took.Seconds(), codes)
		assert.GreaterOrEqual(t, codes[http.StatusOK], n*9/10, "each of them has a bucket")
		if server == nil {
			assert.Equal(t, http.StatusTooManyRequests, victim(), "who was refused is not forgotten for them")
		} else {
			size, used := p.redis.DBSize(context.Background()).Val(), p.usedMemory(t)
			t.Logf("Redis: %d keys, %.1f to %.1f MiB", size, usedBefore/mib, used/mib)
			// Those of the last 2 s are alive, and as many may have died lately. A kilobyte each is many times too much.
			assert.LessOrEqual(t, float64(size), 2*2*float64(n)/took.Seconds()+1000)
			assert.LessOrEqual(t, used-usedBefore, 1024*float64(size)+16*mib)
			require.Eventually(t, func() bool { return p.redis.DBSize(context.Background()).Val() < 1000 }, soon, 50*time.Millisecond,
				"buckets that are full again are gone")
		}
		over(t).served(t)
		// memstore says 55 MB for the 300,000 states that it keeps at most; connections and garbage have the rest.
		w.over(t, 150*mib)
	})
}

// usedMemory is how many bytes Redis uses.
func (p *api) usedMemory(t *testing.T) float64 {
	t.Helper()
	if p.redis == nil {
		return 0
	}
	info, err := p.redis.Info(context.Background(), "memory").Result()
	require.NoError(t, err)
	var n float64
	_, rest, _ := strings.Cut(info, "\nused_memory:")
	_, err = fmt.Sscan(rest, &n)
	require.NoError(t, err)
	return n
}
