package httpcontract

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

// echoed answers with the request's body.
func echoed(w http.ResponseWriter, r *http.Request) error {
	_, err := io.Copy(w, r.Body)
	return err
}

func (a Adapter) logins(t *testing.T) {
	h := fixture.Hasher(t)
	identify, err := h.WithLogin(h.ByAddress(), identity.Login{Routes: []string{"/v1/login"}, MaxBody: 64})
	require.NoError(t, err)
	login := fixture.Policy("login", 2)
	login.Routes = []string{"/v1/login"}
	login.Key, login.OnFailure = identity.LoginPair, seawall.FailClosed
	store := counted(fixture.Memory(t, nil))
	s := a.serve(t, App{
		Routes: append(handled("/v1/login", echoed), handled("/v1/other", echoed)...),
		Guards: []Guard{{Stack: fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, login)), Identify: identify}},
	})

	text := `{"account":"ann","password":"p"}`
	for i, sent := range []with{body(text), chunked(text)} {
		got := s.do(t, "POST /v1/login", sent)
		require.Equal(t, http.StatusOK, got.status)
		assert.Equal(t, text, got.body, "the handler has all of the body")
		assert.Equal(t, []item{{"login", map[string]int64{"r": int64(1 - i), "t": 1}}}, list(t, got.header, fieldLimit))
	}
	got := s.do(t, "POST /v1/login", body(`{"account":" ANN "}`))
	assert.Equal(t, http.StatusTooManyRequests, got.status, "the same account in other letters")
	assert.Equal(t, http.StatusOK, s.do(t, "POST /v1/login", body(`{"account":"bob"}`)).status, "somebody else")
	asked, buckets := store.told()
	assert.Equal(t, 4, asked)
	assert.Equal(t, 2, buckets, "one for each account")

	long := `{"account":"` + strings.Repeat("x", 64) + `"}`
	for name, c := range map[string]struct {
		sent   with
		status int
	}{
		"empty":              {body(""), 400},
		"no JSON":            {body("account=ann"), 400},
		"no account":         {body(`{"name":"ann"}`), 400},
		"an empty account":   {body(`{"account":" "}`), 400},
		"two accounts":       {body(`{"account":"ann","Account":"bob"}`), 400},
		"too long":           {body(long), 413},
		"too long, unlabled": {chunked(long), 413},
	} {
		got := s.do(t, "POST /v1/login", c.sent)
		assert.Equal(t, c.status, got.status, name)
		assert.Equal(t, []string{guard.MediaType}, got.header["Content-Type"], name)
		p := got.problem(t)
		assert.Equal(t, problem{Type: "about:blank", Title: http.StatusText(c.status), Status: c.status, Detail: p.Detail}, p, name)
		assert.NotEmpty(t, p.Detail)
		assert.Empty(t, quotaFields(got.header), name)
	}
	after, _ := store.told()
	assert.Equal(t, asked, after, "they spend nothing")

	for _, request := range []string{"GET /v1/login", "HEAD /v1/login"} { // the page that asks
		got = s.do(t, request)
		assert.Equal(t, http.StatusOK, got.status, request)
		assert.Empty(t, quotaFields(got.header))
	}
	got = s.do(t, "POST /v1/other", body(long))
	assert.Equal(t, http.StatusOK, got.status, "other routes are none of it")
	assert.Equal(t, long, got.body)
}

// bodies are read by who wants them: a client that waits for 100 Continue is told so when somebody reads.
func (a Adapter) bodies(t *testing.T) {
	h := fixture.Hasher(t)
	identify, err := h.WithLogin(h.ByAddress(), identity.Login{Routes: []string{"/v1/login"}})
	require.NoError(t, err)
	for _, c := range []struct {
		path  string
		burst int64
		want  []string // the status lines
	}{
		{"/v1/charges", 1, []string{"HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"}},
		{"/v1/charges", 0, []string{"HTTP/1.1 429 Too Many Requests"}},
		{"/v1/login", 1, []string{"HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"}},
		{"/v1/login", 0, []string{"HTTP/1.1 100 Continue", "HTTP/1.1 429 Too Many Requests"}}, // its account is in there
	} {
		st := fixture.Limited(t, fixture.Policy("api", max(1, c.burst)))
		s := a.serve(t, App{
			Routes: append(handled("/v1/login", echoed), handled("/v1/charges", echoed)...),
			Guards: []Guard{{Stack: st, Identify: identify}},
		})
		if c.burst == 0 {
			s.do(t, "GET /v1/charges")
		}
		w := s.dial(t)
		w.send(t, "POST "+c.path+" HTTP/1.1", "Host: x", "Content-Length: 17", "Expect: 100-continue", "")
		for _, want := range c.want {
			require.Equal(t, want, w.line(t), "%s, burst %d", c.path, c.burst)
			if strings.Contains(want, "100") {
				assert.Empty(t, w.line(t))
				_, err := io.WriteString(w, `{"account":"ann"}`)
				require.NoError(t, err)
			}
		}
	}
}
