package guard

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// tenure gives back what a long-lived request holds once its handler has returned and the connection that it has
// taken over, if any, is closed: many handlers of WebSockets return while others go on with the connection.
type tenure struct {
	ctx       context.Context
	admission *seawall.Admission
	holders   atomic.Int32 // the handler and its connection
}

func newTenure(ctx context.Context, a *seawall.Admission) *tenure {
	t := &tenure{ctx: ctx, admission: a}
	t.holders.Store(1)
	return t
}

func (t *tenure) leave() {
	if t.holders.Add(-1) == 0 {
		t.admission.Done(t.ctx)
	}
}

// hijackable is a response whose connection, once taken over, is part of the tenure.
type hijackable struct {
	http.ResponseWriter
	tenure *tenure
}

// Unwrap is for http.ResponseController.
func (w *hijackable) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, as echo.Response does, for handlers that ask for it by that name.
func (w *hijackable) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController, which tells its error.
func (w *hijackable) FlushError() error { return http.NewResponseController(w.ResponseWriter).Flush() }

// Hijack implements http.Hijacker.
func (w *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return conn, rw, err
	}
	w.tenure.holders.Add(1)
	c := &hijacked{conn, sync.OnceFunc(w.tenure.leave)}
	runtime.AddCleanup(c, func(leave func()) { leave() }, c.leave) // nobody can use it any more
	through(c, rw)
	if half, ok := conn.(halfCloser); ok {
		return &halfClosable{c, half}, rw, nil
	}
	return c, rw, nil
}

// halfCloser is a connection of which one direction can be closed, as proxies do.
type halfCloser interface{ CloseWrite() error }

type halfClosable struct {
	*hijacked
	halfCloser
}

// through has rw read from and write to c, so that who keeps only rw keeps c. What rw has read already stays in it.
func through(c net.Conn, rw *bufio.ReadWriter) {
	if rw == nil {
		return
	}
	n := rw.Reader.Buffered()
	early, _ := rw.Peek(n)
	rw.Reader.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(early)), c))
	_, _ = rw.Peek(n)
	rw.Writer.Reset(c)
}

// hijacked is a connection that was taken over.
type hijacked struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *hijacked) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// NetConn returns the connection underneath, as tls.Conn does. Closing that gives nothing back.
func (c *hijacked) NetConn() net.Conn { return c.Conn }
