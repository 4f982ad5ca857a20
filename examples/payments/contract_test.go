package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// problem is the body of a refusal, as a client reads it.
type problem struct {
	Type, Title, Detail, Limiter, Policy string
	Status                               int
	RetryAfter                           int64 `json:"retry_after"`
}

func refusal(t *testing.T, a answer, code int, limiter string) problem {
	t.Helper()
	require.Equal(t, code, a.code, a.body)
	assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	var p problem
	require.NoError(t, json.Unmarshal([]byte(a.body), &p))
	assert.Equal(t, limiter, p.Limiter)
	assert.Equal(t, code, p.Status)
	assert.NotEmpty(t, p.Type+p.Title)
	assert.Contains(t, p.Detail, "Retry after")
	assert.Equal(t, fmt.Sprint(p.RetryAfter), a.header.Get("Retry-After"))
	assert.Positive(t, p.RetryAfter)
	return p
}

func TestOfSixtyAtOnceTheBurstPasses(t *testing.T) {
	onBothStores(t, func(t *testing.T, store ...string) {
		i := start(t, append(store, "-max-in-flight", "100")...)
		began := time.Now()
		answers := parallel(60, func(int) answer { return i.get(t, "/v1/charges", "sk_live_a") })
		seconds := time.Since(began).Seconds()
		n := codes(answers)
		// On a busy machine answers may be late; then this instance decides, as near as it can.
		alone := func(outcome string) float64 {
			return i.metric(t, "seawall_fallback_total", `layer="ratelimit"`, `outcome="`+outcome+`"`)
		}
		assert.GreaterOrEqual(t, float64(n[200]), 20-alone("denied"))
		assert.LessOrEqual(t, float64(n[200]), 20+10*seconds+alone("allowed"))
		without := 0
		assert.Equal(t, 60, n[200]+n[429])
		for _, a := range answers {
			if a.code == 429 {
				p := refusal(t, a, 429, "ratelimit")
				assert.Equal(t, "api", p.Policy)
				assert.Equal(t, "1", a.header.Get("Retry-After"))
				if a.header.Get("RateLimit") == "" {
					without++
					continue
				}
				assert.Equal(t, `"api";q=20;w=2`, a.header.Get("RateLimit-Policy"))
				assert.Equal(t, `"api";r=0;t=1`, a.header.Get("RateLimit"))
			}
		}
		assert.LessOrEqual(t, float64(without), alone("denied"), "quota headers are left out only where Redis did not decide")
	})
}

func TestOfTwentyOneInFlightTwentyPass(t *testing.T) {
	onBothStores(t, func(t *testing.T, store ...string) {
		i := start(t, append(store, "-rate", "1000", "-burst", "1000")...)
		answers := parallel(21, func(int) answer { return i.get(t, "/v1/reports?ms=1500", "sk_live_a") })
		assert.Equal(t, map[int]int{200: 20, 429: 1}, codes(answers))
		for _, a := range answers {
			if a.code == 429 {
				refusal(t, a, 429, "concurrency")
			}
		}
	})
}

// hold starts n ordinary requests of different callers that work for ms, and returns once all are in flight.
func hold(t *testing.T, i *instance, who string, n, ms int) (finished func() []answer) {
	t.Helper()
	before := i.metric(t, "seawall_inflight", `layer="fleetshed"`)
	done := make(chan []answer, 1)
	go func() {
		done <- parallel(n, func(k int) answer {
			return i.get(t, fmt.Sprintf("/v1/reports?ms=%d", ms), fmt.Sprintf("sk_live_%s_%d", who, k))
		})
	}()
	require.Eventually(t, func() bool {
		return i.metric(t, "seawall_inflight", `layer="fleetshed"`) == before+float64(n)
	}, 5*time.Second, 5*time.Millisecond)
	return func() []answer { return <-done }
}

func TestTheFleetKeepsItsReserve(t *testing.T) {
	onBothStores(t, func(t *testing.T, store ...string) {
		i := start(t, append(store, "-workers", "10", "-reserve", "0.2", "-rate", "1000", "-burst", "1000")...)
		finished := hold(t, i, "held", 8, 1500)
		refusal(t, i.get(t, "/v1/reports", "sk_live_ninth"), 503, "fleetshed")
		refusal(t, i.do(t, http.MethodPost, "/v1/charges", "sk_test_ninth", ""), 503, "fleetshed")
		assert.Equal(t, 200, i.do(t, http.MethodPost, "/v1/charges", "sk_live_critical", "").code)
		assert.Equal(t, map[int]int{200: 8}, codes(finished()))
		assert.Equal(t, 200, i.get(t, "/v1/reports", "sk_live_ninth").code)
	})
}

func TestTwoInstancesShareOneRedis(t *testing.T) {
	url := redistest.Start(t).URL()

	t.Run("a caller's bucket", func(t *testing.T) {
		args := []string{"-redis", url, "-rate", "0.01"}
		both := []*instance{start(t, args...), start(t, args...)}
		answers := parallel(40, func(k int) answer { return both[k%2].get(t, "/v1/charges", "sk_live_bucket") })
		// On a busy machine answers may be late; then an instance decides by its share, as near as it can.
		alone := func(outcome string) (n float64) {
			for _, i := range both {
				n += i.metric(t, "seawall_fallback_total", `layer="ratelimit"`, `outcome="`+outcome+`"`)
			}
			return n
		}
		n := codes(answers)
		assert.GreaterOrEqual(t, float64(n[200]), 20-alone("denied"))
		assert.LessOrEqual(t, float64(n[200]), 20+alone("allowed"))
	})

	t.Run("its in-flight cap", func(t *testing.T) {
		args := []string{"-redis", url, "-rate", "1000", "-burst", "1000", "-max-in-flight", "6"}
		both := []*instance{start(t, args...), start(t, args...)}
		answers := parallel(7, func(k int) answer { return both[k%2].get(t, "/v1/reports?ms=1500", "sk_live_slots") })
		assert.Equal(t, map[int]int{200: 6, 429: 1}, codes(answers))
	})

	t.Run("the fleet", func(t *testing.T) {
		args := []string{"-redis", url, "-workers", "10", "-rate", "1000", "-burst", "1000"}
		a, b := start(t, args...), start(t, args...)
		finished := []func() []answer{hold(t, b, "b", 8, 3000), hold(t, a, "a", 8, 3000)}
		for _, i := range []*instance{a, b} {
			refusal(t, i.get(t, "/v1/reports", "sk_live_seventeenth"), 503, "fleetshed")
			assert.Equal(t, 200, i.do(t, http.MethodPost, "/v1/charges", "sk_live_critical", "").code)
		}
		require.Eventually(t, func() bool {
			return a.metric(t, "seawall_instances") == 2 && a.metric(t, "seawall_fleet_capacity") == 20 &&
				a.metric(t, "seawall_fleet_used") == 16
		}, 3*time.Second, 50*time.Millisecond)
		for _, f := range finished {
			assert.Equal(t, map[int]int{200: 8}, codes(f()))
		}
		require.NoError(t, b.stop())
		require.Eventually(t, func() bool { return a.metric(t, "seawall_fleet_capacity") == 10 }, 3*time.Second, 50*time.Millisecond,
			"a stopped instance leaves at once")
	})
}

func TestRoutes(t *testing.T) {
	i := start(t)
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", "/v1/charges", "", 200},
		{"GET", "/v1/charges", "", 200},
		{"GET", "/v1/charges/ch_1", "", 200},
		{"POST", "/v1/refunds", "", 200},
		{"GET", "/v1/reports?ms=0", "", 200},
		{"GET", "/v1/reports?ms=-1", "", 400},
		{"GET", "/v1/reports?ms=60001", "", 400},
		{"GET", "/v1/reports?ms=1e3", "", 400},
		{"GET", "/v1/reports?ms=99999999999999999999", "", 400},
		{"POST", "/v1/login", `{"account":"alice"}`, 200},
		{"POST", "/v1/login", `{"account":""}`, 400},
		{"POST", "/v1/login", `{"account":`, 400},
		{"POST", "/v1/login", `{"account":"` + strings.Repeat("a", 5000) + `"}`, 413},
		{"GET", "/healthz", "", 200},
		{"GET", "/metrics", "", 200},
		{"GET", "/seawall/", "", 200},
		{"GET", "/v1/nothing", "", 404},
	} {
		a := i.do(t, c.method, c.path, "sk_live_routes", c.body)
		assert.Equal(t, c.code, a.code, "%s %s: %s", c.method, c.path, a.body)
		if c.code == 200 && strings.HasPrefix(c.path, "/v1") {
			assert.True(t, json.Valid([]byte(a.body)), a.body)
		}
	}
	page := i.get(t, "/seawall/", "").body
	for _, layer := range []string{"workershed", "ratelimit", "concurrency", "fleetshed"} {
		assert.Contains(t, page, layer)
	}
}

func TestLogins(t *testing.T) {
	onBothStores(t, func(t *testing.T, store ...string) {
		i := start(t, store...)
		login := func(account, key string) answer {
			return i.do(t, http.MethodPost, "/v1/login", key, fmt.Sprintf(`{"account":%q}`, account))
		}
		for k := range 5 {
			require.Equal(t, 200, login("alice", "").code, "attempt %d", k)
		}
		p := refusal(t, login("alice", ""), 429, "ratelimit")
		assert.Equal(t, "login", p.Policy)
		assert.InDelta(t, 12, p.RetryAfter, 1)
		assert.Equal(t, 429, login(" ALICE ", "sk_live_x").code, "the pair of account and address counts, not the key")
		assert.Equal(t, 200, login("bob", "").code)
		assert.Equal(t, 200, i.get(t, "/v1/charges", "").code, "logins have a bucket of their own")
	})
}

func TestCallersAreTheirKeysOrAddresses(t *testing.T) {
	i := start(t, "-rate", "0.01", "-burst", "1")
	assert.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_a").code)
	assert.Equal(t, 429, i.get(t, "/v1/charges", "sk_live_a").code)
	assert.Equal(t, 200, i.get(t, "/v1/charges", "sk_test_a").code, "a test key has a bucket of its own")
	assert.Equal(t, 200, i.get(t, "/v1/charges", "").code)
	assert.Equal(t, 429, i.get(t, "/v1/charges", "made-up").code, "an unknown key is no caller of its own")
	scrape := i.get(t, "/metrics", "").body
	assert.NotContains(t, scrape, "sk_")
	assert.NotContains(t, scrape, "127.0.0.1")
}

func TestTheConsoleIsForThisMachine(t *testing.T) {
	i := start(t)
	for _, page := range []string{"/seawall/", "/seawall/report", "/seawall/report?format=json"} {
		for name, value := range map[string]string{"Host": "evil.example", "X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, i.url+page, http.NoBody)
			require.NoError(t, err)
			req.Header.Set(name, value)
			if name == "Host" {
				req.Host = value
			}
			resp, err := i.client.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, 404, resp.StatusCode, "%s %s", page, name)
		}
	}
}
