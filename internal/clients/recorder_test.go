package clients

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// recorder stands between clients and a payments process, and notes when each request was sent and what it was told. What
// it sees is what the server sees, whatever the client says of itself. Requests are told apart by method, path and query.
type recorder struct {
	url string

	mu       sync.Mutex
	attempts map[string][]attempt
}

// attempt is one time that a request was sent.
type attempt struct {
	arrived, answered time.Time // answered: before the answer's first byte
	body              string
	code, retryAfter  int // retryAfter is 0 if there is none
}

// refused tells whether it was told to come back.
func (a attempt) refused() bool {
	return a.code == http.StatusTooManyRequests || a.code == http.StatusServiceUnavailable
}

func record(t *testing.T, p *payments) *recorder {
	t.Helper()
	r := &recorder{attempts: map[string][]attempt{}}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		a := attempt{arrived: time.Now()}
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return // the client has gone
		}
		a.body = string(text)
		out := req.Clone(req.Context())
		out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(p.url, "http://")
		out.Body = io.NopCloser(strings.NewReader(a.body))
		resp, err := transport.RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		a.code = resp.StatusCode
		a.retryAfter, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
		maps.Copy(w.Header(), resp.Header)
		a.answered = time.Now()
		r.add(req.Method+" "+req.URL.RequestURI(), a)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(func() {
		s.Close()
		transport.CloseIdleConnections()
	})
	r.url = s.URL
	return r
}

func (r *recorder) add(request string, a attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts[request] = append(r.attempts[request], a)
}

// count is how many different requests there were, and how often they were refused in all.
func (r *recorder) count() (requests, refusals int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, attempts := range r.attempts {
		for _, a := range attempts {
			if a.refused() {
				refusals++
			}
		}
	}
	return len(r.attempts), refusals
}

// early is how much too early a timer of a client may fire: some round to the nearest millisecond.
const early = 2 * time.Millisecond

// waitedOut asserts that every request was served in the end, that every refusal before had the status and said how long to
// wait, and that no request was sent again before that.
func (r *recorder) waitedOut(t *testing.T, status int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for request, attempts := range r.attempts {
		for k, a := range attempts {
			if k == len(attempts)-1 {
				assert.Equal(t, http.StatusOK, a.code, "%s, sent %d times", request, len(attempts))
				break
			}
			assert.Equal(t, status, a.code, request)
			assert.GreaterOrEqual(t, a.retryAfter, 1, request)
			wait := attempts[k+1].arrived.Sub(a.answered)
			assert.GreaterOrEqual(t, wait, time.Duration(a.retryAfter)*time.Second-early, request)
		}
	}
}
