package nethttp_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/nethttp"
)

func get(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return w
}

func nothing(http.ResponseWriter, *http.Request) {}

func TestTheShortFormsPanic(t *testing.T) {
	assert.PanicsWithError(t, "nethttp: the Stack is nil; want one from seawall.New", func() { nethttp.Stack(nil) })
	assert.Panics(t, func() { nethttp.StackWithConfig(nethttp.Config{}) })
	h := nethttp.Stack(fixture.Limited(t, fixture.Policy("api", 1)))(http.HandlerFunc(nothing))
	assert.Equal(t, http.StatusOK, get(h).Code)
	assert.Equal(t, http.StatusTooManyRequests, get(h).Code)
}

func TestAHandlerIsGivenTheWriterThatTheServerGave(t *testing.T) {
	w := httptest.NewRecorder()
	h := nethttp.StackWithConfig(nethttp.Config{Stack: fixture.Limited(t, fixture.Policy("api", 9)), Identify: fixture.AsCaller})(
		http.HandlerFunc(func(inner http.ResponseWriter, _ *http.Request) { assert.Same(t, w, inner) }))
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
}

func TestRoutesOfOtherRouters(t *testing.T) {
	var seen []string
	h := nethttp.StackWithConfig(nethttp.Config{
		Stack: fixture.Limited(t, fixture.Policy("api", 9)),
		Route: func(r *http.Request) string { return r.Header.Get("X-Test-Route") },
		Tiers: map[string]seawall.Tier{"GET /of/:mine": seawall.Critical},
		Identify: func(c identity.Call, r *seawall.Request) error {
			seen = append(seen, c.Route()+" "+r.Route+" "+r.Tier.String())
			return fixture.AsCaller(c, r)
		},
	})(http.HandlerFunc(nothing))
	for _, route := range []string{"/of/:mine", "/healthz", ""} { // the default Skipper goes by it, too
		r := httptest.NewRequest(http.MethodGet, "/whatever", http.NoBody)
		r.Header.Set("X-Test-Route", route)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	assert.Equal(t, []string{"/of/:mine /of/:mine critical", "  read"}, seen)
}

func TestACallIsTheRequestAndItsWriter(t *testing.T) {
	r, w := httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder()
	h := nethttp.StackWithConfig(nethttp.Config{
		Stack: fixture.Limited(t, fixture.Policy("api", 9)),
		Identify: func(c identity.Call, q *seawall.Request) error {
			assert.Same(t, r, c.Request())
			assert.Same(t, w, c.Response())
			assert.Equal(t, "192.0.2.1:1234", c.Address())
			assert.Empty(t, c.Route(), "no mux has matched it yet")
			assert.Nil(t, c.Get("anything"))
			return fixture.AsCaller(c, q)
		},
	})(http.HandlerFunc(nothing))
	h.ServeHTTP(w, r)
}

// TestAConfiguredAddressIsNoProxyThatNobodyTrusts has no warning where somebody has thought about it.
func TestAConfiguredAddressIsNoProxyThatNobodyTrusts(t *testing.T) {
	for name, c := range map[string]struct {
		address func(*http.Request) string
		warns   bool
	}{"peer": {nil, true}, "configured": {behindProxies(t), false}} {
		var log bytes.Buffer
		h := nethttp.StackWithConfig(nethttp.Config{
			Stack: fixture.Limited(t, fixture.Policy("api", 9)), Identify: fixture.AsCaller, ClientAddress: c.address,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})(http.HandlerFunc(nothing))
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		h.ServeHTTP(httptest.NewRecorder(), r)
		assert.Equal(t, c.warns, bytes.Contains(log.Bytes(), []byte("nethttp.TrustProxies")), "%s: %s", name, log.String())
	}
}

func TestDenyMayBeCalledByAHookOfOnesOwn(t *testing.T) {
	denied := 0
	h := nethttp.StackWithConfig(nethttp.Config{
		Stack: fixture.Limited(t, fixture.Policy("api", 1)), Identify: fixture.AsCaller,
		DenyHandler: func(w http.ResponseWriter, r *http.Request, refusal *guard.Refusal) {
			denied++
			nethttp.Deny(w, r, refusal)
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { t.Error("there is no error") },
	})(http.HandlerFunc(nothing))
	get(h)
	w := get(h)
	assert.Equal(t, 1, denied)
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, guard.MediaType, w.Header().Get("Content-Type"))
}

func TestAnErrorOfIdentifyIsNotShown(t *testing.T) {
	h := nethttp.StackWithConfig(nethttp.Config{
		Stack:    fixture.Limited(t, fixture.Policy("api", 1)),
		Identify: func(identity.Call, *seawall.Request) error { return errors.New("a secret of ours") },
	})(http.HandlerFunc(nothing))
	w := get(h)
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.Equal(t, guard.MediaType, w.Header().Get("Content-Type"))
	assert.JSONEq(t, `{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"The request could not be identified."}`, w.Body.String())
}

// TestAStreamsWriterUnwraps is about writers that middlewares outside have wrapped.
func TestAStreamsWriterUnwraps(t *testing.T) {
	s := fixture.Limited(t, fixture.Policy("api", 9))
	mux := http.NewServeMux()
	mw := nethttp.StackWithConfig(nethttp.Config{Stack: s, Identify: fixture.AsCaller, LongLived: []string{"GET /"}})
	outer := &status{httptest.NewRecorder(), 0}
	mux.Handle("GET /{$}", mw(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if assert.True(t, ok) {
			assert.Same(t, outer, inner.Unwrap())
		}
		w.WriteHeader(http.StatusAccepted)
	})))
	mux.ServeHTTP(outer, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	assert.Equal(t, http.StatusAccepted, outer.code)
}
