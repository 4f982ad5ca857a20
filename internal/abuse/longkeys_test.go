package abuse

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// maxRedisKey is the length that no key of Redis exceeds.
const maxRedisKey = 128

// TestKeysOfAMebibyte sends the command keys that just fit into the headers that a server of net/http takes. Each is one
// caller, as any other; nothing keeps them.
func TestKeysOfAMebibyte(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		p := start(t, server, "-rate", "0.01", "-burst", "2")
		w := p.watch(t)
		over := p.bystanders(2000)
		longKeys(t, p, mib, count(t, "keys", 4, 200), "Authorization: Bearer sk_live_")
		over(t).served(t)
		// Every request is a few copies of its key until the garbage collector comes by. Kept, the long run's were more.
		w.over(t, 100*mib)
	})
}

// TestLongerKeysWhereverTheyAre has a server that takes larger headers find keys elsewhere, too.
func TestLongerKeysWhereverTheyAre(t *testing.T) {
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		notInMemory(t, server)
		s := mount(t, server, limits{rate: ratelimit.PerMinute(1), burst: 2, inFlight: 20, workers: 64, tenants: true})
		w := s.watch(t)
		over := s.bystanders(2000)
		longKeys(t, s.api, mib*5/4, count(t, "keys", 1, 50), "X-API-Key: ", "X-Tenant: ")
		over(t).served(t)
		w.over(t, 100*mib) // the same, and this test's own
	})
}

// longKeys sends keys of so many bytes and a few more in such headers: one several times, and some that differ in the end.
func longKeys(t *testing.T, p *api, size, others int, headers ...string) {
	t.Helper()
	key := strings.Repeat("k", size)
	for _, header := range headers {
		send := func(end string) int {
			r, err := ask(t, p.addr, "GET /v1/charges HTTP/1.1\r\nHost: payments\r\n"+header, key, header[:1]+end+"\r\n\r\n")
			require.NoError(t, err)
			return r.code
		}
		codes := map[int]int{}
		for range 6 { // when a store is late, the instance has a bucket of its own for the same caller
			codes[send("")]++
		}
		assert.LessOrEqual(t, codes[http.StatusOK], 4, "the same key is the same caller: %s: %v", header, codes)
		assert.Equal(t, 6, codes[http.StatusOK]+codes[http.StatusTooManyRequests], "%s: %v", header, codes)
		for i := range others {
			assert.Equal(t, http.StatusOK, send(fmt.Sprint(i)), "one byte more is another: %s", header)
		}
	}
	if p.redis != nil {
		all := keys(t, p.redis)
		assert.Greater(t, len(all), others)
		for _, name := range all {
			assert.LessOrEqual(t, len(name), maxRedisKey, name)
		}
	}
	assert.Less(t, len(p.log.String()), size/10)
}

// TestTheCommandRefusesHugeHeaders has keys of some mebibytes meet a server with the usual limit.
func TestTheCommandRefusesHugeHeaders(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	w := p.watch(t)
	request := get(nil, "/v1/charges", "Authorization: Bearer sk_live_"+strings.Repeat("k", 3*mib)+"\r\n")
	for range count(t, "requests", 5, 100) {
		conn := dial(t, p.addr)
		var sent sync.WaitGroup
		sent.Go(func() { _, _ = conn.Write(request) }) // it may be cut meanwhile
		r, err := conn.read()
		require.NoError(t, err)
		assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, r.code)
		_ = conn.Close()
		sent.Wait()
	}
	w.over(t, 50*mib)
}
