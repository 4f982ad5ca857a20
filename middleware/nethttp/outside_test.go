package nethttp_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/middleware/nethttp"
)

func fine(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

// TestAMuxIsAskedByItself is about the ways to mount that everybody tries first.
func TestAMuxIsAskedByItself(t *testing.T) {
	charges := fixture.Policy("charges", 1)
	charges.Routes = []string{"/v1/charges/:id"}
	v1 := http.NewServeMux()
	v1.HandleFunc("/v1/charges/{id}", fine)
	v1.HandleFunc("/v1/other", fine)
	within := http.NewServeMux()
	within.Handle("/v1/", nethttp.Stack(fixture.Limited(t, charges))(v1))
	for name, h := range map[string]http.Handler{"around": nethttp.Stack(fixture.Limited(t, charges))(v1), "below": within} {
		for i, want := range []int{200, 429} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/charges/"+string(rune('1'+i)), http.NoBody))
			assert.Equal(t, want, w.Code, name)
		}
		for _, method := range []string{http.MethodConnect, "BREW"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, "/v1/charges/3", http.NoBody)
			h.ServeHTTP(w, r)
			assert.Equal(t, 429, w.Code, "%s: %s is served by the same handler", name, method)
		}
	}
	assert.Panics(t, func() { nethttp.MuxRoute(nil) })
}

// TestWhatIsOutsideSeesWhatTheMuxHasSet is about metrics by pattern, and about files that net/http removes.
func TestWhatIsOutsideSeesWhatTheMuxHasSet(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /upload", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, r.ParseMultipartForm(1))
	})
	guarded := nethttp.Stack(fixture.Limited(t, fixture.Policy("api", 9)))(mux)
	patterns := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guarded.ServeHTTP(w, r)
		patterns <- r.Pattern
	}))
	t.Cleanup(srv.Close)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "large")
	require.NoError(t, err)
	_, err = file.Write(make([]byte, 11<<20))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	resp, err := srv.Client().Post(srv.URL+"/upload", form.FormDataContentType(), &body) //nolint:noctx // the test's own
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "POST /upload", <-patterns)
	srv.Close()
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestNoHandlerAnswersARefusalWith200 is about handlers of the application's that forget the status.
func TestNoHandlerAnswersARefusalWith200(t *testing.T) {
	for name, deny := range map[string]func(http.ResponseWriter, *http.Request, *guard.Refusal){
		"nothing":     func(http.ResponseWriter, *http.Request, *guard.Refusal) {},
		"a body":      func(w http.ResponseWriter, _ *http.Request, _ *guard.Refusal) { _, _ = io.WriteString(w, "slow down") },
		"early hints": func(w http.ResponseWriter, _ *http.Request, _ *guard.Refusal) { w.WriteHeader(http.StatusEarlyHints) },
		"a status":    func(w http.ResponseWriter, _ *http.Request, _ *guard.Refusal) { w.WriteHeader(http.StatusTeapot) },
	} {
		h := nethttp.StackWithConfig(nethttp.Config{Stack: fixture.Limited(t, fixture.Policy("api", 1)), DenyHandler: deny})(http.HandlerFunc(fine))
		for _, want := range []int{200, map[bool]int{true: 418, false: 429}[name == "a status"]} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if name != "early hints" { // which a recorder takes for the answer
				assert.Equal(t, want, w.Code, name)
			}
			if name == "nothing" && want == 429 {
				assert.Equal(t, guard.MediaType, w.Header().Get("Content-Type"))
			}
		}
	}
	h := nethttp.StackWithConfig(nethttp.Config{
		Stack: fixture.Limited(t, fixture.Policy("api", 1)), Identify: func(identity.Call, *seawall.Request) error { return &identity.Error{Status: 413} },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			_, _ = io.WriteString(w, strings.ToUpper(err.Error()))
		},
	})(http.HandlerFunc(fine))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	assert.Equal(t, 413, w.Code)
}
