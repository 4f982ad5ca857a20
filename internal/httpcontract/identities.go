package httpcontract

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/guard"
	"github.com/seawall-go/seawall/middleware/identity"
)

func (a Adapter) identity(t *testing.T) {
	t.Run("by key", a.byKey)
	t.Run("by principal", a.byPrincipal)
	t.Run("that fails", a.unidentified)
	t.Run("that panics", a.identifyPanics)
	t.Run("several keys", a.severalKeys)
}

func (a Adapter) byKey(t *testing.T) {
	h := fixture.Hasher(t)
	key, address := h.Key("key", "sk_1"), h.Key("addr", "127.0.0.1")
	everywhere := []identity.Credential{identity.Bearer, identity.BasicUser, identity.Header("X-API-Key")}
	basic := func(user string) with { return func(r *http.Request) { r.SetBasicAuth(user, "") } }
	verify := func(_ identity.Call, key string) bool { return key == "sk_1" }
	for _, c := range []struct {
		name    string
		cfg     identity.APIKey
		request []with
		want    seawall.Key
		known   bool
	}{
		{"bearer", identity.APIKey{}, []with{header("Authorization", "Bearer sk_1")}, key, false},
		{"scheme in any case", identity.APIKey{}, []with{header("Authorization", "bEARER  sk_1 ")}, key, false},
		{"verified", identity.APIKey{Verify: verify}, []with{header("Authorization", "Bearer sk_1")}, key, true},
		{"not verified", identity.APIKey{Verify: verify}, []with{header("Authorization", "Bearer sk_2")}, address, false},
		{"basic", identity.APIKey{Credentials: everywhere}, []with{basic("sk_1")}, key, false},
		{"header", identity.APIKey{Credentials: everywhere}, []with{header("X-API-Key", "sk_1")}, key, false},
		{"not asked for", identity.APIKey{}, []with{header("X-API-Key", "sk_1")}, address, false},
		{"none", identity.APIKey{Credentials: everywhere}, nil, address, false},
		{"the same twice", identity.APIKey{Credentials: everywhere}, []with{header("X-API-Key", "sk_1"), basic("sk_1")}, key, false},
		{"beside an unknown one", identity.APIKey{Verify: verify}, []with{header("Authorization", "Bearer sk_2", "Bearer sk_1")}, key, true},
		{"malformed", identity.APIKey{Credentials: everywhere}, []with{header("Authorization", "Basic sk_1")}, address, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, rec := recorded(t)
			s := a.serve(t, App{Routes: one("/"), Guards: []Guard{{Stack: st, Identify: h.ByAPIKey(c.cfg)}}})
			assert.Equal(t, http.StatusOK, s.do(t, "GET /", c.request...).status)
			got := rec.last(t)
			assert.Equal(t, c.want, got.key)
			assert.Equal(t, c.known, got.authenticated)
		})
	}
}

// severalKeys are a free choice of quotas, if any of them counts.
func (a Adapter) severalKeys(t *testing.T) {
	credentials := []identity.Credential{identity.Bearer, identity.Header("X-API-Key")}
	st, rec := recorded(t)
	s := a.serve(t, App{Routes: one("/"), Guards: []Guard{{Stack: st, Identify: fixture.Hasher(t).ByAPIKey(identity.APIKey{Credentials: credentials})}}})
	for _, request := range [][]with{
		{header("X-API-Key", "sk_1"), header("Authorization", "Bearer sk_2")}, {header("Authorization", "Bearer sk_1", "Bearer sk_2")},
	} {
		got := s.do(t, "GET /", request...)
		assert.Equal(t, http.StatusBadRequest, got.status)
		assert.Equal(t, "The request shows several keys. Send one.", got.problem(t).Detail)
		assert.Equal(t, fixture.Hasher(t).Key("addr", "127.0.0.1"), rec.last(t).key, "within the limits of its address")
	}
}

func (a Adapter) byPrincipal(t *testing.T) {
	h := fixture.Hasher(t)
	identify := h.ByPrincipal(func(c identity.Call) identity.Principal {
		assert.Nil(t, c.Get("nobody left this"))
		id, _ := c.Get("principal").(string)
		return identity.Principal{ID: id}
	})
	st, rec := recorded(t)
	s := a.serve(t, App{
		Routes: one("/"), Guards: []Guard{{Stack: st, Identify: identify}},
		Principal: func(r *http.Request) any { return r.Header.Get("X-Session") },
	})
	s.do(t, "GET /", header("X-Session", "u1"))
	got := rec.last(t)
	assert.Equal(t, h.Key("user", "u1"), got.key)
	assert.True(t, got.authenticated)
	s.do(t, "GET /", header("principal", "u1"))
	got = rec.last(t)
	assert.Equal(t, h.Key("addr", "127.0.0.1"), got.key, "a header is no principal")
	assert.False(t, got.authenticated)

	s = a.serve(t, App{Routes: one("/"), Guards: []Guard{{Stack: st, Identify: identify}}})
	s.do(t, "GET /")
	assert.Equal(t, h.Key("addr", "127.0.0.1"), rec.last(t).key, "nothing was left")

	s = a.serve(t, App{Routes: one("/"), Guards: []Guard{{Stack: st}}})
	s.do(t, "GET /", header("Authorization", "Bearer sk_1"))
	first := rec.last(t)
	s.do(t, "GET /", header("Authorization", "Bearer sk_2"))
	assert.Equal(t, first.key, rec.last(t).key, "by default it is the address, which is the same")
	assert.False(t, first.key.IsZero())
}

func (a Adapter) unidentified(t *testing.T) {
	refused := &identity.Error{Status: http.StatusUnauthorized, Detail: "Show a key."}
	for name, c := range map[string]struct {
		err    error
		status int
		hook   bool
	}{
		"with a status":          {refused, 401, false},
		"with a status, wrapped": {fmt.Errorf("no: %w", refused), 401, false},
		"of another kind":        {errors.New("a secret of ours"), 500, false},
		"with a hook":            {errors.New("a secret of ours"), 418, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := counted(fixture.Memory(t, nil))
			g := Guard{
				Stack:    fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1))),
				Identify: func(identity.Call, *seawall.Request) error { return c.err },
			}
			if c.hook {
				g.Error = func(w http.ResponseWriter, _ *http.Request, err error) {
					assert.Equal(t, c.err, err)
					w.WriteHeader(http.StatusTeapot)
				}
			}
			s := a.serve(t, App{Guards: []Guard{g}, Routes: handled("/", func(http.ResponseWriter, *http.Request) error {
				t.Error("the handler ran")
				return nil
			})})
			for _, method := range []string{"GET", "POST", "HEAD"} {
				got := s.do(t, method+" /")
				assert.Equal(t, c.status, got.status)
				assert.NotContains(t, got.body, "secret")
				assert.Empty(t, quotaFields(got.header))
				assert.NotContains(t, got.header, "Retry-After")
				if c.status == 401 {
					assert.Equal(t, []string{guard.MediaType}, got.header["Content-Type"], method)
				}
				switch {
				case method == "HEAD":
					assert.Empty(t, got.body)
				case c.status == 401:
					assert.Equal(t, problem{Type: "about:blank", Title: "Unauthorized", Status: 401, Detail: "Show a key."}, got.problem(t))
				}
			}
			asked, _ := store.told()
			assert.Zero(t, asked)
		})
	}
}

func (a Adapter) identifyPanics(t *testing.T) {
	rec, log := newRecord(), new(lines)
	s := a.serve(t, App{Recover: true, Routes: one("/"), Guards: []Guard{{
		Stack:  fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil), Observer: rec}, slots(t, 1, 1), fixture.Fleet(t, 1), fixture.Workers(t, 1)),
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		Identify: func(c identity.Call, r *seawall.Request) error {
			if c.Request().Header.Get("X-Panic") != "" {
				panic("identify " + c.Request().Header.Get("X-Panic"))
			}
			return fixture.AsCaller(c, r)
		},
	}}})
	for range 3 {
		assert.Equal(t, http.StatusOK, s.do(t, "GET /", header("X-Panic", "canary")).status, "the API serves on")
		for _, seen := range rec.take() {
			assert.NotEqual(t, caller(), seen.key, "limited as its address")
			assert.False(t, seen.key.IsZero())
		}
		rec.free(t)
	}
	assert.Equal(t, 1, strings.Count(log.all(), "Identify or Classify panicked"))
	assert.NotContains(t, log.all(), "canary")
	assert.Equal(t, http.StatusOK, s.do(t, "GET /").status)
}
