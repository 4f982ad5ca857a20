package abuse

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// TestMadeUpPaths has one caller ask for what there is not, and for what there is under other names: it has one bucket,
// and no series is made of a path.
func TestMadeUpPaths(t *testing.T) {
	t.Parallel()
	const rate, burst = 1, 50 // a bucket is there for 50 s
	onBothStores(t, func(t *testing.T, server *redistest.Server) {
		p := start(t, server, "-rate", fmt.Sprint(rate), "-burst", fmt.Sprint(burst))
		w := p.watch(t)
		over := p.bystanders(200)
		n := count(t, "paths", 2000, 10_000)
		most := 0
		codes := map[int]int{}
		began := time.Now()
		for sent := 0; sent < n; sent += 1000 { // in parts, to look at Redis in between
			for code, k := range flood(t, p.addr, min(1000, n-sent), func(b []byte, i int) []byte { return noise(b, sent+i) }) {
				codes[code] += k
			}
			if p.redis != nil {
				most = max(most, noisyKeys(t, p))
			}
		}
		may := burst + rate*time.Since(began).Seconds()
		t.Logf("%d requests: %v; one caller may send %.0f; keys on Redis: %d", n, codes, may, most)
		assert.LessOrEqual(t, float64(codes[http.StatusOK]), may, "no other name of a route is without a limit")
		for code := range codes {
			assert.Contains(t, []int{200, 301, 400, 404, 405, 429}, code)
		}
		if p.redis != nil {
			assert.LessOrEqual(t, most, 2, "a bucket, and a set of what is in flight")
		}
		over(t).served(t)
		w.over(t, 50*mib) // nothing but connections and garbage
	})
}

// noisyKeys returns how many keys Redis holds that are not the fleet's, or of callers that others are: those have a bucket
// each.
func noisyKeys(t *testing.T, p *api) int {
	t.Helper()
	callers := map[string]int{}
	for _, key := range keys(t, p.redis) {
		if strings.Count(key, "{") != 1 || strings.Contains(key, "{fleet}") {
			continue
		}
		_, caller, _ := strings.Cut(key, "{")
		caller, _, _ = strings.Cut(caller, "}")
		callers[caller]++
	}
	all := 0
	for _, n := range callers {
		all = max(all, n)
	}
	// Bystanders and those that the command was warmed with have a bucket each.
	assert.LessOrEqual(t, len(callers), 200+5+1, "callers with a bucket")
	return all
}

// noise appends the i-th request of the caller.
func noise(b []byte, i int) []byte {
	path := [...]string{
		"/v1/made-up-%d", "/v1/charges/%d/", "/v1//charges?%d", "//v1/charges?%d", "/v1/charges/?%d", "/V1/CHARGES?%d",
		"/v1/Charges?%d", "/v1%%2fcharges?%d", "/v1/%%2f%d", "/v1/%%63harges?%d", "/v1/./charges?%d", "/v1/x/../charges?%d",
		"/v1/charges;%d", "/v1/charges%%00%d", "/v1/charges/%d/refunds/%[1]d", "/v1/%%2e%%2e/healthz?%d", "/v1/login/?%d",
		"/v1/%%6cogin?%d", "/v1/charges/%d", "/v1?%d", "/v1/?%d", "http://payments/v1/charges?%d", "/v1/\\charges?%d",
	}[i%23]
	method := [...]string{"GET", "POST", "PUT", "OPTIONS", "BREW", "get", "PATCH"}[i/23%7]
	return fmt.Appendf(b, "%s %s HTTP/1.1\r\nHost: payments\r\nAuthorization: Bearer sk_live_noise\r\n"+
		"X-HTTP-Method-Override: POST\r\nX-HTTP-Method: POST\r\nX-Original-URL: /v1/login\r\nX-Rewrite-URL: /healthz\r\nContent-Length: 0\r\n\r\n",
		method, fmt.Sprintf(path, i))
}
