package identity_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

// shows makes a request to a target with the given header lines.
func shows(t *testing.T, target string, header ...string) *call {
	t.Helper()
	c := from("192.0.2.1:1")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	require.NoError(t, err)
	r.RemoteAddr = "192.0.2.1:1"
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	c.r = r
	return c
}

func TestCredentials(t *testing.T) {
	key, query := identity.Header("x-api-key"), identity.Query("key")
	for _, c := range []struct {
		find   identity.Credential
		target string
		header []string
		want   []string
	}{
		{key, "/", []string{"X-API-Key", " sk_1 "}, []string{"sk_1"}},
		{key, "/", []string{"X-API-Key", "sk_1", "X-API-Key", "sk_2"}, []string{"sk_1", "sk_2"}},
		{key, "/", nil, nil},
		{query, "/?key=sk_1", nil, []string{"sk_1"}},
		{query, "/?key=sk_1&key=sk_2", nil, []string{"sk_1", "sk_2"}},
		{query, "/?Key=sk_1", nil, nil},
		{query, "/?key=%zz", nil, nil},
		{identity.BasicUser, "/", []string{"Authorization", "Basic c2tfMTo="}, []string{"sk_1"}},
		{identity.BasicUser, "/", []string{"Authorization", "Basic c2tfMTpzZWNyZXQ="}, []string{"sk_1"}},
		{identity.BasicUser, "/", []string{"Authorization", "Basic c2tfMTo=", "Authorization", "Bearer x"}, []string{"sk_1"}},
		{identity.BasicUser, "/", []string{"Authorization", "Basic !"}, nil},
		{identity.BasicUser, "/", []string{"Authorization", "Bearer sk_1"}, nil},
	} {
		assert.Equal(t, c.want, c.find(shows(t, c.target, c.header...)), "%s %v", c.target, c.header)
	}
}

func TestAKeyIsTheSameCallerWhereverItIsShown(t *testing.T) {
	h := hasher(t, "")
	id := h.ByAPIKey(identity.APIKey{Credentials: []identity.Credential{identity.Header("X-API-Key"), identity.Bearer, identity.BasicUser}})
	want := h.Key("key", "sk_1")
	for _, c := range []*call{
		shows(t, "/", "X-API-Key", "sk_1"), shows(t, "/", "Authorization", "Bearer sk_1"),
		shows(t, "/", "Authorization", "Basic c2tfMTo="), shows(t, "/", "X-API-Key", "sk_1", "Authorization", "Bearer sk_1"),
	} {
		assert.Equal(t, want, keyOf(t, id, c))
	}
	address := h.Key("addr", "192.0.2.1")
	assert.Equal(t, address, keyOf(t, id, shows(t, "/?key=sk_1")), "not from the URL, unless that is asked for")
}

// TestNobodyChoosesAmongSeveralKeys has requests of which what authenticates may accept any key.
func TestNobodyChoosesAmongSeveralKeys(t *testing.T) {
	h := hasher(t, "")
	verified := 0
	credentials := []identity.Credential{identity.Header("X-API-Key"), identity.Bearer}
	believes := h.ByAPIKey(identity.APIKey{Credentials: credentials})
	verifies := h.ByAPIKey(identity.APIKey{Credentials: credentials, Verify: func(_ identity.Call, key string) bool {
		verified++
		return strings.HasPrefix(key, "sk_")
	}, Test: func(key string) bool { return strings.HasPrefix(key, "sk_test_") }})
	several := func(header ...string) *call { return shows(t, "/", header...) }
	twice := several("Authorization", "Bearer sk_test_1", "Authorization", "bearer sk_test_1", "X-API-Key", "sk_test_1")
	beside := several("Authorization", "Bearer made-up", "Authorization", "Bearer sk_test_1", "X-API-Key", "made-up-too")
	two := several("Authorization", "Bearer sk_1", "X-API-Key", "sk_2")
	many := several()
	for i := range 100 {
		many.r.Header.Add("X-API-Key", fmt.Sprint("made-up-", i))
	}
	for _, c := range []*call{twice, beside} {
		r := seawall.Request{Tier: seawall.Critical}
		require.NoError(t, verifies(c, &r))
		assert.Equal(t, seawall.Request{Key: h.Key("key", "sk_test_1"), Authenticated: true, Tier: seawall.TestMode}, r)
	}
	assert.Equal(t, h.Key("key", "sk_test_1"), keyOf(t, believes, twice))
	verified = 0
	for _, refused := range []struct {
		by identity.Identify
		c  *call
	}{{believes, beside}, {believes, two}, {verifies, two}, {verifies, many}, {believes, many}} {
		var r seawall.Request
		e, ok := errors.AsType[*identity.Error](refused.by(refused.c, &r))
		require.True(t, ok)
		assert.Equal(t, http.StatusBadRequest, e.StatusCode())
		assert.Equal(t, h.Key("addr", "192.0.2.1"), r.Key, "limited as its address")
	}
	assert.LessOrEqual(t, verified, 6, "who invents keys does not have them all looked up")
	assert.Equal(t, h.Key("key", "sk_1"), keyOf(t, believes, several("Authorization", "Bearer sk_1 7")), "what follows the token is not of it")
}

func TestOnlyVerifiedKeysCount(t *testing.T) {
	h := hasher(t, "")
	id := h.ByAPIKey(identity.APIKey{
		Verify: func(_ identity.Call, key string) bool { return key != "made-up" },
		Test:   func(key string) bool { return key == "test" },
	})
	for key, want := range map[string]seawall.Request{
		"live":    {Key: h.Key("key", "live"), Authenticated: true, Tier: seawall.Critical},
		"test":    {Key: h.Key("key", "test"), Authenticated: true, Tier: seawall.TestMode},
		"made-up": {Key: h.Key("addr", "192.0.2.1"), Tier: seawall.Critical},
		"":        {Key: h.Key("addr", "192.0.2.1"), Tier: seawall.Critical},
	} {
		got := seawall.Request{Tier: seawall.Critical}
		require.NoError(t, id(with("Bearer "+key), &got))
		assert.Equal(t, want, got, key)
	}
	var unverified seawall.Request
	require.NoError(t, h.ByAPIKey(identity.APIKey{})(with("Bearer x"), &unverified))
	assert.False(t, unverified.Authenticated)
}

func TestByPrincipal(t *testing.T) {
	h := hasher(t, "")
	id := h.ByPrincipal(func(c identity.Call) identity.Principal { p, _ := c.Get("user").(identity.Principal); return p })
	c := from("192.0.2.1:1")
	var r seawall.Request
	require.NoError(t, id(c, &r))
	assert.Equal(t, seawall.Request{Key: h.Key("addr", "192.0.2.1")}, r)
	c.left = map[string]any{"user": identity.Principal{ID: "192.0.2.1"}}
	require.NoError(t, id(c, &r))
	assert.Equal(t, seawall.Request{Key: h.Key("user", "192.0.2.1"), Authenticated: true}, r)
	assert.NotEqual(t, h.Key("addr", "192.0.2.1"), r.Key, "a user is no address")
	c.left["user"] = identity.Principal{ID: "7", Plan: "gold", Test: true}
	r = seawall.Request{Tier: seawall.Critical}
	require.NoError(t, id(c, &r))
	assert.Equal(t, seawall.Request{Key: h.Key("user", "7"), Plan: "gold", Tier: seawall.TestMode, Authenticated: true}, r)
}
