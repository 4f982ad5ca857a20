package abuse

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestClientsThatSendAByteAtATime has some that never come to the end of their headers, and some that never come to the end
// of a login's body. All are cut, and while they last none of them has a slot.
func TestClientsThatSendAByteAtATime(t *testing.T) {
	t.Parallel()
	p := start(t, nil)
	w := p.watch(t)
	over := p.bystanders(20)
	headers, bodies := count(t, "slow headers", 500, 500), count(t, "slow bodies", 200, 200)
	const (
		line  = "GET /v1/charges HTTP/1.1\r\nHost: payments\r\nAuthorization: Bearer sk_live_slow\r\nX-Slow: "
		login = "POST /v1/login HTTP/1.1\r\nHost: payments\r\nContent-Length: 4000\r\n\r\n"
	)
	var all sync.WaitGroup
	var cut atomic.Int64
	var mu sync.Mutex
	codes := map[int]int{}
	began := time.Now()
	slow := func(first, rest string) {
		conn := dial(t, p.addr)
		_, err := io.WriteString(conn, first)
		require.NoError(t, err)
		all.Go(func() {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				r, err := conn.read()
				if err == nil { // it has an answer; the connection's end comes behind it
					_, _ = io.Copy(io.Discard, conn.in)
				}
				mu.Lock()
				defer mu.Unlock()
				codes[r.code]++
			}()
			for i := 0; ; i++ {
				select {
				case <-ended:
					cut.Add(1)
					return
				case <-time.After(250 * time.Millisecond):
					_, _ = conn.Write([]byte{rest[i%len(rest)]}) // it fails once the connection is cut
				}
			}
		})
	}
	most, least := 0.0, 1e9
	look := func() {
		now := p.scrape(t)
		for _, layer := range []string{"concurrency", "fleetshed", "workershed"} {
			n := now.sum("seawall_inflight", "layer", layer)
			most, least = max(most, n), min(least, n)
		}
		time.Sleep(20 * time.Millisecond) // a byte at a time
	}
	for range bodies {
		slow(login, `{"account": "slow`+"  ")
	}
	for range 10 {
		look()
	}
	for range headers {
		slow(line, "x")
	}
	for cut.Load() == 0 && time.Since(began) < soon {
		look()
	}
	assert.LessOrEqual(t, most, float64(impatient), "slots, of others only")
	assert.Zero(t, least, "at some moment nobody had a slot")
	require.Eventually(t, func() bool { return cut.Load() == int64(headers+bodies) }, soon, 20*time.Millisecond, "all are cut")
	all.Wait()
	t.Logf("all %d were cut after %.1f s, with these answers: %v; slots meanwhile: %.0f to %.0f",
		headers+bodies, time.Since(began).Seconds(), codes, least, most)
	for code := range codes {
		assert.Contains(t, []int{0, http.StatusBadRequest, http.StatusRequestTimeout}, code)
	}
	over(t).served(t)
	// A connection takes 8 KiB of buffers and two goroutines of 8 KiB at most: 700 of them 17 MiB, and garbage as much.
	w.over(t, 50*mib)
}
