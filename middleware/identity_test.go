package middleware_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware"
)

// with makes the context of a request with an Authorization header.
func with(authorization ...string) echo.Context {
	c := from("192.0.2.1:1")
	c.Request().Header["Authorization"] = authorization
	return c
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer sk_1":   "sk_1",
		"bearer sk_1":   "sk_1",
		"BEARER sk_1":   "sk_1",
		"bEaReR  sk_1 ": "sk_1",
		"Bearer a b":    "a b",
		"Bearer ":       "",
		"Bearer    ":    "",
		"Bearer":        "",
		"Bearersk_1":    "",
		"Basic sk_1":    "",
		"sk_1":          "",
		" Bearer sk_1":  "",
		"":              "",
	} {
		assert.Equal(t, want, middleware.Bearer(with(header)), "%q", header)
	}
	assert.Empty(t, middleware.Bearer(with()))
	assert.Empty(t, middleware.Bearer(with("Bearer a", "Bearer b")))
}

// Echo's KeyAuth accepts a request if any of its Authorization headers is valid.
func TestASecondAuthorizationHeaderMintsNoKeys(t *testing.T) {
	auth := echomw.KeyAuth(func(key string, _ echo.Context) (bool, error) { return key == "valid", nil })
	s := stack(t, seawall.Config{Store: memory(t, nil)}, rate(t, policy("api", 1)))
	e := serving(auth, middleware.Stack(s, middleware.Config{Identify: middleware.ByAPIKey(middleware.NewHasher(nil))}))
	served := 0
	for i := range 100 {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["Authorization"] = []string{fmt.Sprintf("Bearer mine-%d", i), "Bearer valid"}
		if do(e, r).Code == http.StatusOK {
			served++
		}
	}
	assert.Equal(t, 1, served)
}

func TestByAPIKeyOneKeyPerToken(t *testing.T) {
	h := middleware.NewHasher([]byte("secret"))
	id := middleware.ByAPIKey(h)
	assert.Equal(t, keyOf(t, id, with("Bearer sk_1")), keyOf(t, id, with("bearer   sk_1 ")))
	assert.NotEqual(t, keyOf(t, id, with("Bearer sk_1")), keyOf(t, id, with("Bearer sk_2")))
	assert.NotEqual(t, keyOf(t, id, with("Bearer sk_1")), keyOf(t, id, with("Bearer SK_1")), "tokens have case")
	assert.Equal(t, keyOf(t, id, with()), keyOf(t, middleware.ByAddress(h), with()), "without one, the address")
	assert.Equal(t, keyOf(t, id, with("Basic x")), keyOf(t, id, with("Bearer ")))
	assert.NotEqual(t, keyOf(t, id, with("Bearer 192.0.2.1")), keyOf(t, id, with()), "a token is no address")
}

func TestKeysTellNothing(t *testing.T) {
	h := middleware.NewHasher([]byte("a secret of the deployment"))
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
	h := middleware.NewHasher([]byte("secret"))
	assert.Equal(t, h.Key("key", "x"), middleware.NewHasher([]byte("secret")).Key("key", "x"), "on every instance")
	distinct := map[string]seawall.Key{
		"":                   h.Key("key", "x"),
		"another secret":     middleware.NewHasher([]byte("Secret")).Key("key", "x"),
		"no secret":          middleware.NewHasher(nil).Key("key", "x"),
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
	secret := bytes.Repeat([]byte("s"), 32)
	h := middleware.NewHasher(secret)
	before := h.Key("key", "x")
	clear(secret)
	assert.Equal(t, before, h.Key("key", "x"), "a caller that wipes its copy must not change everybody's key")
	assert.NotContains(t, fmt.Sprintf("%v", h.Key("key", "x")), "sss")
}

func TestLongKindsStayDistinct(t *testing.T) {
	h := middleware.NewHasher(nil)
	kind := strings.Repeat("k", 40)
	assert.NotEqual(t, h.Key(kind, "a"), h.Key(kind, "b"))
	assert.Less(t, len(h.Key(kind, "a").String()), 48)
}

func TestByMethod(t *testing.T) {
	for method, tier := range map[string]seawall.Tier{
		http.MethodGet: seawall.Read, http.MethodHead: seawall.Read, http.MethodOptions: seawall.Read,
		http.MethodPost: seawall.Write, http.MethodPut: seawall.Write, http.MethodPatch: seawall.Write,
		http.MethodDelete: seawall.Write, "PROPFIND": seawall.Write, "get": seawall.Write,
	} {
		c := echo.New().NewContext(httptest.NewRequest(method, "/", http.NoBody), nil)
		assert.Equal(t, tier, middleware.ByMethod(c), method)
	}
}

func TestByRouteRefusesWhatCannotMatch(t *testing.T) {
	for _, name := range []string{"", "/v1", "POST", "post /v1", "POST  /v1", "POST v1", " /v1", "POST /v1 "} {
		_, err := middleware.ByRoute(map[string]seawall.Tier{name: seawall.Critical})
		assert.ErrorContains(t, err, strconv.Quote(name))
	}
}

func TestByRoute(t *testing.T) {
	tiers := map[string]seawall.Tier{
		"POST /v1/charges": seawall.Critical, "GET /v1/charges/:id": seawall.TestMode, "GET /v1": seawall.Write,
	}
	var got seawall.Tier
	classify, err := middleware.ByRoute(tiers)
	assert.NoError(t, err)
	delete(tiers, "GET /v1") // the table was copied
	e := echo.New()
	e.Use(func(echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { got = classify(c); return nil }
	})
	g := e.Group("/v1")
	g.POST("/charges", ok)
	g.GET("/charges/:id", ok)
	g.DELETE("/charges/:id", ok)
	g.GET("", ok)
	for request, tier := range map[string]seawall.Tier{
		"POST /v1/charges":        seawall.Critical,
		"POST /v1/charges?x=1":    seawall.Critical,
		"GET /v1/charges/4711":    seawall.TestMode,
		"GET /v1/charges/:id":     seawall.TestMode,
		"DELETE /v1/charges/4711": seawall.Write,
		"GET /v1":                 seawall.Write,
		"GET /nowhere":            seawall.Read,
		"POST /nowhere":           seawall.Write,
	} {
		method, path, _ := strings.Cut(request, " ")
		got = -9
		send(e, method, path)
		assert.Equal(t, tier, got, request)
	}
}
