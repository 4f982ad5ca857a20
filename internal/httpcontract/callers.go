package httpcontract

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/identity"
)

// callersText has nothing that a caller sends come back in a header, nor in a refusal.
func (a Adapter) callersText(t *testing.T) {
	const mark = "zzmark"
	id, err := fixture.Hasher(t).WithLogin(fixture.Hasher(t).ByAPIKey(identity.APIKey{
		Credentials: []identity.Credential{identity.Bearer, identity.BasicUser, identity.Header("X-API-Key"), identity.Query("key")},
	}), identity.Login{Routes: []string{"/login"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, burst := range map[string]int64{"allowed": 1000, "refused": 1} {
		t.Run(name, func(t *testing.T) {
			everybody := fixture.Policy("api", burst)
			everybody.Key = func(*seawall.Request) seawall.Key { return caller() }
			s := a.serve(t, App{
				Routes: append(one("/"), append(one("/login"), one("/v1/charges/:id")...)...),
				Guards: []Guard{{Stack: fixture.Limited(t, everybody), Identify: id}},
			})
			s.do(t, "GET /")
			split := mark + "\r\nX-Split: 1\r\n\r\n" + mark
			for what, got := range map[string]answer{
				"path":           s.do(t, "GET /v1/charges/"+url.PathEscape(split)),
				"unmatched path": s.do(t, "GET /"+url.PathEscape(split)),
				"query":          s.do(t, "GET /?key="+url.QueryEscape(split)+"&"+mark+"=1"),
				"method":         s.do(t, mark+" /"),
				"bearer":         s.do(t, "GET /", header("Authorization", "Bearer "+mark)),
				"several":        s.do(t, "GET /", header("Authorization", "Bearer "+mark, "Basic "+mark)),
				"scheme":         s.do(t, "GET /", header("Authorization", mark)),
				"key":            s.do(t, "GET /", header("X-API-Key", mark+"\t\x80\"; drop")),
				"forwarded":      s.do(t, "GET /", header("X-Forwarded-For", mark), header("Forwarded", "for="+mark)),
				"request id":     s.do(t, "GET /", header("X-Request-ID", mark), header("Origin", "https://"+mark), header("Cookie", mark+"=1")),
				"login":          s.do(t, "POST /login", body(`{"account":"`+mark+`\r\nX-Split: 1"}`)),
				"no login":       s.do(t, "POST /login", body(mark)),
			} {
				for field, values := range got.header {
					assert.NotContains(t, strings.ToLower(field+": "+strings.Join(values, ", ")), mark, what)
					assert.NotContains(t, strings.Join(values, ""), "\n", what)
				}
				assert.NotContains(t, got.header, "X-Split", what)
				if got.status == 429 || got.status == 400 {
					assert.NotContains(t, strings.ToLower(got.body), mark, what)
				}
				assert.Less(t, got.status, 500, what)
			}

			w := s.dial(t) // what a client would not let one send: the server answers by itself
			w.send(t, "GET / HTTP/1.1", "Host: x", "X-API-Key: "+mark+"\rX-Split: 1", "")
			got := w.answer(t)
			assert.NotContains(t, got.header, "X-Split")
			assert.NotContains(t, got.body, mark)
		})
	}
}
