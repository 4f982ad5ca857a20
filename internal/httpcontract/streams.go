package httpcontract

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
)

// streaming is an API with one slot of each kind, but two for long-lived requests: those of GET /stream.
func (a Adapter) streaming(t *testing.T, stream Handler) *single {
	t.Helper()
	rec := newRecord()
	s := a.serve(t, App{
		Recover: true,
		Routes:  append(one("/"), append(handled("/stream", stream), handled("/short", stream)...)...),
		Guards: []Guard{{
			Stack:    fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil), Observer: rec}, slots(t, 1, 2), fixture.Fleet(t, 1), fixture.Workers(t, 1)),
			Identify: fixture.AsCaller, LongLived: []string{"GET /stream"},
		}},
	})
	return &single{s, rec}
}

// open asks for a stream on a connection of its own.
func (s *single) open(t *testing.T) (*wire, int) {
	t.Helper()
	w := s.dial(t)
	w.send(t, "GET /stream HTTP/1.1", "Host: x", "")
	return w, w.answer(t).status
}

func (a Adapter) streams(t *testing.T) {
	t.Run("hold as long as the connection that they take over", a.heldByConnection)
	t.Run("give back when the handler fails", a.streamFails)
	t.Run("of events are flushed through", a.events)
	t.Run("and others can be controlled", a.controlled)
}

func (a Adapter) heldByConnection(t *testing.T) {
	taken := make(chan net.Conn, 10)
	s := a.streaming(t, func(w http.ResponseWriter, _ *http.Request) error {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return err
		}
		_, _ = rw.WriteString(upgraded)
		_ = rw.Flush()
		taken <- conn
		return nil // others go on with the connection
	})
	open := func() (client *wire, server net.Conn) {
		client, status := s.open(t)
		require.Equal(t, http.StatusSwitchingProtocols, status)
		return client, <-taken
	}
	_, first := open()
	_, second := open()
	assert.Equal(t, 2, s.rec.slots(), "outside the fleet's count and the workers'")
	_, status := s.open(t)
	assert.Equal(t, http.StatusTooManyRequests, status, "one stream too many")
	assert.Equal(t, http.StatusOK, s.do(t, "GET /").status, "other requests have a cap of their own")

	require.NoError(t, first.Close())
	client, third := open()
	require.NoError(t, client.Close())
	_, err := third.Read(make([]byte, 1))
	require.Error(t, err, "its client has gone")
	assert.Equal(t, 2, s.rec.slots(), "which is for who has taken the connection over to notice")
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	assert.Error(t, third.Close(), "twice gives back once")
	s.rec.free(t)
}

func (a Adapter) streamFails(t *testing.T) {
	for name, end := range map[string]func() error{
		"returns": func() error { return nil },
		"fails":   func() error { return errors.New("no") },
		"panics":  func() error { panic("stream") },
	} {
		t.Run(name, func(t *testing.T) {
			s := a.streaming(t, func(http.ResponseWriter, *http.Request) error { return end() })
			for range 5 {
				s.do(t, "GET /stream")
				s.rec.free(t)
			}
		})
	}
}

func (a Adapter) events(t *testing.T) {
	for _, path := range []string{"/stream", "/short"} {
		next := make(chan struct{})
		s := a.streaming(t, func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 4 {
				if _, err := io.WriteString(w, "data: x\n\n"); err != nil {
					return err
				}
				if i%2 == 0 {
					w.(http.Flusher).Flush() // some ask for it by that name
				} else if err := http.NewResponseController(w).Flush(); err != nil {
					return err
				}
				<-next // the client has it: nothing between has kept it back
			}
			return nil
		})
		w := s.dial(t)
		w.send(t, "GET "+path+" HTTP/1.0", "Host: x", "") // 1.0: the body comes as it is
		for w.line(t) != "" {                             // the head
		}
		for range 4 {
			assert.Equal(t, "data: x", w.line(t))
			assert.Empty(t, w.line(t))
			assert.Positive(t, s.rec.slots(), "a stream holds its slot")
			next <- struct{}{}
		}
		_, err := w.in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		s.rec.free(t)
	}
}

// controlled has http.ResponseController work on what handlers are given, of long-lived routes and of others.
func (a Adapter) controlled(t *testing.T) {
	for _, path := range []string{"/stream", "/short"} {
		for name, c := range map[string]struct {
			run    func(w http.ResponseWriter, r *http.Request) error
			status int
		}{
			"deadlines": {func(w http.ResponseWriter, r *http.Request) error {
				control := http.NewResponseController(w)
				if err := errors.Join(control.SetWriteDeadline(time.Now().Add(patience)), control.SetReadDeadline(time.Now())); err != nil {
					return err
				}
				if _, err := r.Body.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
					return errors.New("the deadline did not reach the connection")
				}
				return nil
			}, 200},
			"full duplex": {func(w http.ResponseWriter, _ *http.Request) error {
				return http.NewResponseController(w).EnableFullDuplex()
			}, 200},
			"http.Hijacker": {func(w http.ResponseWriter, _ *http.Request) error {
				conn, rw, err := w.(http.Hijacker).Hijack() // some ask for it by that name
				if err != nil {
					return err
				}
				defer conn.Close()
				_, _ = rw.WriteString(upgraded)
				return rw.Flush()
			}, 101},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				failed := make(chan error, 1)
				s := a.streaming(t, func(w http.ResponseWriter, r *http.Request) error {
					err := c.run(w, r)
					failed <- err
					return err
				})
				w := s.dial(t)
				w.send(t, "GET "+path+" HTTP/1.1", "Host: x", "Content-Length: 1", "") // and the body does not come
				assert.Equal(t, c.status, w.answer(t).status)
				assert.NoError(t, <-failed)
				s.rec.free(t)
			})
		}
	}
}
