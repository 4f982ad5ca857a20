package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware"
)

// from makes the context of a request from a socket's peer.
func from(peer string) echo.Context {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = peer
	return echo.New().NewContext(r, httptest.NewRecorder())
}

func keyOf(t *testing.T, id middleware.Identify, c echo.Context) seawall.Key {
	t.Helper()
	var r seawall.Request
	require.NoError(t, id(c, &r))
	require.False(t, r.Key.IsZero(), "nobody would not be limited")
	return r.Key
}

func TestAddress(t *testing.T) {
	for peer, want := range map[string]string{
		"192.0.2.7:1234":                     "192.0.2.7",
		"192.0.2.7:9":                        "192.0.2.7",
		"192.0.2.7":                          "192.0.2.7",
		"[::ffff:192.0.2.7]:1234":            "192.0.2.7",
		"[::ffff:c000:207]:1234":             "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:1234":        "2001:db8:1:2::/64",
		"[2001:DB8:1:2::1]:80":               "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff:ffff:ffff:1]:80": "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:80":               "2001:db8:1:3::/64",
		"[fe80::1%eth0]:80":                  "fe80::/64",
		"[fe80::2%eth1]:80":                  "fe80::/64",
		"[::1]:80":                           "::/64",
		"::1":                                "::/64",
		"@":                                  "", // a Unix socket
		"":                                   "",
	} {
		assert.Equal(t, want, middleware.Address(from(peer)), peer)
	}
}

func TestAddressOfWhateverAnExtractorReturns(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7":                  "192.0.2.7",
		"192.0.2.7:1234":             "192.0.2.7",
		"::ffff:192.0.2.7":           "192.0.2.7",
		"::ffff:192.0.2.7%eth0":      "192.0.2.7",
		"[2001:db8:1:2::9]":          "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:443":      "2001:db8:1:2::/64",
		"[fe80::1%eth0]:443":         "fe80::/64",
		"2001:db8:1:2::9%eth0":       "2001:db8:1:2::/64",
		"unix-client-7":              "unix-client-7",
		"unknown":                    "unknown",
		"203.0.113.1, 198.51.100.17": "203.0.113.1, 198.51.100.17",
	} {
		c := from("198.51.100.1:1")
		c.Echo().IPExtractor = func(*http.Request) string { return text }
		assert.Equal(t, want, middleware.Address(c), text)
	}
}

func TestByAddressOneKeyPerClient(t *testing.T) {
	id := middleware.ByAddress(middleware.NewHasher([]byte("secret")))
	same := [][]string{
		{"192.0.2.7:1", "192.0.2.7:2", "[::ffff:192.0.2.7]:3"},
		{"[2001:db8::1]:1", "[2001:db8::2]:2", "[2001:db8::ffff:ffff:ffff:ffff]:1"},
		{"192.0.2.8:1"},
		{"[2001:db8:0:1::1]:1"},
		{"[::192.0.2.7]:1"}, // not a mapped address
		{"[fe80::1%a]:1", "[fe80::9%b]:1"},
	}
	owner := map[seawall.Key]int{}
	for i, peers := range same {
		for _, p := range peers {
			k := keyOf(t, id, from(p))
			if o, ok := owner[k]; ok {
				assert.Equal(t, o, i, p)
			}
			owner[k] = i
		}
	}
	assert.Len(t, owner, len(same))
}

func TestForgedHeadersMintNoKeys(t *testing.T) {
	h := middleware.NewHasher([]byte("secret"))
	for _, id := range []middleware.Identify{middleware.ByAddress(h), middleware.ByAPIKey(h)} {
		keys := map[seawall.Key]bool{}
		for i := range 1000 {
			c := from(fmt.Sprintf("192.0.2.7:%d", 1024+i))
			ip := fmt.Sprintf("203.0.%d.%d", i/250, i%250)
			for name, value := range map[string]string{
				"X-Forwarded-For": ip + ", 10.0.0.1", "X-Real-Ip": ip, "Forwarded": "for=" + ip,
				"True-Client-Ip": ip, "Cf-Connecting-Ip": ip, "X-Api-Key": ip,
			} {
				c.Request().Header.Set(name, value)
			}
			keys[keyOf(t, id, c)] = true
		}
		assert.Len(t, keys, 1)
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
	id := middleware.ByAddress(middleware.NewHasher(nil))
	key := func(peer, forwarded string) seawall.Key {
		c := from(peer)
		c.Echo().IPExtractor = echo.ExtractIPFromXFFHeader()
		c.Request().Header.Set("X-Forwarded-For", forwarded)
		return keyOf(t, id, c)
	}
	assert.NotEqual(t, key("10.0.0.1:1", "203.0.113.1"), key("10.0.0.1:1", "203.0.113.2"))
	assert.Equal(t, key("10.0.0.1:1", "6.6.6.6, 203.0.113.1"), key("10.0.0.1:1", "203.0.113.1"), "the nearest that is not trusted")
	assert.Equal(t, key("198.51.100.9:1", "203.0.113.1"), key("198.51.100.9:1", "203.0.113.2"), "not from the proxy")
}
