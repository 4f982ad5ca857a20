package sockets

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// get is the status of a GET over HTTP/2, or 0 if there was no answer.
func (s *site) get(t *testing.T, path string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
	require.NoError(t, err)
	resp, err := s.Client().Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestWhateverEndsARequestGivesItsSlotBack ends requests in every way, ten times each, where there is one slot of each kind.
func TestWhateverEndsARequestGivesItsSlotBack(t *testing.T) {
	quiet := echomw.RecoverWithConfig(echomw.RecoverConfig{DisablePrintStack: true})
	for name, end := range map[string]func(c echo.Context) error{
		"returns":             func(c echo.Context) error { return c.NoContent(http.StatusOK) },
		"fails":               func(echo.Context) error { return errors.New("no") },
		"panics":              func(echo.Context) error { panic("boom") },
		"aborts":              func(echo.Context) error { panic(http.ErrAbortHandler) },
		"exits":               func(echo.Context) error { runtime.Goexit(); return nil },
		"hijacks, not in h2":  func(c echo.Context) error { _, _, err := c.Response().Hijack(); return err },
		"writes after a wait": func(c echo.Context) error { time.Sleep(time.Millisecond); return c.String(http.StatusOK, "late") },
	} {
		for where, mw := range map[string][]echo.MiddlewareFunc{
			"": nil, "Recover inside": {quiet},
			"a middleware answers": {func(echo.HandlerFunc) echo.HandlerFunc { return end }},
		} {
			t.Run(name+", "+where, func(t *testing.T) {
				t.Parallel()
				onBothStores(t, func(t *testing.T, s *site) {
					s.echo.Use(mw...)
					s.echo.GET("/", end)
					s.echo.GET("/fine", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
					for range 10 {
						_ = s.get(t, "/")
						s.free(t)
					}
				})
			})
		}
	}
}

// TestAResetDoesNotFreeAWorkerThatStillWorks resets HTTP/2 streams while their handler works.
func TestAResetDoesNotFreeAWorkerThatStillWorks(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *site) {
		started, reset, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s.echo.GET("/", func(c echo.Context) error {
			if c.QueryParam("work") == "" {
				return c.NoContent(http.StatusOK)
			}
			close(started)
			<-c.Request().Context().Done()
			close(reset)
			<-finish
			return c.Request().Context().Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/?work=1", http.NoBody)
		require.NoError(t, err)
		var client sync.WaitGroup
		client.Go(func() {
			resp, err := s.Client().Do(r)
			if err == nil {
				_ = resp.Body.Close()
			}
			assert.ErrorIs(t, err, context.Canceled)
		})
		<-started
		cancel()
		<-reset
		client.Wait()
		assert.Equal(t, http.StatusServiceUnavailable, s.get(t, "/"))
		close(finish)
		s.free(t)
		assert.Equal(t, http.StatusOK, s.get(t, "/"))
	})
}

// TestEventsAreHeldWhileTheyAreSent reads a stream of events over HTTP/1.1 and HTTP/2, compressed and not.
func TestEventsAreHeldWhileTheyAreSent(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *site) {
		s.echo.Use(echomw.GzipWithConfig(echomw.GzipConfig{Skipper: func(c echo.Context) bool { return c.QueryParam("gzip") == "" }}))
		s.echo.GET("/stream", func(c echo.Context) error {
			c.Response().Header().Set(echo.HeaderContentType, "text/event-stream")
			for n := 0; ; n++ {
				if _, err := fmt.Fprintf(c.Response(), "data: %d\n\n", n); err != nil {
					return err
				}
				c.Response().Flush()
				select {
				case <-c.Request().Context().Done():
					return nil
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
		one := s.Client().Transport.(*http.Transport).Clone()
		one.ForceAttemptHTTP2, one.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
		defer one.CloseIdleConnections()
		var closers []func()
		for i, client := range []*http.Client{s.Client(), {Transport: one}} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/stream", http.NoBody)
			if i == 1 {
				r.URL.RawQuery = "gzip=1"
			}
			require.NoError(t, err)
			resp, err := client.Do(r)
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, 2-i, resp.ProtoMajor)
			events := bufio.NewReader(resp.Body)
			for n := range 3 {
				line, err := events.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("data: %d\n", n), line)
				_, err = events.ReadString('\n')
				require.NoError(t, err)
			}
			closers = append(closers, cancel)
			go func() { _, _ = io.Copy(io.Discard, events) }()
		}
		time.Sleep(ttl + ttl/2) // so that they are renewed
		assert.Equal(t, http.StatusTooManyRequests, s.get(t, "/stream"))
		closers[0]()
		closers[1]()
		s.free(t)
	})
}
