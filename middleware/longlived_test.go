package middleware_test

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/scrape"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/telemetry"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/workershed"
)

// streams is an API with one slot of each kind, but two for long-lived requests: those of GET /stream.
type streams struct {
	*httptest.Server
	store   *memstore.Store
	workers *workershed.Shedder
	metrics *prometheus.Registry
	takenBy chan net.Conn // connections that GET /stream?take=1 has taken over
	handled chan struct{} // a handler of GET /stream has returned
}

// upgraded is the answer of a handler that takes its connection over.
const upgraded = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"

func newStreams(t *testing.T, outside ...echo.MiddlewareFunc) *streams {
	t.Helper()
	s := &streams{
		store: fixture.Memory(t, nil), workers: fixture.Workers(t, 1), metrics: prometheus.NewPedanticRegistry(),
		takenBy: make(chan net.Conn, 10), handled: make(chan struct{}, 10),
	}
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: 1, MaxLongLived: 2})
	require.NoError(t, err)
	e := echo.New()
	e.Use(outside...)
	e.Use(mounted(fixture.Stack(t, seawall.Config{
		Store: s.store, Observer: scrape.Into(t, telemetry.Config{Registerer: s.metrics}),
	}, inFlight, fixture.Fleet(t, 1), s.workers), middleware.Config{LongLived: []string{"GET /stream"}}))
	e.GET("/", ok)
	e.GET("/stream", func(c echo.Context) error {
		defer func() { s.handled <- struct{}{} }()
		if c.QueryParam("panic") != "" {
			panic("stream")
		}
		conn, buf, err := c.Response().Hijack()
		if err != nil {
			return err
		}
		_, _ = buf.WriteString(upgraded)
		_ = buf.Flush()
		s.takenBy <- conn
		return nil // others go on with the connection
	})
	s.Server = httptest.NewUnstartedServer(e)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// open opens a stream and returns the server's end of its connection; the handler has returned.
func (s *streams) open(t *testing.T) net.Conn {
	t.Helper()
	require.Equal(t, http.StatusSwitchingProtocols, s.status(t, "/stream"))
	<-s.handled
	return <-s.takenBy
}

// status is that of a GET on a connection of its own, which stays open until the test ends.
func (s *streams) status(t *testing.T, path string) int {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// held is how many leases there are.
func (s *streams) held(t *testing.T) float64 {
	return scrape.Series(t, s.metrics, "seawall_inflight")["concurrency"]
}

func TestLongLivedRequestsHaveACapOfTheirOwn(t *testing.T) {
	s := newStreams(t)
	first, second := s.open(t), s.open(t)
	assert.Equal(t, 2.0, s.held(t))
	assert.Zero(t, s.store.Fleet().Used, "outside the fleet's count")
	assert.Zero(t, s.workers.InFlight(), "and the workers'")
	assert.Equal(t, http.StatusTooManyRequests, s.status(t, "/stream"), "a third stream is one too many")
	assert.Equal(t, http.StatusOK, s.status(t, "/"), "other requests have a cap of their own, too")
	require.NoError(t, first.Close())
	third := s.open(t)
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	assert.Error(t, third.Close(), "twice gives back once")
	assert.Zero(t, s.held(t))
	s.open(t)
	s.open(t)
	assert.Equal(t, http.StatusTooManyRequests, s.status(t, "/stream"))
}

func TestAStreamWhoseHandlerPanicsHoldsNothing(t *testing.T) {
	s := newStreams(t, quietRecover())
	for range 3 {
		assert.Equal(t, http.StatusInternalServerError, s.status(t, "/stream?panic=1"))
		<-s.handled
	}
	assert.Zero(t, s.held(t))
}

// TestAConnectionThatNobodyCanCloseHoldsNothing is about handlers that forget what they have taken over.
func TestAConnectionThatNobodyCanCloseHoldsNothing(t *testing.T) {
	s := newStreams(t)
	for range 2 {
		_ = s.open(t)
	}
	require.Eventually(t, func() bool { runtime.GC(); return s.held(t) == 0 }, 10*time.Second, 10*time.Millisecond)
	s.open(t)
}

// TestMiddlewaresMountedOneByOneFollowAStream has each give back its own, and the writer as it was.
func TestMiddlewaresMountedOneByOneFollowAStream(t *testing.T) {
	store := fixture.Memory(t, nil)
	inFlight, err := concurrency.New(concurrency.Config{MaxLongLived: 1})
	require.NoError(t, err)
	reports, err := concurrency.New(concurrency.Config{Policies: []concurrency.Policy{{Name: "all", MaxInFlight: 1, LongLived: true}}})
	require.NoError(t, err)
	e := echo.New()
	handled := make(chan struct{}, 1)
	same := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			before := c.Response().Writer
			err := next(c)
			assert.Same(t, before, c.Response().Writer)
			handled <- struct{}{}
			return err
		}
	}
	cfg := middleware.Config{LongLived: []string{"GET /"}}
	e.Use(same, mounted(fixture.Stack(t, seawall.Config{Store: store}, inFlight), cfg), mounted(fixture.Stack(t, seawall.Config{Store: store}, reports), cfg))
	conns := make(chan net.Conn, 1)
	e.GET("/", func(c echo.Context) error {
		c.Response().Writer.(http.Flusher).Flush() // some ask for it like this
		conn, _, err := c.Response().Writer.(http.Hijacker).Hijack()
		conns <- conn
		return err
	})
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	for range 3 {
		client, err := net.Dial("tcp", srv.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		conn := <-conns
		<-handled
		require.Implements(t, (*interface{ CloseWrite() error })(nil), conn, "as the connection underneath")
		require.NoError(t, conn.Close())
		require.NoError(t, client.Close())
	}
}

func TestRoutesRefuseWhatCannotMatch(t *testing.T) {
	cfg := middleware.StackConfig{Stack: fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Slots(t, 1))}
	for _, name := range []string{"", "GET", "/v1/events", "get /v1/events", "GET /a /b", "GET /users/{id}"} {
		cfg.LongLived = []string{"GET /ok", name}
		_, err := cfg.ToMiddleware()
		require.ErrorContains(t, err, `want "METHOD /pattern"`)
		require.ErrorContains(t, err, "LongLived")
	}
}

// TestWhoKeepsOnlyTheReaderKeepsTheSlot has a handler that goes on with the buffers of a connection alone, in which lies
// what the client has sent ahead.
func TestWhoKeepsOnlyTheReaderKeepsTheSlot(t *testing.T) {
	inFlight, err := concurrency.New(concurrency.Config{MaxLongLived: 1})
	require.NoError(t, err)
	reg := prometheus.NewPedanticRegistry()
	e := echo.New()
	e.Use(mounted(fixture.Stack(t, seawall.Config{
		Store: fixture.Memory(t, nil), Observer: scrape.Into(t, telemetry.Config{Registerer: reg}),
	}, inFlight), middleware.Config{LongLived: []string{"GET /"}}))
	buffers := make(chan *bufio.ReadWriter, 1)
	e.GET("/", func(c echo.Context) error {
		_, rw, err := c.Response().Hijack()
		buffers <- rw
		return err
	})
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	client, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	_, err = io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\nahead\n")
	require.NoError(t, err)
	rw := <-buffers
	for range 5 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond) // cleanups run behind a collection
	}
	assert.Equal(t, 1.0, scrape.Series(t, reg, "seawall_inflight")["concurrency"])
	line, err := rw.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "ahead\n", line)
	_, err = rw.WriteString("back\n")
	require.NoError(t, err)
	require.NoError(t, rw.Flush())
	line, err = bufio.NewReader(client).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "back\n", line)
	runtime.KeepAlive(rw)
	rw = nil
	require.Eventually(t, func() bool { runtime.GC(); return scrape.Series(t, reg, "seawall_inflight")["concurrency"] == 0 }, 10*time.Second, 10*time.Millisecond)
}

// TestAWriterThatIsNotOursAnyMoreIsLeftAlone is about contexts that Echo has given to another request, and about
// middlewares that leave a writer of their own in place.
func TestAWriterThatIsNotOursAnyMoreIsLeftAlone(t *testing.T) {
	inFlight, err := concurrency.New(concurrency.Config{MaxLongLived: 1})
	require.NoError(t, err)
	mw := mounted(fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, inFlight), middleware.Config{
		LongLived: []string{"GET /"},
	})
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder())
	c.SetPath("/")
	another := httptest.NewRecorder()
	require.NoError(t, mw(func(c echo.Context) error {
		c.Response().Writer = another
		return nil
	})(c))
	assert.Same(t, another, c.Response().Writer)
}

// unflushable is a response whose client is gone.
type unflushable struct{ http.ResponseWriter }

func (unflushable) FlushError() error { return io.ErrClosedPipe }

func TestAFlushThatFailsSaysSoOnAStream(t *testing.T) {
	inFlight, err := concurrency.New(concurrency.Config{MaxLongLived: 1})
	require.NoError(t, err)
	mw := mounted(fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, inFlight), middleware.Config{
		LongLived: []string{"GET /"},
	})
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", http.NoBody), unflushable{httptest.NewRecorder()})
	c.SetPath("/")
	require.NoError(t, mw(func(c echo.Context) error {
		require.ErrorIs(t, http.NewResponseController(c.Response().Writer).Flush(), io.ErrClosedPipe)
		return nil
	})(c))
}
