package httpcontract

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
)

// single is an API with one slot in each of three layers, of which a request for GET /run holds all.
type single struct {
	*api
	rec *record
}

func (a Adapter) single(t *testing.T, recovers bool, run Handler) *single {
	t.Helper()
	rec := newRecord()
	s := a.serve(t, App{
		Recover: recovers,
		Routes:  append(one("/"), handled("/run", run)...),
		Guards: []Guard{{
			Stack:    fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil), Observer: rec}, slots(t, 1, 1), fixture.Fleet(t, 1), fixture.Workers(t, 1)),
			Identify: fixture.AsCaller,
		}},
	})
	return &single{s, rec}
}

// free asks for nothing to be held, and for another request to get everything.
func (s *single) free(t *testing.T) {
	t.Helper()
	s.rec.free(t)
	assert.Equal(t, http.StatusOK, s.do(t, "GET /").status)
	s.rec.free(t)
}

func (a Adapter) slotsGivenBack(t *testing.T) {
	t.Run("however the handler ends", a.endings)
	t.Run("when a connection was taken over and the handler returned", a.takenOver)
	t.Run("not when the client has gone and the handler works", a.hungUp)
	t.Run("never by a refused request", a.refusedInside)
}

func (a Adapter) endings(t *testing.T) {
	for name, c := range map[string]struct {
		recovers bool
		end      Handler
		status   int // 0: the connection breaks
	}{
		"returns":                     {false, ok, 200},
		"writes nothing":              {false, func(http.ResponseWriter, *http.Request) error { return nil }, 200},
		"writes no body":              {false, func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(http.StatusNoContent); return nil }, 204},
		"fails":                       {false, func(http.ResponseWriter, *http.Request) error { return errors.New("no") }, 500},
		"panics":                      {true, func(http.ResponseWriter, *http.Request) error { panic("boom") }, 500},
		"panics, and nobody recovers": {false, func(http.ResponseWriter, *http.Request) error { panic("boom") }, 0},
		"aborts":                      {true, func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }, 0},
		"aborts, and nobody recovers": {false, func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			held := 0
			var s *single
			s = a.single(t, c.recovers, func(w http.ResponseWriter, r *http.Request) error {
				held = s.rec.slots()
				return c.end(w, r)
			})
			got, err := s.try(t, "POST /run") // a client does not ask again
			if c.status == 0 {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
				assert.Equal(t, c.status, got.status)
			}
			s.free(t)
			assert.Equal(t, 3, held, "one in each layer")
		})
	}
}

// upgraded is the answer of a handler that has taken its connection over.
const upgraded = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"

func (a Adapter) takenOver(t *testing.T) {
	finish := make(chan struct{})
	s := a.single(t, false, func(w http.ResponseWriter, _ *http.Request) error {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return err
		}
		defer conn.Close()
		_, _ = rw.WriteString(upgraded + "hello\n")
		_ = rw.Flush()
		<-finish
		return nil
	})
	w := s.dial(t)
	w.send(t, "GET /run HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: x", "")
	require.Equal(t, http.StatusSwitchingProtocols, w.answer(t).status)
	assert.Equal(t, "hello", w.line(t))
	assert.Equal(t, http.StatusServiceUnavailable, s.do(t, "GET /").status, "its worker works")
	close(finish)
	s.free(t)
}

func (a Adapter) hungUp(t *testing.T) {
	started, gone, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := a.single(t, false, func(_ http.ResponseWriter, r *http.Request) error {
		close(started)
		<-r.Context().Done()
		close(gone)
		<-finish
		return r.Context().Err()
	})
	w := s.dial(t)
	w.send(t, "GET /run HTTP/1.1", "Host: x", "")
	<-started
	require.NoError(t, w.Close())
	<-gone
	assert.Equal(t, http.StatusServiceUnavailable, s.do(t, "GET /").status, "its worker still works")
	close(finish)
	s.free(t)
}

func (a Adapter) refusedInside(t *testing.T) {
	var s *single
	s = a.single(t, false, func(w http.ResponseWriter, _ *http.Request) error {
		for range 3 {
			assert.Equal(t, http.StatusServiceUnavailable, s.do(t, "GET /").status)
		}
		assert.Equal(t, 3, s.rec.slots())
		_, err := io.WriteString(w, "ok")
		return err
	})
	assert.Equal(t, http.StatusOK, s.do(t, "GET /run").status)
	s.free(t)
}
