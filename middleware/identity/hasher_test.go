package identity_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

// secret is one of 32 bytes.
func secret(begins string) []byte { return []byte(fmt.Sprintf("%-32s", begins)) }

func hasher(t testing.TB, of string) *identity.Hasher {
	t.Helper()
	h, err := identity.NewHasher(identity.Config{Secret: secret(of)})
	require.NoError(t, err)
	return h
}

// with makes a request with an Authorization header.
func with(authorization ...string) *call {
	c := from("192.0.2.1:1")
	c.r.Header["Authorization"] = authorization
	return c
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer sk_1":   "sk_1",
		"bearer sk_1":   "sk_1",
		"BEARER sk_1":   "sk_1",
		"bEaReR  sk_1 ": "sk_1",
		"Bearer a b":    "a",
		"Bearer ":       "",
		"Bearer    ":    "",
		"Bearer":        "",
		"Bearersk_1":    "",
		"Basic sk_1":    "",
		"sk_1":          "",
		" Bearer sk_1":  "sk_1",
		"Bearer\tsk_1":  "sk_1",
		"":              "",
	} {
		assert.Equal(t, want, strings.Join(identity.Bearer(with(header)), ","), "%q", header)
	}
	assert.Empty(t, identity.Bearer(with()))
	assert.Equal(t, []string{"a", "b"}, identity.Bearer(with("Bearer a", "Basic x", "Bearer b")))
}

func TestByAPIKeyOneKeyPerToken(t *testing.T) {
	h := hasher(t, "secret")
	id := h.ByAPIKey(identity.APIKey{})
	assert.Equal(t, keyOf(t, id, with("Bearer sk_1")), keyOf(t, id, with("bearer   sk_1 ")))
	assert.NotEqual(t, keyOf(t, id, with("Bearer sk_1")), keyOf(t, id, with("Bearer sk_2")))
	assert.NotEqual(t, keyOf(t, id, with("Bearer sk_1")), keyOf(t, id, with("Bearer SK_1")), "tokens have case")
	assert.Equal(t, keyOf(t, id, with()), keyOf(t, h.ByAddress(), with()), "without one, the address")
	assert.Equal(t, keyOf(t, id, with("Basic x")), keyOf(t, id, with("Bearer ")))
	assert.NotEqual(t, keyOf(t, id, with("Bearer 192.0.2.1")), keyOf(t, id, with()), "a token is no address")
}

func TestKeysTellNothing(t *testing.T) {
	h := hasher(t, "a secret of the deployment")
	for _, token := range []string{"a", "sk_live_canary", strings.Repeat("canary", 100), "203.0.113.77"} {
		for kind, k := range map[string]seawall.Key{
			"key": h.Key("key", token), "addr": h.Key("addr", token), "login": h.Key("login", token, token),
		} {
			text := k.String()
			assert.NotContains(t, text, "canary")
			assert.NotContains(t, text, "203.0.113")
			assert.Less(t, len(text), 48, "whatever the length of the secret")
			assert.NotContains(t, text, "{")
			assert.Len(t, text, len(h.Key(kind, "other", "parts").String()), "its length tells nothing either")
		}
	}
}

func TestKeysDependOnSecretKindAndParts(t *testing.T) {
	h := hasher(t, "secret")
	assert.Equal(t, h.Key("key", "x"), hasher(t, "secret").Key("key", "x"), "on every instance")
	distinct := map[string]seawall.Key{
		"":                   h.Key("key", "x"),
		"another secret":     hasher(t, "Secret").Key("key", "x"),
		"no secret":          hasher(t, "").Key("key", "x"),
		"another kind":       h.Key("addr", "x"),
		"kind and part":      h.Key("ke", "yx"),
		"no part":            h.Key("key"),
		"an empty part":      h.Key("key", ""),
		"another empty part": h.Key("key", "x", ""),
		"an empty one first": h.Key("key", "", "x"),
		"two parts":          h.Key("key", "x", "y"),
		"the other way":      h.Key("key", "y", "x"),
		"joined":             h.Key("key", "xy"),
		"with a zero":        h.Key("key", "x\x00y"),
		"with a length":      h.Key("key", "x\x01\x00\x00\x00\x00\x00\x00\x00y"),
	}
	seen := map[seawall.Key]string{}
	for name, k := range distinct {
		assert.NotContains(t, seen, k, "%s and %s", name, seen[k])
		seen[k] = name
	}
}

func TestAHasherKeepsItsSecret(t *testing.T) {
	given := bytes.Repeat([]byte("s"), 32)
	h, err := identity.NewHasher(identity.Config{Secret: given})
	require.NoError(t, err)
	before := h.Key("key", "x")
	clear(given)
	assert.Equal(t, before, h.Key("key", "x"), "a caller that wipes its copy must not change everybody's key")
	assert.NotContains(t, fmt.Sprintf("%v", h.Key("key", "x")), "sss")
}

func TestLongKindsStayDistinct(t *testing.T) {
	h := hasher(t, "")
	kind := strings.Repeat("k", 40)
	assert.NotEqual(t, h.Key(kind, "a"), h.Key(kind, "b"))
	assert.Less(t, len(h.Key(kind, "a").String()), 48)
}
