package nethttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/nethttp"
)

func TestPatternsAsRoutes(t *testing.T) {
	for pattern, want := range map[string]string{
		"/":                               "/*",
		"/{$}":                            "/",
		"GET /{$}":                        "/",
		"GET /v1/charges":                 "/v1/charges",
		"GET /v1/charges/{id}":            "/v1/charges/:id",
		"POST /v1/charges/{id}/refunds":   "/v1/charges/:id/refunds",
		"GET /v1/{tenant}/charges/{id}":   "/v1/:tenant/charges/:id",
		"/v1/files/{path...}":             "/v1/files/*",
		"/b/{bucket}/o/{object...}":       "/b/:bucket/o/*",
		"GET /v1/charges/{$}":             "/v1/charges/",
		"example.com/v1/charges/{id}":     "/v1/charges/:id",
		"GET example.com/v1/charges/{id}": "/v1/charges/:id",
		"GET\t/v1":                        "/v1",
		"DELETE  example.com/":            "/*",
		"/static/":                        "/static/*",
		"":                                "",
		"GET":                             "",
	} {
		assert.Equal(t, want, nethttp.Route(pattern), pattern)
	}
}

// answering is a mux of patterns whose handlers answer with the pattern that matched.
func answering(patterns ...string) *http.ServeMux {
	mux := http.NewServeMux()
	for _, p := range patterns {
		mux.HandleFunc(p, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Pattern) })
	}
	return mux
}

func TestTheRouteThatAMuxWillMatch(t *testing.T) {
	mux := answering("GET /v1/charges/{id}", "POST /v1/charges", "/v1/any", "GET /v1/files/{path...}", "GET /v1/tree/{$}",
		"GET example.com/v1/charges/{id}/by-host", "GET /{$}", "PUT /v1/charges/{id}")
	route := nethttp.MuxRoute(mux)
	for _, c := range []struct{ request, want string }{
		{"GET http://api/v1/charges/4711", "/v1/charges/:id"},
		{"GET http://api/v1/charges/47%2f11", "/v1/charges/:id"},
		{"HEAD http://api/v1/charges/4711", "/v1/charges/:id"},
		{"PUT http://api/v1/charges/4711", "/v1/charges/:id"},
		{"GET http://api/v1/charges/4711/", ""},
		{"POST http://api/v1/charges", "/v1/charges"},
		{"DELETE http://api/v1/charges", ""}, // 405
		{"BREW http://api/v1/any", "/v1/any"},
		{"GET http://api/v1/files/a/b/c", "/v1/files/*"},
		{"GET http://api/v1/files/", "/v1/files/*"},
		{"GET http://api/v1/files", "/v1/files/*"}, // redirects
		{"GET http://api/v1/tree/", "/v1/tree/"},
		{"GET http://api/v1/tree", "/v1/tree/"}, // redirects
		{"GET http://api/v1/tree/x", ""},
		{"GET http://api/v1//charges/4711", "/v1/charges/:id"}, // redirects
		{"GET http://api/x/../v1/any", "/v1/any"},              // redirects
		{"GET http://api/x//y", ""},
		{"GET http://api/", "/"},
		{"GET http://api/nowhere", ""},
		{"GET http://example.com/v1/charges/1/by-host", "/v1/charges/:id/by-host"},
		{"GET http://example.com:8080/v1/charges/1/by-host", "/v1/charges/:id/by-host"},
		{"GET http://api/v1/charges/1/by-host", ""},
	} {
		method, url, _ := strings.Cut(c.request, " ")
		assert.Equal(t, c.want, route(httptest.NewRequest(method, url, http.NoBody)), c.request)
	}
}

// TestNoPathOfAClientsIsARoute has clients ask for as many paths as they like, by every method, and count the routes.
func TestNoPathOfAClientsIsARoute(t *testing.T) {
	mux := answering("/tree/", "/v1/charges/{id}/", "/files/{path...}")
	route := nethttp.MuxRoute(mux)
	routes := map[string]bool{}
	for i := range 50 {
		for _, path := range []string{"/tree", "/tree/%d", "/v1/charges/%d", "/v1/charges/%d/", "/v1//charges/%d", "/files/../%d", "/%d", "/files/%d/../x"} {
			if strings.Contains(path, "%") {
				path = fmt.Sprintf(path, i)
			}
			for _, method := range []string{"GET", "POST", "CONNECT", "OPTIONS", "BREW"} {
				r := httptest.NewRequest(http.MethodGet, "http://api"+path, http.NoBody)
				r.Method = method
				routes[route(r)] = true
			}
		}
	}
	assert.Equal(t, map[string]bool{"": true, "/tree/*": true, "/v1/charges/:id/*": true, "/files/*": true}, routes)
}

// TestACONNECTIsLimitedLikeOthers sends one as net/http/rpc does: of all methods it is the one whose paths a mux does not clean, and
// may return as if they were patterns.
func TestACONNECTIsLimitedLikeOthers(t *testing.T) {
	mux := answering("CONNECT /proxy/{$}")
	srv := httptest.NewServer(nethttp.StackWithConfig(nethttp.Config{
		Stack: fixture.Limited(t, fixture.Policy("api", 2)), Route: nethttp.MuxRoute(mux), Identify: fixture.AsCaller,
	})(mux))
	t.Cleanup(srv.Close)
	var statuses []int
	for _, path := range []string{"/proxy/", "/proxy", "/proxy/"} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "CONNECT "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		_ = resp.Body.Close()
		_ = conn.Close()
		statuses = append(statuses, resp.StatusCode)
	}
	assert.Equal(t, []int{200, 307, 429}, statuses)
}

// TestWhatConnectAsksForIsNotRemembered is about redirects, whose pattern is the client's own path.
func TestWhatConnectAsksForIsNotRemembered(t *testing.T) {
	route := nethttp.MuxRoute(answering("/files/{id}/", "/v1/charges/{id}"))
	for i := range 100 {
		for _, path := range []string{"/files/a%%2F%%2Fb%d", "/files/%d", "//files/%d", "/files/../files/x%d"} {
			r := httptest.NewRequest(http.MethodConnect, fmt.Sprintf(path, i), http.NoBody)
			assert.Contains(t, []string{"", "/files/:id/*"}, route(r), r.URL.Path)
		}
	}
	assert.Equal(t, "/v1/charges/:id", route(httptest.NewRequest(http.MethodConnect, "/v1/charges/1", http.NoBody)))
}
