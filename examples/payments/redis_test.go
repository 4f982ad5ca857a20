package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

func scripts(t *testing.T, s *redistest.Server) int64 {
	return s.CommandCalls(t, "evalsha") + s.CommandCalls(t, "eval")
}

func TestOneCallToDecideAndAtMostOneToRelease(t *testing.T) {
	server := redistest.Start(t)
	i := start(t, "-redis", server.URL(), "-rate", "100000", "-burst", "100000", "-max-in-flight", "100", "-workers", "1000")

	server.ResetStat(t)
	began := time.Now()
	for range 1000 {
		require.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_serial").code)
	}
	require.Eventually(t, func() bool { return i.metric(t, "seawall_inflight") == 0 }, time.Second, time.Millisecond)
	calls, sets := scripts(t, server), server.CommandCalls(t, "set")
	heartbeats := int64(time.Since(began)/time.Second) + 2 // of all the time in which calls were counted
	assert.LessOrEqual(t, calls, 2000+heartbeats)
	assert.LessOrEqual(t, sets, 1000+heartbeats, "decisions: each sets the bucket once")
	t.Logf("1000 requests of one caller: %d script calls in %v", scripts(t, server), time.Since(began).Round(time.Millisecond))

	server.ResetStat(t)
	began = time.Now()
	answers := parallel(64, func(k int) answer {
		var last answer
		for range 50 {
			last = i.get(t, "/v1/charges", fmt.Sprintf("sk_live_parallel_%d", k))
		}
		return last
	})
	assert.Equal(t, map[int]int{200: 64}, codes(answers))
	heartbeats = int64(time.Since(began)/time.Second) + 2
	released := scripts(t, server) - 64*50 - heartbeats
	assert.Less(t, released, int64(64*50/2), "releases batch")
	t.Logf("3200 requests of 64 callers: %d calls to release", released)
}

// TestRedisGone keeps 300 requests a second going while Redis is killed or frozen: everything but logins is
// served.
func TestRedisGone(t *testing.T) {
	for name, hit := range map[string]func(*testing.T, *redistest.Server){
		"killed": func(_ *testing.T, s *redistest.Server) { s.Kill() },
		"frozen": func(_ *testing.T, s *redistest.Server) { s.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			i := start(t, "-redis", server.URL(), "-rate", "100000", "-burst", "100000", "-workers", "1000", "-max-in-flight", "1000")
			var mu sync.Mutex
			var all sync.WaitGroup
			n, logins, slowest := map[int]int{}, map[int]int{}, time.Duration(0)
			began := time.Now()
			const rate, load = 300, 3 * time.Second
			hitAt := sync.OnceFunc(func() { hit(t, server) })
			for k := 0; time.Since(began) < load; k++ {
				time.Sleep(time.Until(began.Add(time.Duration(k) * time.Second / rate))) // open loop
				if time.Since(began) > load/3 {
					hitAt()
				}
				after := time.Since(began) > load/3+200*time.Millisecond
				all.Go(func() {
					var a answer
					if k%30 == 0 {
						a = i.do(t, http.MethodPost, "/v1/login", "", fmt.Sprintf(`{"account":"user%d"}`, k))
					} else {
						a = i.get(t, "/v1/charges", fmt.Sprintf("sk_live_%d", k%10))
					}
					mu.Lock()
					defer mu.Unlock()
					if k%30 == 0 {
						if after {
							logins[a.code]++
						}
						return
					}
					n[a.code]++
					slowest = max(slowest, a.took)
				})
			}
			all.Wait()
			if name == "frozen" {
				server.Cont()
			}
			assert.Len(t, n, 1, "%v", n)
			assert.Greater(t, n[200], 700)
			assert.Len(t, logins, 1, "%v", logins)
			assert.Greater(t, logins[503], 10)
			assert.Positive(t, i.metric(t, "seawall_fallback_total", `outcome="allowed"`))
			assert.Positive(t, i.metric(t, "seawall_fallback_total", `policy="login"`, `outcome="denied"`))
			t.Logf("Redis %s: %v, logins %v, slowest %v", name, n, logins, slowest)
		})
	}
}

func TestRedisAbsentAtTheStart(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	began := time.Now()
	i := start(t, "-redis", server.URL(), "-rate", "0.001", "-burst", "1")
	assert.Less(t, time.Since(began), 5*time.Second)
	assert.Equal(t, 200, i.get(t, "/v1/charges", "sk_live_a").code)
	assert.Equal(t, 429, i.get(t, "/v1/charges", "sk_live_a").code, "by this instance's share, which is all")
	server.Restart(t)
	c := server.Client(t)
	require.Eventually(t, func() bool {
		i.get(t, "/v1/charges", "sk_live_b")
		keys, err := c.Keys(t.Context(), "payments:{*}:ratelimit:api").Result()
		return err == nil && len(keys) > 0
	}, 10*time.Second, 50*time.Millisecond, "Redis is used once it appears")
}
