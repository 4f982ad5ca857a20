package identity_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
)

// call is a request as an adapter without proxies shows it.
type call struct {
	r     *http.Request
	w     http.ResponseWriter
	route string
	left  map[string]any
}

func (c *call) Request() *http.Request        { return c.r }
func (c *call) Response() http.ResponseWriter { return c.w }
func (c *call) Route() string                 { return c.route }
func (c *call) Address() string               { return c.r.RemoteAddr }
func (c *call) Get(name string) any           { return c.left[name] }

// from makes a request from a socket's peer.
func from(peer string) *call {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = peer
	return &call{r: r, w: httptest.NewRecorder()}
}

func keyOf(t *testing.T, id identity.Identify, c identity.Call) seawall.Key {
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
		"[64:ff9b::192.0.2.7]:1234":          "192.0.2.7", // through NAT64
		"[64:ff9b:1::192.0.2.7]:1234":        "64:ff9b:1::/64",
		"[2001:db8:1:2:3:4:5:6]:1234":        "2001:db8:1:2::/64",
		"[2001:DB8:1:2::1]:80":               "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff:ffff:ffff:1]:80": "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:80":               "2001:db8:1:3::/64",
		"[fe80::1%eth0]:80":                  "fe80::/64",
		"[fe80::2%eth1]:80":                  "fe80::/64",
		"[::1]:80":                           "::/64",
		"::1":                                "::/64",
		"@":                                  "@", // a Unix socket
		"":                                   "",
	} {
		assert.Equal(t, want, hasher(t, "").Address(peer), peer)
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
		assert.Equal(t, want, hasher(t, "").Address(text), text)
	}
}

func TestTheIPv6PrefixIsConfigurable(t *testing.T) {
	for bits, want := range map[int]string{32: "2001:db8::/32", 48: "2001:db8:1::/48", 56: "2001:db8:1:200::/56", 128: "2001:db8:1:203:4:5:6:7/128"} {
		h, err := identity.NewHasher(identity.Config{Secret: secret("a"), IPv6Prefix: bits})
		require.NoError(t, err)
		assert.Equal(t, want, h.Address("[2001:db8:1:203:4:5:6:7]:80"))
		assert.Equal(t, "192.0.2.7", h.Address("[::ffff:192.0.2.7]:80"), "mapped addresses are IPv4, whatever the prefix")
	}
	for _, bits := range []int{-1, 1, 31, 129} {
		_, err := identity.NewHasher(identity.Config{Secret: secret("a"), IPv6Prefix: bits})
		require.ErrorContains(t, err, fmt.Sprintf("IPv6Prefix is %d; want 32 to 128", bits))
	}
}

func TestByAddressOneKeyPerClient(t *testing.T) {
	id := hasher(t, "secret").ByAddress()
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
	h := hasher(t, "secret")
	for _, id := range []identity.Identify{h.ByAddress(), h.ByAPIKey(identity.APIKey{})} {
		keys := map[seawall.Key]bool{}
		for i := range 100_000 {
			c := from(fmt.Sprintf("192.0.2.7:%d", 1024+i%60000))
			ip := fmt.Sprintf("203.%d.%d.%d", i/62500, i/250%250, i%250)
			for name, value := range map[string]string{
				"X-Forwarded-For": ip + ", 10.0.0.1", "X-Real-Ip": ip, "Forwarded": "for=" + ip,
				"True-Client-Ip": ip, "Cf-Connecting-Ip": ip, "X-Api-Key": ip,
			} {
				c.r.Header.Set(name, value)
			}
			keys[keyOf(t, id, c)] = true
		}
		assert.Len(t, keys, 1)
	}
}
