package nethttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/middleware/nethttp"
)

// proxies are those of a deployment: a network of IPv4 and one of IPv6.
func proxies() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
}

func TestTheClientBehindProxies(t *testing.T) {
	const client = "203.0.113.7"
	for name, c := range map[string]struct {
		peer      string
		forwarded []string // X-Forwarded-For, line by line
		want      string
	}{
		"one proxy":                   {"10.0.0.1:4711", []string{client}, client},
		"two proxies":                 {"10.0.0.1:4711", []string{client + ", 10.0.0.2"}, client},
		"without spaces":              {"10.0.0.1:4711", []string{client + ",10.0.0.2"}, client},
		"over IPv6":                   {"[fd00::1]:4711", []string{client}, client},
		"a client of IPv6":            {"10.0.0.1:4711", []string{"2001:db8::7"}, "2001:db8::7"},
		"in brackets":                 {"10.0.0.1:4711", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"in brackets, with a port":    {"10.0.0.1:4711", []string{"[2001:db8::7]:443"}, "2001:db8::7"},
		"with a port":                 {"10.0.0.1:4711", []string{client + ":50000"}, client},
		"with a zone":                 {"[fd00::1%eth0]:4711", []string{"fe80::7%eth0"}, "fe80::7"},
		"mapped client":               {"10.0.0.1:4711", []string{"::ffff:" + client}, client},
		"mapped peer":                 {"[::ffff:10.0.0.1]:4711", []string{client}, client},
		"mapped proxy between":        {"10.0.0.1:4711", []string{client + ", ::ffff:10.0.0.2"}, client},
		"forged on the left":          {"10.0.0.1:4711", []string{"198.51.100.1, " + client}, client},
		"a forged proxy on the left":  {"10.0.0.1:4711", []string{"10.0.0.9, " + client}, client},
		"forged behind a real one":    {"10.0.0.1:4711", []string{"198.51.100.1, 10.0.0.9, " + client + ", 10.0.0.2"}, client},
		"forged in a line before":     {"10.0.0.1:4711", []string{"198.51.100.1", client}, client},
		"a line for each proxy":       {"10.0.0.1:4711", []string{"198.51.100.1", client, "10.0.0.3, 10.0.0.2"}, client},
		"an empty line behind":        {"10.0.0.1:4711", []string{client, ""}, client},
		"garbage on the left":         {"10.0.0.1:4711", []string{"<script>, " + client}, client},
		"garbage only":                {"10.0.0.1:4711", []string{"unknown"}, "10.0.0.1"},
		"garbage from a proxy":        {"10.0.0.1:4711", []string{client + ", unknown, 10.0.0.2"}, "10.0.0.2"},
		"an empty member":             {"10.0.0.1:4711", []string{client + ", "}, "10.0.0.1"},
		"a name":                      {"10.0.0.1:4711", []string{"example.com"}, "10.0.0.1"},
		"no header":                   {"10.0.0.1:4711", nil, "10.0.0.1"},
		"all trusted":                 {"10.0.0.1:4711", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"untrusted peer":              {"198.51.100.9:4711", []string{client}, "198.51.100.9:4711"},
		"untrusted peer as if proxy":  {"198.51.100.9:4711", []string{client + ", 10.0.0.1"}, "198.51.100.9:4711"},
		"untrusted peer without port": {"198.51.100.9", []string{client}, "198.51.100.9"},
		"a peer that is no address":   {"@", []string{client}, "@"},
		"decimal, no address":         {"10.0.0.1:4711", []string{"3405803783"}, "10.0.0.1"},
		"octal, no address":           {"10.0.0.1:4711", []string{"0313.0.0161.07"}, "10.0.0.1"},
		"many":                        {"10.0.0.1:4711", []string{client + strings.Repeat(", 10.0.0.2", 1000)}, client},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = c.peer
			r.Header["X-Forwarded-For"] = c.forwarded
			r.Header.Set("Forwarded", "for=198.51.100.77")
			r.Header.Set("X-Real-IP", "198.51.100.77")
			r.Header.Set("True-Client-IP", "198.51.100.77")
			assert.Equal(t, c.want, behindProxies(t)(r))
		})
	}
}

func TestTheListOfProxiesIsCopied(t *testing.T) {
	trusted := proxies()
	address, err := nethttp.TrustProxies(trusted...)
	require.NoError(t, err)
	trusted[0] = netip.MustParsePrefix("0.0.0.0/0")
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "198.51.100.9:1"
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	assert.Equal(t, "198.51.100.9:1", address(r))
}

// TestAForgerHasOneBucket goes through a proxy that appends, as all do, and writes what it likes before.
func TestAForgerHasOneBucket(t *testing.T) {
	mw := nethttp.StackWithConfig(nethttp.Config{
		Stack: fixture.Limited(t, fixture.Policy("api", 3)), ClientAddress: behindProxies(t),
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	served := map[int]int{}
	for i := range 50 {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = "10.0.0.1:4711"
		r.Header["X-Forwarded-For"] = []string{netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}).String(), "203.0.113.7"}
		w := httptest.NewRecorder()
		mw.ServeHTTP(w, r)
		served[w.Code]++
	}
	assert.Equal(t, map[int]int{200: 3, 429: 47}, served)
}

// behindProxies trusts proxies.
func behindProxies(t *testing.T) func(*http.Request) string {
	t.Helper()
	address, err := nethttp.TrustProxies(proxies()...)
	require.NoError(t, err)
	return address
}

func TestNetworksThatAreNone(t *testing.T) {
	_, err := nethttp.TrustProxies()
	require.ErrorContains(t, err, "has no networks; want those of the proxies")
	_, err = nethttp.TrustProxies(netip.MustParsePrefix("10.0.0.0/8"), netip.Prefix{})
	require.ErrorContains(t, err, "network 1 is invalid Prefix; want one such as 10.0.0.0/8")
}

func TestMappedNetworksAreIPv4(t *testing.T) {
	address, err := nethttp.TrustProxies(netip.MustParsePrefix("::ffff:10.0.0.0/104"))
	require.NoError(t, err)
	for peer, want := range map[string]string{"10.1.2.3:1": "203.0.113.7", "[::ffff:10.1.2.3]:1": "203.0.113.7", "11.1.2.3:1": "11.1.2.3:1"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		assert.Equal(t, want, address(r), peer)
	}
}
