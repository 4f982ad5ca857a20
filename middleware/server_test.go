package middleware_test

import (
	"bufio"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
)

// releasing is a store that tells when leases have been released.
type releasing struct {
	seawall.Store
	released chan struct{}
}

func (s releasing) Release(ctx context.Context, leases ...seawall.Lease) error {
	err := s.Store.Release(ctx, leases...)
	s.released <- struct{}{}
	return err
}

// realServer serves GET / with a handler behind one slot per layer.
func realServer(t *testing.T, handler echo.HandlerFunc) (*httptest.Server, *single, releasing) {
	t.Helper()
	store := releasing{fixture.Memory(t, nil), make(chan struct{}, 100)}
	s := newSingle(t, store)
	e := echo.New()
	e.Use(s.mw)
	e.GET("/", handler)
	e.POST("/", handler)
	srv := httptest.NewUnstartedServer(e)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv, s, store
}

func request(t *testing.T, srv *httptest.Server) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := srv.Client().Do(r)
	require.NoError(t, err)
	return resp
}

func TestAHandlerThatAbortsOnARealServer(t *testing.T) {
	for name, end := range map[string]func(){
		"http.ErrAbortHandler": func() { panic(http.ErrAbortHandler) },
		"panic":                func() { panic("boom") },
		"runtime.Goexit":       runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			srv, s, store := realServer(t, func(echo.Context) error { end(); return nil })
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, http.NoBody) // not retried
			require.NoError(t, err)
			resp, err := srv.Client().Do(r)
			if err == nil {
				resp.Body.Close()
			}
			require.Error(t, err)
			<-store.released
			s.assertFree(t)
		})
	}
}

func TestAHijackedConnectionHoldsItsSlotUntilTheHandlerReturns(t *testing.T) {
	finish := make(chan struct{})
	srv, s, store := realServer(t, func(c echo.Context) error {
		conn, buf, err := c.Response().Hijack()
		if err != nil {
			return err
		}
		defer conn.Close()
		_, _ = buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello\n")
		_ = buf.Flush()
		<-finish
		return nil
	})
	resp := request(t, srv)
	defer resp.Body.Close()
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "hello\n", line)
	assert.Equal(t, http.StatusServiceUnavailable, get(serving(s.mw)).Code)
	close(finish)
	<-store.released
	s.assertFree(t)
}

func TestAClientThatHangsUpDoesNotFreeAWorkerThatStillWorks(t *testing.T) {
	started, gone, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
	srv, s, store := realServer(t, func(c echo.Context) error {
		close(started)
		<-c.Request().Context().Done()
		close(gone)
		<-finish
		return c.Request().Context().Err()
	})
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, http.NoBody)
	require.NoError(t, err)
	failed := make(chan error)
	go func() {
		resp, err := srv.Client().Do(r)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-started
	hangUp()
	require.ErrorIs(t, <-failed, context.Canceled)
	<-gone
	assert.Equal(t, http.StatusServiceUnavailable, get(serving(s.mw)).Code, "its worker still works")
	close(finish)
	<-store.released
	s.assertFree(t)
}

func TestARequestWhoseClientIsGoneAlreadyIsStillDecided(t *testing.T) {
	e := serving(limited(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := httptest.NewRequest(http.MethodGet, "/", http.NoBody).WithContext(ctx)
	assert.Equal(t, http.StatusOK, do(e, gone).Code)
	assert.Equal(t, http.StatusTooManyRequests, do(e, gone).Code, "or hanging up early would be free")
}

func TestServerSentEventsAreFlushedThrough(t *testing.T) {
	next := make(chan struct{})
	srv, s, store := realServer(t, func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
		for range 3 {
			if _, err := io.WriteString(c.Response(), "data: x\n\n"); err != nil {
				return err
			}
			c.Response().Flush()
			<-next // the client has it: nothing between has kept it back
		}
		return nil
	})
	resp := request(t, srv)
	defer resp.Body.Close()
	assert.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	events := bufio.NewReader(resp.Body)
	for range 3 {
		line, err := events.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "data: x\n", line)
		_, err = events.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, get(serving(s.mw)).Code, "a stream holds its slot")
		next <- struct{}{}
	}
	_, err := events.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	<-store.released
	s.assertFree(t)
}
