package abuse

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// TestRapidReset opens streams of HTTP/2 and resets each in the same breath. The handler of one that was admitted works on,
// with its slot: so no more of them run than the caller may have in flight, however many streams there were.
func TestRapidReset(t *testing.T) {
	const inFlight, workers, clients = 10, 64, 8
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		s := mount(t, server, limits{rate: ratelimit.PerSecond(100_000), burst: 100_000, inFlight: inFlight, workers: workers})
		w := s.watch(t)
		over := s.bystanders(20)
		n := count(t, "streams", 10_000, 100_000)
		var streams, conns atomic.Int64
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				for began := time.Now(); streams.Load() < int64(n) && time.Since(began) < 5*soon; {
					conns.Add(1)
					streams.Add(int64(rapid(t, s.addr, fmt.Sprint("sk_live_rapid", c%2), 200)))
				}
			})
		}
		all.Wait()
		// What is not decided yet counts as in flight, so the worker shedder drops some of what is not critical.
		over(t).servedOf(t, "critical")
		for c := range 2 {
			own, all, began := s.running.peak(fmt.Sprint("Bearer sk_live_rapid", c))
			t.Logf("%d streams on %d connections; handlers: %d of this caller at most, %d of all; %d begun by all", streams.Load(), conns.Load(), own, all, began)
			assert.LessOrEqual(t, own, inFlight)
			assert.Positive(t, own, "some came to the handler")
			assert.LessOrEqual(t, all, 2*inFlight+impatient)
		}
		// Frames, streams and what a goroutine each leaves to the garbage collector; this test's are in it.
		w.over(t, 150*mib)
	})
}

// rapid opens a connection and sends streams with their resets, in writes of 20, until it has sent so many or is cut. It
// returns how many it has sent.
func rapid(t *testing.T, addr, key string, streams int) (sent int) {
	conn, err := net.DialTimeout("tcp", addr, soon)
	if !assert.NoError(t, err) {
		return streams
	}
	defer conn.Close()
	assert.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
	var read sync.WaitGroup
	defer read.Wait()
	defer conn.Close() // ends the reading
	read.Go(func() { _, _ = io.Copy(io.Discard, conn) })

	var out, block bytes.Buffer
	framer := http2.NewFramer(&out, nil)
	headers := hpack.NewEncoder(&block)
	_, _ = out.WriteString(http2.ClientPreface)
	_ = framer.WriteSettings()
	for id := uint32(1); sent < streams; id += 2 {
		block.Reset()
		for _, f := range [][2]string{
			{":method", "GET"}, {":path", "/v1/reports?ms=50"}, {":scheme", "http"}, {":authority", "site"}, {"authorization", "Bearer " + key},
		} {
			_ = headers.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
		require.NoError(t, err)
		require.NoError(t, framer.WriteRSTStream(id, http2.ErrCodeCancel))
		if sent++; sent%20 == 0 {
			if _, err := conn.Write(out.Bytes()); err != nil {
				return sent
			}
			out.Reset()
			time.Sleep(time.Millisecond) // asks again until what was reset is gone
		}
	}
	return sent
}
