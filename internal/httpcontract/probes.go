package httpcontract

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
)

func (a Adapter) probesAndProxies(t *testing.T) {
	t.Run("probes are skipped by default", a.probes)
	t.Run("a Skipper exempts what it likes", a.skipper)
	t.Run("a proxy that nobody trusts is told once", a.untrusted)
}

func (a Adapter) probes(t *testing.T) {
	st, rec := recorded(t)
	s := a.serve(t, App{
		Routes: append(one("/healthz"), append(one("/livez"), one("/v1/healthz")...)...),
		Guards: []Guard{{Stack: st, Identify: fixture.AsCaller}},
	})
	for request, seen := range map[string]int{
		"GET /healthz":         0,
		"HEAD /healthz":        0,
		"GET /livez?verbose=1": 0,
		"POST /healthz":        1,
		"GET /readyz":          1, // not registered
		"GET /healthz/x":       1,
		"GET /v1/healthz":      1,
		"GET /HEALTHZ":         1,
	} {
		got := s.do(t, request)
		assert.Len(t, rec.take(), seen, request)
		assert.Len(t, quotaFields(got.header), 2*seen, request)
	}
}

func (a Adapter) skipper(t *testing.T) {
	st, rec := recorded(t)
	s := a.serve(t, App{
		Routes: append(one("/healthz"), append(one("/free"), one("/")...)...),
		Guards: []Guard{{Stack: st, Identify: fixture.AsCaller, Skip: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/free") }}},
	})
	for request, seen := range map[string]int{"GET /free": 0, "POST /free": 0, "GET /": 1, "GET /healthz": 0} {
		assert.Less(t, s.do(t, request).status, 300, request)
		assert.Len(t, rec.take(), seen, request)
	}
	s = a.serve(t, App{Routes: one("/healthz"), Guards: []Guard{{Stack: st, Identify: fixture.AsCaller, CountProbes: true}}})
	assert.Equal(t, http.StatusOK, s.do(t, "GET /healthz").status)
	assert.Len(t, rec.take(), 1)
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (a Adapter) untrusted(t *testing.T) {
	log := new(lines)
	st, rec := recorded(t)
	s := a.serve(t, App{Routes: one("/"), Guards: []Guard{{
		Stack: st, Logger: slog.New(slog.NewTextHandler(log, nil)), Identify: fixture.Hasher(t).ByAddress(),
	}}})
	s.do(t, "GET /")
	assert.Empty(t, log.all(), "no proxy")
	for i := range 9 {
		name := []string{"X-Forwarded-For", "Forwarded", "X-Real-IP"}[i%3]
		s.do(t, "GET /", header(name, "203.0.113."+string(rune('1'+i))))
	}
	assert.Equal(t, 1, strings.Count(log.all(), "no proxy is trusted"), log.all())
	assert.NotContains(t, log.all(), "203.0.113", "what clients write does not get into logs")
	keys := map[seawall.Key]bool{}
	for _, saw := range rec.take() {
		keys[saw.key] = true
	}
	assert.Equal(t, map[seawall.Key]bool{fixture.Hasher(t).Key("addr", "127.0.0.1"): true}, keys)
}
