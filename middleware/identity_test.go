package middleware_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware"
	"github.com/seawall-go/seawall/middleware/identity"
)

// Echo's KeyAuth accepts a request if any of its Authorization headers is valid.
func TestASecondAuthorizationHeaderMintsNoKeys(t *testing.T) {
	auth := echomw.KeyAuth(func(key string, _ echo.Context) (bool, error) { return key == "valid", nil })
	for name, c := range map[string]struct {
		verify func(identity.Call, string) bool
		want   map[int]int
	}{
		"believed": {nil, map[int]int{400: 1, 429: 99}}, // of its address
		"verified": {func(_ identity.Call, key string) bool { return key == "valid" }, map[int]int{200: 1, 429: 99}},
	} {
		s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 1)))
		e := serving(auth, mounted(s, middleware.Config{Identify: hasher().ByAPIKey(identity.APIKey{Verify: c.verify})}))
		got := map[int]int{}
		for i := range 100 {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", map[bool]int{true: 1, false: i}[c.verify == nil])
			r.Header["Authorization"] = []string{fmt.Sprintf("Bearer mine-%d", i), "Bearer valid"}
			got[do(e, r).Code]++
		}
		assert.Equal(t, c.want, got, name)
	}
}

func TestForgedHeadersAreLimitedEndToEnd(t *testing.T) {
	e := serving(limited(t))
	served := 0
	for i := range 1000 {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.%d.%d", i/250, i%250))
		if do(e, r).Code == http.StatusOK {
			served++
		}
	}
	assert.Equal(t, 1, served)
}

func TestBehindAProxyClientsHaveKeysOfTheirOwn(t *testing.T) {
	status := func(e *echo.Echo, peer, forwarded string) int {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", forwarded)
		return do(e, r).Code
	}
	e := serving(limited(t))
	e.IPExtractor = echo.ExtractIPFromXFFHeader()
	assert.Equal(t, http.StatusOK, status(e, "10.0.0.1:1", "203.0.113.1"))
	assert.Equal(t, http.StatusOK, status(e, "10.0.0.1:1", "203.0.113.2"))
	assert.Equal(t, http.StatusTooManyRequests, status(e, "10.0.0.1:1", "6.6.6.6, 203.0.113.1"), "the nearest that is not trusted")
	assert.Equal(t, http.StatusOK, status(e, "198.51.100.9:1", "203.0.113.3"))
	assert.Equal(t, http.StatusTooManyRequests, status(e, "198.51.100.9:1", "203.0.113.4"), "not from the proxy")
}

func TestAProxyThatNobodyTrustsIsToldOnce(t *testing.T) {
	for name, extractor := range map[string]echo.IPExtractor{"none": nil, "configured": echo.ExtractIPDirect()} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, fixture.Policy("api", 9)))
			e := serving(mounted(s, middleware.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
			e.IPExtractor = extractor
			get(e)
			assert.Empty(t, log.String(), "no proxy")
			for i := range 5 {
				r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
				r.Header.Set([]string{"X-Forwarded-For", "Forwarded", "X-Real-IP"}[i%3], "203.0.113.1")
				do(e, r)
			}
			want := map[string]int{"none": 1, "configured": 0}[name]
			assert.Equal(t, want, strings.Count(log.String(), "\n"), log.String())
			assert.Equal(t, want, strings.Count(log.String(), "IPExtractor"))
			assert.NotContains(t, log.String(), "203.0.113")
		})
	}
}

// TestADefaultMiddlewareAgreesWithOthersOfItsStore is about the secret that nobody has configured.
func TestADefaultMiddlewareAgreesWithOthersOfItsStore(t *testing.T) {
	store := fixture.Memory(t, nil)
	mount := func(store seawall.Store) *echo.Echo {
		return serving(middleware.Stack(fixture.Stack(t, seawall.Config{Store: store}, fixture.Rate(t, fixture.Policy("api", 1)))))
	}
	assert.Equal(t, http.StatusOK, get(mount(store)).Code)
	assert.Equal(t, http.StatusTooManyRequests, get(mount(store)).Code)
	assert.Equal(t, http.StatusOK, get(mount(fixture.Memory(t, nil))).Code)
	assert.Equal(t, http.StatusOK, get(mount(&counting{Store: store})).Code, "a store that shares no secret")
}

// tierOf answers with the tier that the layers see.
func tierOf(t *testing.T, cfg middleware.Config) *echo.Echo {
	t.Helper()
	p := fixture.Policy("api", 1_000_000)
	tiers := make(chan seawall.Tier, 1)
	p.Match = func(r *seawall.Request) bool { tiers <- r.Tier; return true }
	e := echo.New()
	e.Use(mounted(fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, p)), cfg))
	e.HTTPErrorHandler = func(_ error, c echo.Context) { _ = c.String(http.StatusOK, (<-tiers).String()) }
	answer := func(c echo.Context) error { return c.String(http.StatusOK, (<-tiers).String()) }
	g := e.Group("/v1")
	g.POST("/charges", answer)
	g.GET("/charges/:id", answer)
	g.HEAD("/charges/:id", func(c echo.Context) error {
		c.Response().Header().Set("X-Tier", (<-tiers).String())
		return nil
	})
	g.DELETE("/charges/:id", answer)
	g.GET("", answer)
	return e
}

func TestTiersFollowTheRouteThenTheMethod(t *testing.T) {
	tiers := map[string]seawall.Tier{
		"POST /v1/charges": seawall.Critical, "GET /v1/charges/:id": seawall.TestMode, "GET /v1": seawall.Write,
	}
	e := tierOf(t, middleware.Config{Tiers: tiers})
	delete(tiers, "GET /v1") // the table was copied
	for request, tier := range map[string]string{
		"POST /v1/charges":        "critical",
		"POST /v1/charges?x=1":    "critical",
		"GET /v1/charges/4711":    "test",
		"GET /v1/charges/:id":     "test",
		"DELETE /v1/charges/4711": "write",
		"GET /v1":                 "write",
		"GET /nowhere":            "read",
		"OPTIONS /nowhere":        "read",
		"POST /nowhere":           "write",
		"PROPFIND /nowhere":       "write",
		"get /nowhere":            "write",
	} {
		method, path, _ := strings.Cut(request, " ")
		assert.Equal(t, tier, send(e, method, path).Body.String(), request)
	}
	assert.Equal(t, "test", send(e, http.MethodHead, "/v1/charges/1").Header().Get("X-Tier"), "HEAD is GET")
}

func TestTheApplicationMayClassify(t *testing.T) {
	e := tierOf(t, middleware.Config{
		Tiers: map[string]seawall.Tier{"POST /v1/charges": seawall.Critical},
		Classify: func(c echo.Context, tier seawall.Tier) seawall.Tier {
			if c.QueryParam("dry") != "" {
				return tier - 1
			}
			return tier
		},
		Identify: func(c identity.Call, r *seawall.Request) error {
			if r.Key = client(); middleware.EchoContext(c).QueryParam("test") != "" {
				r.Tier = seawall.TestMode
			}
			return nil
		},
	})
	for query, tier := range map[string]string{"": "critical", "?dry=1": "write", "?test=1": "test", "?test=1&dry=1": "test"} {
		assert.Equal(t, tier, send(e, http.MethodPost, "/v1/charges"+query).Body.String(), query)
	}
}

func TestNoHeaderClassifies(t *testing.T) {
	e := tierOf(t, middleware.Config{Tiers: map[string]seawall.Tier{"POST /v1/charges": seawall.Critical}})
	r := httptest.NewRequest(http.MethodGet, "/v1/charges/1", http.NoBody)
	for _, name := range []string{"X-Priority", "Priority", "X-Tier", "X-Test-Mode", "X-Http-Method-Override", "Upgrade", "X-Original-Url"} {
		r.Header.Set(name, "critical")
	}
	assert.Equal(t, "read", do(e, r).Body.String())
}

func TestTiersRefuseWhatCannotMatch(t *testing.T) {
	cfg := middleware.StackConfig{Stack: fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Slots(t, 1))}
	for _, name := range []string{"", "/v1", "POST", "post /v1", "POST  /v1", "POST v1", " /v1", "POST /v1 ", "GET /users/{id}"} {
		cfg.Tiers = map[string]seawall.Tier{name: seawall.Critical}
		_, err := cfg.ToMiddleware()
		require.ErrorContains(t, err, strconv.Quote(name))
	}
	cfg.Tiers = map[string]seawall.Tier{"GET /v1": 7}
	_, err := cfg.ToMiddleware()
	require.ErrorContains(t, err, `route "GET /v1" has tier 7; want seawall.TestMode, Read, Write or Critical`)
	cfg.Tiers, cfg.Headers = nil, 9
	_, err = cfg.ToMiddleware()
	require.ErrorContains(t, err, "Headers is 9; want Draft11")
}
