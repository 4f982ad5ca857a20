package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/fixture"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// The tests in this file take inputs that gave wrong results in other limiters, which they are named after:
// TestPeer_<system>_<what is right>.

// peerAPI is an API behind one quota for each caller, by a clock that is at an odd time.
func peerAPI(t *testing.T, quota ratelimit.Quota) (*echo.Echo, *fixture.Clock) {
	t.Helper()
	c := new(fixture.Clock)
	c.Step(81 * time.Millisecond)
	return behind(t, seawall.Config{Store: fixture.Memory(t, c)}, fixture.Rate(t, ratelimit.Policy{Name: "api", Quota: quota})), c
}

// peerQuotas are limit per window in each algorithm.
func peerQuotas(limit int64, window time.Duration) []ratelimit.Quota {
	return []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.Rate{Count: limit, Per: window}, limit), ratelimit.SlidingLog(limit, window),
		ratelimit.SlidingCounter(limit, window), ratelimit.FixedWindow(limit, ratelimit.Every(window)),
	}
}

// drain asks until it is refused, and returns the refusal.
func drain(t *testing.T, e *echo.Echo) *httptest.ResponseRecorder {
	t.Helper()
	for range 1000 {
		w := get(e)
		if w.Code == http.StatusTooManyRequests {
			return w
		}
		require.Equal(t, http.StatusOK, w.Code)
	}
	t.Fatal("never refused")
	return nil
}

// waitOf is the wait that a refusal says: whole seconds, at least one.
func waitOf(t *testing.T, w *httptest.ResponseRecorder) int64 {
	t.Helper()
	require.Regexp(t, `^[1-9][0-9]*$`, w.Header().Get("Retry-After"))
	wait, err := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64)
	require.NoError(t, err)
	return wait
}

// # Headers

func TestPeer_redis_rate_whatNeverFitsHasNoRetryAfter(t *testing.T) { // 3
	p := ratelimit.Policy{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(10), 10)}
	p.Cost = func(*seawall.Request) int64 { return 20 }
	w := get(behind(t, seawall.Config{Store: fixture.Memory(t, nil)}, fixture.Rate(t, p)))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.NotContains(t, w.Header(), "Retry-After")
	assert.Zero(t, problemOf(t, w).RetryAfter)
}

func TestPeer_redis_cell_whoObeysRetryAfterIsServed(t *testing.T) { // 37
	for _, window := range []time.Duration{time.Second, 2 * time.Second, 7 * time.Second, time.Minute, time.Hour} {
		for _, limit := range []int64{1, 3} {
			for _, quota := range peerQuotas(limit, window) {
				e, c := peerAPI(t, quota)
				for range 5 {
					wait := waitOf(t, drain(t, e))
					c.Step(time.Duration(wait) * time.Second)
					require.Equal(t, http.StatusOK, get(e).Code, "%v: after %d s", quota, wait)
					c.Step(333 * time.Millisecond)
				}
			}
		}
	}
}

func TestPeer_flask_limiter_retryAfterIsAtLeastOne(t *testing.T) { // 38
	for _, quota := range append(peerQuotas(2, time.Second), peerQuotas(2, time.Minute)...) {
		e, c := peerAPI(t, quota)
		refused := 0
		for i := range 150 {
			step := time.Duration(i%41) * 7 * time.Millisecond
			if i%50 == 49 {
				step = -time.Hour // the clock steps back
			}
			c.Step(step)
			if w := get(e); w.Code == http.StatusTooManyRequests {
				refused++
				assert.LessOrEqual(t, waitOf(t, w), int64(121), "%v", quota)
			}
		}
		assert.Greater(t, refused, 10, "%v", quota)
	}
}

func TestPeer_urllib3_retryAfterIsAnInteger(t *testing.T) { // 39
	e, _ := peerAPI(t, ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 503 * time.Millisecond}, 1))
	w := drain(t, e)
	assert.EqualValues(t, 1, waitOf(t, w))
	_, limits := quotas(t, w, limitField) // asserts integers, too
	assert.Equal(t, map[string]int64{"r": 0, "t": 1}, limits[0])
	var body struct {
		RetryAfter json.Number `json:"retry_after"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	assert.Equal(t, "1", body.RetryAfter.String())
}

func TestPeer_httprate_anIntervalBelowASecondIsRoundedUp(t *testing.T) { // 40
	e, c := peerAPI(t, ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: 500 * time.Millisecond}, 1))
	for range 3 {
		assert.EqualValues(t, 1, waitOf(t, drain(t, e)))
		c.Step(400 * time.Millisecond)
	}
}

func TestPeer_httprate_retryAfterIsUntilTheNextTokenNotTheWholeWindow(t *testing.T) { // 40
	for name, k := range map[string]struct {
		quota ratelimit.Quota
		wait  int64
	}{
		"bucket": {ratelimit.TokenBucket(ratelimit.PerHour(10), 10), 360},
		"log":    {ratelimit.SlidingLog(2, time.Hour), 3600 - 2700},                       // until the oldest leaves
		"window": {ratelimit.FixedWindow(2, ratelimit.Every(time.Hour)), 3600 - 2700 - 0}, // until the boundary, 81 ms off
	} {
		e, c := peerAPI(t, k.quota)
		if name != "bucket" {
			require.Equal(t, http.StatusOK, get(e).Code)
			c.Step(45 * time.Minute)
		}
		assert.Equal(t, k.wait, waitOf(t, drain(t, e)), name)
	}
}

func TestPeer_ulule_whoWaitsForTheResetIsServed(t *testing.T) { // 41
	for _, window := range []time.Duration{time.Second, 3 * time.Second, time.Minute} {
		for _, quota := range peerQuotas(5, window) {
			e, c := peerAPI(t, quota)
			for range 5 {
				_, limits := quotas(t, drain(t, e), limitField)
				c.Step(time.Duration(limits[0]["t"]) * time.Second)
				require.Equal(t, http.StatusOK, get(e).Code, "%v: after %d s", quota, limits[0]["t"])
				c.Step(919 * time.Millisecond)
			}
		}
	}
}

func TestPeer_echo_everyAnswerCarriesTheLimit(t *testing.T) { // 42
	for _, quota := range peerQuotas(2, time.Minute) {
		e, _ := peerAPI(t, quota)
		for _, k := range []struct {
			code int
			left int64
		}{{200, 1}, {200, 0}, {429, 0}} {
			w := get(e)
			require.Equal(t, k.code, w.Code)
			names, policies := quotas(t, w, policyField)
			assert.Equal(t, []string{"api"}, names)
			assert.Equal(t, map[string]int64{"q": 2, "w": 60}, policies[0])
			_, limits := quotas(t, w, limitField)
			assert.Equal(t, k.left, limits[0]["r"])
			assert.Positive(t, limits[0]["t"])
		}
	}
}

// # Failure

// stuck is a store that answers when nobody waits any more.
type stuck struct{}

func (stuck) Apply(ctx context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	<-ctx.Done()
	return dst, ctx.Err()
}

func (stuck) Release(context.Context, ...seawall.Lease) error { return nil }

// panicking is a store with a bug.
type panicking struct{}

func (panicking) Apply(context.Context, []seawall.Result, []seawall.Check) ([]seawall.Result, error) {
	panic("driver bug")
}

func (panicking) Release(context.Context, ...seawall.Lease) error { panic("driver bug") }

// failing is a policy that fails in the given way.
func failing(f seawall.Failure) ratelimit.Policy {
	p := fixture.Policy("api", 100)
	p.OnFailure = f
	return p
}

// answers are the statuses of the failure policies when the store cannot be asked; never 429, which says that
// it is the client's fault.
var answers = map[seawall.Failure]int{seawall.FailLocal: 200, seawall.FailOpen: 200, seawall.FailClosed: 503}

func TestPeer_httprate_withoutRedisTheAPIBootsAndServes(t *testing.T) { // 45
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	o, err := redisstore.Options(server.URL())
	require.NoError(t, err)
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisstore.New(redisstore.Config{Client: client, Namespace: "test"})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Close(ctx)
	})
	for f, code := range answers {
		e := behind(t, seawall.Config{Store: s}, fixture.Rate(t, failing(f)), fixture.Slots(t, 100))
		began := time.Now()
		for range 20 {
			w := get(e)
			assert.Equal(t, code, w.Code, "%v", f)
			assertNoQuota(t, w)
		}
		assert.Less(t, time.Since(began), 10*time.Second, "%v: 20 requests, none of which hangs for 5 s", f)
	}
	server.Restart(t)
	e := behind(t, seawall.Config{Store: s, WaitClosed: 5 * time.Second}, fixture.Rate(t, failing(seawall.FailClosed)))
	require.Eventually(t, func() bool { return get(e).Code == http.StatusOK }, 15*time.Second, 5*time.Millisecond, "and finds it")
}

func TestPeer_firecrawl_aStoreErrorIsAnsweredByThePolicy(t *testing.T) { // 46
	for name, s := range map[string]seawall.Store{"error": fixture.Broken{Err: errors.New("gone")}, "hangs": stuck{}} {
		for f, code := range answers {
			e := behind(t, seawall.Config{Store: s}, fixture.Rate(t, failing(f)))
			began := time.Now()
			for range 5 {
				w := get(e)
				assert.Equal(t, code, w.Code, "%s, %v", name, f)
				if code == http.StatusServiceUnavailable {
					assert.Positive(t, waitOf(t, w))
				}
			}
			assert.Less(t, time.Since(began), 10*time.Second, "%s, %v: not 30 s each", name, f)
		}
	}
}

func TestPeer_echo_aStoreErrorIsNot429(t *testing.T) { // 46
	for f, code := range answers {
		w := get(behind(t, seawall.Config{Store: fixture.Broken{Err: errors.New("gone")}}, fixture.Rate(t, failing(f)), fixture.Slots(t, 1)))
		assert.Equal(t, code, w.Code, "%v", f)
		if code == http.StatusServiceUnavailable {
			assert.Equal(t, capacity, problemOf(t, w).Type, "no quota was exceeded")
		}
	}
}

func TestPeer_ulule_noDefaultPanicsOnAStoreError(t *testing.T) { // 48
	for name, s := range map[string]seawall.Store{"error": fixture.Broken{Err: errors.New("gone")}, "panic": panicking{}} {
		for f, code := range answers {
			e := behind(t, seawall.Config{Store: s}, fixture.Rate(t, failing(f)), fixture.Slots(t, 5)) // zero configs
			require.NotPanics(t, func() {
				for range 10 {
					assert.Equal(t, code, get(e).Code, "%s, %v", name, f)
				}
			})
		}
	}
}

// # Identity

// asking makes a request from a socket's peer.
func asking(peer string, headers map[string]string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = peer
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r
}

// claiming are the headers in which a client may say that it has an address.
func claiming(ip string) map[string]string {
	return map[string]string{
		"X-Forwarded-For": ip, "X-Real-Ip": ip, "True-Client-Ip": ip, "Cf-Connecting-Ip": ip, "X-Client-Ip": ip,
		"Fastly-Client-Ip": ip, "Forwarded": "for=" + ip,
	}
}

func TestPeer_echo_rotatingForwardedForGivesNoFreshBuckets(t *testing.T) { // 52
	e := serving(limited(t))
	served := 0
	for i := range 100 {
		if do(e, asking("198.51.100.1:1000", map[string]string{"X-Forwarded-For": fmt.Sprintf("203.0.113.%d", i)})).Code == http.StatusOK {
			served++
		}
	}
	assert.Equal(t, 1, served)
}

func TestPeer_echo_behindAProxyEachClientHasABucket(t *testing.T) { // 52
	e := serving(limited(t))
	e.IPExtractor = echo.ExtractIPFromXFFHeader() // trusts private addresses
	for i := range 50 {
		clients := map[string]string{"X-Forwarded-For": fmt.Sprintf("203.0.113.%d", i)}
		assert.Equal(t, http.StatusOK, do(e, asking("10.0.0.1:1000", clients)).Code)
		assert.Equal(t, http.StatusTooManyRequests, do(e, asking("10.0.0.2:1000", clients)).Code, "also through another proxy")
	}
}

func TestPeer_httprate_nobodyEvadesWithForgedHeaders(t *testing.T) { // 53
	e := serving(limited(t))
	served := 0
	for i := range 100 {
		if do(e, asking("198.51.100.1:1000", claiming(fmt.Sprintf("203.0.113.%d", i)))).Code == http.StatusOK {
			served++
		}
	}
	assert.Equal(t, 1, served)
}

func TestPeer_tollbooth_nobodyLocksOutAVictim(t *testing.T) { // 53
	const victim = "203.0.113.9"
	t.Run("facing clients", func(t *testing.T) {
		e := serving(limited(t))
		for range 10 {
			do(e, asking("198.51.100.1:1000", claiming(victim)))
		}
		assert.Equal(t, http.StatusOK, do(e, asking(victim+":1000", nil)).Code)
	})
	t.Run("behind a proxy", func(t *testing.T) {
		e := serving(limited(t))
		e.IPExtractor = echo.ExtractIPFromXFFHeader()
		through := func(headers map[string]string, client string) *http.Request { // the proxy adds whom it saw
			r := asking("10.0.0.1:1000", headers)
			r.Header.Set("X-Forwarded-For", r.Header.Get("X-Forwarded-For")+", "+client)
			return r
		}
		served := 0
		for i := range 10 {
			if do(e, through(claiming(victim), "198.51.100.1")).Code == http.StatusOK {
				served++
			}
			if do(e, through(claiming(fmt.Sprintf("192.0.2.%d", i)), "198.51.100.1")).Code == http.StatusOK {
				served++
			}
		}
		assert.Equal(t, 1, served, "the attacker's own bucket")
		assert.Equal(t, http.StatusOK, do(e, through(nil, victim)).Code)
	})
}

func TestPeer_express_rate_limit_mappedAddressesAreTheirIPv4Addresses(t *testing.T) { // 54
	e := serving(limited(t))
	for i := range 20 { // one bucket each, not one for all of ::ffff:0:0/96
		assert.Equal(t, http.StatusOK, do(e, asking(fmt.Sprintf("[::ffff:1.2.3.%d]:1000", i), nil)).Code, "address %d", i)
	}
	assert.Equal(t, http.StatusTooManyRequests, do(e, asking("1.2.3.4:1000", nil)).Code)
	assert.Equal(t, http.StatusTooManyRequests, do(e, asking("[::ffff:102:304]:1000", nil)).Code, "the same in hexadecimal")
	assert.Equal(t, http.StatusTooManyRequests, do(e, asking("[0:0:0:0:0:ffff:0102:0304]:1000", nil)).Code)
	assert.Equal(t, http.StatusOK, do(e, asking("[::ffff:102:364]:1000", nil)).Code, "1.2.3.100")
	for _, mapped := range []string{"::ffff:1.2.3.4", "::ffff:102:304"} {
		assert.Equal(t, "1.2.3.4", hasher().Address("["+mapped+"]:1"))
	}
}
