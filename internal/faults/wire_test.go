package faults

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// wire stands between clients and a server, and tells what clients say apart: records of TLS, and what is in the clear.
type wire struct {
	listener net.Listener
	server   string
	all      sync.WaitGroup

	mu             sync.Mutex
	stalled        bool // who connects is never answered
	conns          map[net.Conn]struct{}
	records, plain int // of all clients: whole headers of records, and bytes that are in none
}

func newWire(t *testing.T, server *redistest.Server) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{listener: l, server: server.Addr(), conns: map[net.Conn]struct{}{}}
	w.all.Go(w.accept)
	t.Cleanup(func() {
		_ = l.Close()
		w.cut()
		w.all.Wait()
	})
	return w
}

func (w *wire) url() string { return "rediss://" + w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			w.cut() // what was accepted behind the last cut
			return
		}
		stalled := w.join(client)
		w.all.Go(func() {
			defer w.leave(client)
			w.pass(client, stalled)
		})
	}
}

// pass hands on what either side says until one of them ends.
func (w *wire) pass(client net.Conn, stalled bool) {
	heard := &hearing{wire: w}
	if stalled {
		_, _ = io.Copy(heard, client)
		return
	}
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	w.all.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_, _ = io.Copy(io.MultiWriter(heard, server), client)
	_ = server.Close()
}

// join remembers a connection, and tells whether it is to stall.
func (w *wire) join(client net.Conn) (stalled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[client] = struct{}{}
	return w.stalled
}

func (w *wire) leave(client net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = client.Close()
	delete(w.conns, client)
}

// cut ends all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Close()
	}
}

// stall says whether who connects from now on is never answered.
func (w *wire) stall(stalled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = stalled
}

// said returns how many records of TLS clients have sent, and how many bytes that are in none.
func (w *wire) said() (records, plain int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.records, w.plain
}

// hearing reads what one client says as TLS records (RFC 8446, section 5.1). What begins none is in the clear, and all that
// comes behind it.
type hearing struct {
	wire  *wire
	head  []byte // of the next record
	left  int    // bytes of the present one
	clear bool
}

// Write implements io.Writer.
func (h *hearing) Write(b []byte) (int, error) {
	h.wire.mu.Lock()
	defer h.wire.mu.Unlock()
	for i := 0; i < len(b); {
		switch {
		case h.clear:
			h.wire.plain += len(b) - i
			return len(b), nil
		case h.left > 0:
			n := min(h.left, len(b)-i)
			h.left, i = h.left-n, i+n
		default:
			h.head, i = append(h.head, b[i]), i+1
			h.header()
		}
	}
	return len(b), nil
}

// header looks at what is there of a header: type, version and length.
func (h *hearing) header() {
	const changeCipherSpec, applicationData, major, longest = 20, 23, 3, 1<<14 + 256
	n := len(h.head)
	length := 0
	if n == 5 {
		length = int(binary.BigEndian.Uint16(h.head[3:]))
	}
	switch {
	case h.head[0] < changeCipherSpec, h.head[0] > applicationData, n > 1 && h.head[1] != major, length > longest:
		h.clear = true
		h.wire.plain += n
	case n == 5:
		h.left, h.head = length, h.head[:0]
		h.wire.records++
	}
}

// TestPlainBytesAreHeard has a client speak in the clear where others speak TLS.
func TestPlainBytesAreHeard(t *testing.T) {
	t.Parallel()
	ca := redistest.NewAuthority(t)
	w := newWire(t, redistest.StartTLS(t, ca.Certificate(t, soon)))
	require.NoError(t, setup{url: w.url(), trust: ca.Roots()}.probe(t))
	records, plain := w.said()
	assert.Greater(t, records, 3, "a handshake, HELLO, a script")
	assert.Zero(t, plain)

	const hello = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
	conn, err := net.Dial("tcp", w.listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte(hello))
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, plain = w.said(); return plain == len(hello) }, soon, every)
}
