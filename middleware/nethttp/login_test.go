package nethttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/nethttp"
)

// TestALoginIsALoginByWhateverMethod is about handlers that are registered for no method, as mux.HandleFunc("/login") is.
func TestALoginIsALoginByWhateverMethod(t *testing.T) {
	login := fixture.Policy("login", 2)
	login.Routes, login.Key, login.OnFailure = []string{"/login"}, identity.LoginPair, seawall.FailClosed
	h := fixture.Hasher(t)
	identify, err := h.WithLogin(h.ByAddress(), identity.Login{Routes: []string{"/login"}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/login", fine)
	guarded := nethttp.StackWithConfig(nethttp.Config{Stack: fixture.Limited(t, login), Identify: identify})(mux)
	for i, method := range []string{"POST", "PUT", "FOO", "CONNECT", "GET", "DELETE", "HEAD", "post"} {
		r := httptest.NewRequest(method, "/login", strings.NewReader(`{"account":"alice"}`))
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		assert.Equal(t, map[bool]int{true: 200, false: 429}[i < 2], w.Code, method)
	}
	for range 5 { // the page that asks for the account
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/login", http.NoBody))
		assert.Equal(t, 200, w.Code)
	}
}

// TestALoginPolicyWithoutWithLoginLimitsCallers and not nobody.
func TestALoginPolicyWithoutWithLoginLimitsCallers(t *testing.T) {
	login := fixture.Policy("login", 2)
	login.Key = identity.LoginPair
	guarded := nethttp.StackWithConfig(nethttp.Config{Stack: fixture.Limited(t, login), Identify: fixture.AsCaller})(http.HandlerFunc(fine))
	for i := range 4 {
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(fmt.Sprintf(`{"account":"%d"}`, i))))
		assert.Equal(t, map[bool]int{true: 200, false: 429}[i < 2], w.Code)
	}
}

// TestMalformedLoginsAreWithinTheLimitsOfTheirCaller though they are not charged as logins.
func TestMalformedLoginsAreWithinTheLimitsOfTheirCaller(t *testing.T) {
	login, everything := fixture.Policy("login", 1), fixture.Policy("address", 3)
	login.Key = identity.LoginPair
	h := fixture.Hasher(t)
	identify, err := h.WithLogin(h.ByAddress(), identity.Login{Routes: []string{"/login"}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/login", fine)
	guarded := nethttp.StackWithConfig(nethttp.Config{Stack: fixture.Limited(t, login, everything), Identify: identify})(mux)
	for _, want := range []int{400, 413, 400, 429, 429} {
		body := "no login"
		if want == 413 {
			body = strings.Repeat(" ", 5000)
		}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(body)))
		assert.Equal(t, want, w.Code)
		assert.Contains(t, w.Header().Get("RateLimit"), `"address"`)
	}
}
