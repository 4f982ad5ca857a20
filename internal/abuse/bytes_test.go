package abuse

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// canary is part of all that clients say here, and of nothing else.
const canary = "c4n4ry"

// nasty are texts that a client's name must not be.
var nasty = map[string]string{
	"NUL":             "\x00",
	"CR LF":           "\r\nX-Injected: yes\r\nX-Rest: ",
	"LF":              "\nX-Injected: yes",
	"CR":              "\rX-Injected: yes",
	"a second head":   "\r\n\r\nHTTP/1.1 200 OK\r\nX-Injected: yes\r\n\r\n",
	"no UTF-8":        "\xff\xfe\xc3\x28",
	"overlong UTF-8":  "\xc0\xaf\xe0\x80\xaf\xc0\x80",
	"a surrogate":     "\xed\xa0\x80",
	"lines of UTF-8":  "\u2028\u2029\u0085",
	"braces":          "}:{fleet}{",
	"only a brace":    "}",
	"DEL and escapes": "\x7f\x1b[31m\b\a",
	"quotes":          `"\'` + "`",
	"Lua":             "'..redis.call('FLUSHALL')..'",
	"a series":        `"} 1` + "\nseawall_decisions_total{layer=\"x",
	"patterns":        "*?[a-z]^$%s%n%!d(x)",
	"long":            strings.Repeat("x", 3000),
	"much UTF-8":      strings.Repeat("\U0001F510", 500),
	"blanks":          " \t ",
	"nothing special": "x",
}

// sources are where a client may put them.
var sources = map[string]func(text string) string{
	"bearer": func(s string) string { return head("GET", "/v1/charges", "Authorization: Bearer sk_live_"+s) },
	"basic": func(s string) string {
		return head("GET", "/v1/charges", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(s+":x")))
	},
	"scheme":          func(s string) string { return head("GET", "/v1/charges", "Authorization: "+s+" sk_live_") },
	"X-Forwarded-For": func(s string) string { return head("GET", "/v1/charges", "X-Forwarded-For: "+s) },
	"its last":        func(s string) string { return head("GET", "/v1/charges", "X-Forwarded-For: 1.2.3.4, "+s) },
	"X-Real-IP":       func(s string) string { return head("GET", "/v1/charges", "X-Real-IP: "+s) },
	"Forwarded":       func(s string) string { return head("GET", "/v1/charges", `Forwarded: for="`+s+`"`) },
	"X-API-Key":       func(s string) string { return head("GET", "/v1/charges", "X-API-Key: "+s) },
	"X-Tenant":        func(s string) string { return head("GET", "/v1/charges", "X-Tenant: "+s) },
	"a header's name": func(s string) string { return head("GET", "/v1/charges", s+": x") },
	"query":           func(s string) string { return head("GET", "/v1/charges?key="+s, "X: y") },
	"query, encoded":  func(s string) string { return head("GET", "/v1/charges?key="+url.QueryEscape(s), "X: y") },
	"path":            func(s string) string { return head("GET", "/v1/charges/"+s, "X: y") },
	"path, encoded":   func(s string) string { return head("GET", "/v1/charges/"+url.PathEscape(s), "X: y") },
	"host":            func(s string) string { return "GET /v1/charges HTTP/1.1\r\nHost: " + s + "\r\n\r\n" },
	"method":          func(s string) string { return head(s, "/v1/charges", "X: y") },
	"account":         func(s string) string { return login(`{"account": "` + s + `"}`) },
	"account, escaped": func(s string) string {
		text, _ := json.Marshal(map[string]string{"account": s})
		return login(string(text))
	},
	"account, NUL":       func(s string) string { return login(`{"account": "` + escaped(s) + `\u0000"}`) },
	"account, surrogate": func(s string) string { return login(`{"account": "\ud800` + escaped(s) + `\udc00\ud800"}`) },
	"account, number":    func(s string) string { return login(`{"account": 1, "` + escaped(s) + `": "x"}`) },
	"account, deep":      func(s string) string { return login(strings.Repeat(`{"account":[`, 300) + escaped(s)) },
	"account, twice":     func(s string) string { return login(`{"account": "x", "ACCOUNT": "` + escaped(s) + `"}`) },
}

func head(method, path, header string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: payments\r\n" + header + "\r\n\r\n"
}

func login(body string) string {
	return fmt.Sprintf("POST /v1/login HTTP/1.1\r\nHost: payments\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func escaped(s string) string {
	text, _ := json.Marshal(s)
	return strings.Trim(string(text), `"`)
}

// TestNastyBytes puts every nasty text where a client may put one.
func TestNastyBytes(t *testing.T) {
	t.Parallel()
	t.Run("command", func(t *testing.T) {
		onBothStores(t, func(t *testing.T, server *redistest.Server) {
			nastyBytes(t, start(t, server, "-rate", "0.02", "-burst", "5"))
		})
	})
	t.Run("behind a proxy", func(t *testing.T) {
		onBothStores(t, func(t *testing.T, server *redistest.Server) {
			notInMemory(t, server)
			s := mount(t, server, limits{rate: ratelimit.PerMinute(1), burst: 5, inFlight: 20, workers: 64, tenants: true, behindProxy: true})
			nastyBytes(t, s.api)
		})
	})
}

func nastyBytes(t *testing.T, p *api) {
	w := p.watch(t)
	over := p.bystanders(2000)
	codes := map[int]int{}
	shapes := map[int]map[string][]string{} // by code, and what it looks like: the requests
	for _, source := range slices.Sorted(maps.Keys(sources)) {
		for _, name := range slices.Sorted(maps.Keys(nasty)) {
			what := source + " of " + name
			r, err := ask(t, p.addr, sources[source](canary+nasty[name]+canary))
			if !assert.NoError(t, err, what) {
				continue
			}
			codes[r.code]++
			if r.code != http.StatusOK {
				assert.True(t, 400 <= r.code && r.code < 500, "%s: %s", what, r.head)
			}
			clean(t, strings.ReplaceAll(r.head, "\r\n", ""), what)
			assert.NotContains(t, r.head, "X-Injected", what)
			assert.NotContains(t, r.body, canary, what)
			if r.code == http.StatusOK || r.code == http.StatusTooManyRequests {
				if shapes[r.code] == nil {
					shapes[r.code] = map[string][]string{}
				}
				shapes[r.code][shape(t, r)] = append(shapes[r.code][shape(t, r)], what)
			}
		}
	}
	t.Logf("%d requests: %v", len(sources)*len(nasty), codes)
	for code, all := range shapes {
		if p.redis == nil { // while a store is late, quotas are not told
			assert.LessOrEqual(t, len(all), 2, "a list and a login have other members, and nothing else differs, in answers with %d: %v", code, slices.Collect(maps.Keys(all)))
		}
	}
	if p.redis != nil {
		all := keys(t, p.redis)
		assert.Greater(t, len(all), 10, "the callers' buckets are there")
		for _, key := range all {
			// Who names tenants by plain text has it there.
			if !strings.Contains(key, "{6.tenant") {
				assert.NotContains(t, key, canary)
			}
			printable(t, key, "a key on Redis")
			assert.NotContains(t, key, " ")
			assert.LessOrEqual(t, len(key), maxRedisKey)
			assert.Equal(t, "{}", strings.Map(onlyBraces, key), key)
		}
	}
	over(t).served(t)
	w.over(t, 100*mib) // nothing but connections and garbage
	for line := range strings.Lines(p.log.String()) {
		clean(t, strings.TrimSuffix(line, "\n"), "a line of the log")
	}
	metrics := p.do(http.MethodGet, "/metrics", "", "").body
	assert.NotContains(t, metrics, canary)
	if p.redis != nil {
		_, err := p.redis.Ping(context.Background()).Result()
		require.NoError(t, err)
	}
}

func onlyBraces(r rune) rune {
	if r == '{' || r == '}' {
		return r
	}
	return -1
}

// clean asserts that there is nothing but printable ASCII, and nothing of what the client said.
func clean(t *testing.T, text, what string) {
	t.Helper()
	printable(t, text, what)
	assert.NotContains(t, text, canary, what)
}

func printable(t *testing.T, text, what string) {
	t.Helper()
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			assert.Fail(t, "not printable", "%s: byte %#x of %q", what, text[i], text)
			return
		}
	}
}

// shape is what an answer looks like: the names of its headers, and of its body's members.
func shape(t *testing.T, r raw) string {
	t.Helper()
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.body), &members), r.body)
	return strings.Join(append(r.names(), slices.Sorted(maps.Keys(members))...), " ")
}
