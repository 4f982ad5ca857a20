package httpcontract

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// api is an app on a server, and its client, which follows no redirect.
type api struct {
	*httptest.Server
	client *http.Client
}

// serve builds an app and serves it until the test ends.
func (a Adapter) serve(t *testing.T, app App) *api {
	t.Helper()
	for i := range app.Guards {
		if app.Guards[i].Logger == nil {
			app.Guards[i].Logger = slog.New(slog.DiscardHandler)
		}
	}
	h, err := a.Build(t, app)
	require.NoError(t, err)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // panics that reach it are meant to
	srv.Start()
	t.Cleanup(srv.Close)
	client := srv.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &api{srv, client}
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// with changes a request.
type with func(r *http.Request)

func header(name string, values ...string) with {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

func body(text string) with {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

// chunked sends a body without telling its length.
func chunked(text string) with {
	return func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), -1 }
}

// do sends a request, "METHOD /path".
func (s *api) do(t *testing.T, request string, changes ...with) answer {
	t.Helper()
	got, err := s.try(t, request, changes...)
	require.NoError(t, err, request)
	return got
}

func (s *api) try(t *testing.T, request string, changes ...with) (answer, error) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
	require.NoError(t, err)
	for _, change := range changes {
		change(r)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

// problem is the body as a problem; what it holds besides is an error.
func (a answer) problem(t *testing.T) (p problem) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&p), a.body)
	return p
}

// problem is what a client reads of a refusal.
type problem struct {
	Type, Title, Detail, Limiter, Policy string
	Status                               int
	RetryAfter                           int64    `json:"retry_after"`
	Violated                             []string `json:"violated-policies"`
}

// wire is a connection of one's own, for what a client does not let one send, and to hang up.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func (s *api) dial(t *testing.T) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return &wire{conn, bufio.NewReader(conn)}
}

// send sends lines, each with its end.
func (w *wire) send(t *testing.T, lines ...string) {
	t.Helper()
	_, err := io.WriteString(w, strings.Join(lines, "\r\n")+"\r\n")
	require.NoError(t, err)
}

// line reads one line, without its end.
func (w *wire) line(t *testing.T) string {
	t.Helper()
	text, err := w.in.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimRight(text, "\r\n")
}

// answer reads an answer.
func (w *wire) answer(t *testing.T) answer {
	t.Helper()
	resp, err := http.ReadResponse(w.in, nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return answer{resp.StatusCode, resp.Header, ""}
	}
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}
