package clients

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newRetryable returns a client of hashicorp/go-retryablehttp as docs/clients.md says to configure it.
func newRetryable(t *testing.T) *retryablehttp.Client {
	t.Helper()
	client := retryablehttp.NewClient()
	client.RetryMax = 10
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler
	client.CheckRetry = func(ctx context.Context, resp *http.Response, _ error) (bool, error) {
		refused := resp != nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable)
		return refused && resp.Header.Get("Retry-After") != "", ctx.Err()
	}
	client.Backoff = func(least, most time.Duration, attempt int, resp *http.Response) time.Duration {
		return retryablehttp.DefaultBackoff(least, most, attempt, resp) + rand.N(2*time.Second)
	}
	client.Logger = nil
	t.Cleanup(client.HTTPClient.CloseIdleConnections)
	return client
}

// send sends a request with the client, asserts that it is served in the end, and returns what it was answered.
func send(t *testing.T, client *retryablehttp.Client, method, url, key, body string) string {
	t.Helper()
	var raw any
	if body != "" {
		raw = []byte(body)
	}
	req, err := retryablehttp.NewRequestWithContext(t.Context(), method, url, raw)
	if !assert.NoError(t, err) {
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if !assert.NoError(t, err) {
		return ""
	}
	defer resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	text, err := io.ReadAll(resp.Body)
	assert.NoError(t, err)
	return string(text)
}

// atOnce calls f for 0 to n-1 in parallel.
func atOnce(n int, f func(k int)) {
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { f(k) })
	}
	all.Wait()
}

// TestRateLimitIsWaitedOut has a caller ask for thirty things one after the other.
func TestRateLimitIsWaitedOut(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, store ...string) {
		r := record(t, startPayments(t, append(store, "-rate", "5", "-burst", "5")...))
		client := newRetryable(t)
		client.Backoff = retryablehttp.DefaultBackoff
		for k := range 30 {
			send(t, client, http.MethodGet, fmt.Sprintf("%s/v1/charges?n=%d", r.url, k), "sk_live_serial", "")
		}
		r.waitedOut(t, http.StatusTooManyRequests)
		requests, refusals := r.count()
		assert.Equal(t, 30, requests)
		assert.GreaterOrEqual(t, refusals, 1)
		assert.LessOrEqual(t, refusals, 6, "what waits for a second finds five tokens")
		t.Logf("30 requests, %d refusals", refusals)
	})
}

// TestThirtyAtOnce has a caller ask for thirty things at once: who comes back after exactly Retry-After comes back with
// all the others, so jitter pays.
func TestThirtyAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client func(t *testing.T) func(t *testing.T, url string)
		most   int // refusals
	}{
		"go-retryablehttp, its own backoff": {most: 90, client: func(t *testing.T) func(*testing.T, string) {
			client := newRetryable(t)
			client.Backoff = retryablehttp.DefaultBackoff
			return func(t *testing.T, url string) { send(t, client, http.MethodGet, url, "sk_live_many", "") }
		}},
		"go-retryablehttp, jitter": {most: 60, client: func(t *testing.T) func(*testing.T, string) {
			client := newRetryable(t)
			return func(t *testing.T, url string) { send(t, client, http.MethodGet, url, "sk_live_many", "") }
		}},
		"Retry": {most: 60, client: func(t *testing.T) func(*testing.T, string) {
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			client := &Retry{Client: &http.Client{Transport: transport}, Attempts: 12, MaxWait: 30 * time.Second}
			return func(t *testing.T, url string) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
				assert.NoError(t, err)
				resp, err := client.Do(req)
				if assert.NoError(t, err) {
					assert.NoError(t, resp.Body.Close())
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(t, startPayments(t, "-rate", "5", "-burst", "5", "-max-in-flight", "100"))
			get := c.client(t)
			began := time.Now()
			atOnce(30, func(k int) { get(t, fmt.Sprintf("%s/v1/charges?n=%d", r.url, k)) })
			r.waitedOut(t, http.StatusTooManyRequests)
			requests, refusals := r.count()
			assert.Equal(t, 30, requests)
			assert.LessOrEqual(t, refusals, c.most)
			t.Logf("30 requests at once, %d refusals, %.1f s", refusals, time.Since(began).Seconds())
		})
	}
}

// TestSlotsAreWaitedFor has a caller with three slots ask for nine things at once, which take a while.
func TestSlotsAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := record(t, startPayments(t, "-max-in-flight", "3", "-rate", "1000", "-burst", "1000"))
	client := newRetryable(t)
	atOnce(9, func(k int) {
		send(t, client, http.MethodGet, fmt.Sprintf("%s/v1/reports?ms=300&n=%d", r.url, k), "sk_live_slots", "")
	})
	r.waitedOut(t, http.StatusTooManyRequests)
	requests, refusals := r.count()
	assert.Equal(t, 9, requests)
	assert.GreaterOrEqual(t, refusals, 3, "three are served at a time")
	t.Logf("9 requests, %d refusals", refusals)
}

// TestABusyFleetIsWaitedFor fills what ordinary requests may hold of a fleet of ten workers.
func TestABusyFleetIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := recordBusyFleet(t)
	client := newRetryable(t)
	send(t, client, http.MethodGet, r.url+"/v1/charges", "sk_live_other", "")
	r.waitedOut(t, http.StatusServiceUnavailable)
	_, refusals := r.count()
	assert.GreaterOrEqual(t, refusals, 1)
}

// recordBusyFleet starts a fleet of ten workers, and has another caller hold the eight that are for ordinary requests, for
// two seconds.
func recordBusyFleet(t *testing.T) *recorder {
	t.Helper()
	p := startPayments(t, "-workers", "10", "-rate", "1000", "-burst", "1000")
	var held sync.WaitGroup
	for range 8 {
		held.Go(func() { // again if the question below has just taken the last of the eight
			for t.Context().Err() == nil && p.status(t, "/v1/reports?ms=2000", "sk_live_busy") == http.StatusServiceUnavailable {
			}
		})
	}
	t.Cleanup(held.Wait)
	require.Eventually(t, func() bool { return p.status(t, "/v1/charges", "sk_live_other") == http.StatusServiceUnavailable },
		10*time.Second, 20*time.Millisecond)
	return record(t, p)
}

// TestALoginIsToldTwelveSeconds looks at the wait that the client chooses, and does not wait.
func TestALoginIsToldTwelveSeconds(t *testing.T) {
	t.Parallel()
	p := startPayments(t)
	client := newRetryable(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var chosen time.Duration
	var told string
	client.RetryWaitMax = time.Minute
	client.Backoff = func(least, most time.Duration, attempt int, resp *http.Response) time.Duration {
		chosen, told = retryablehttp.DefaultBackoff(least, most, attempt, resp), resp.Header.Get("Retry-After")
		cancel()
		return chosen
	}
	const alice = `{"account":"alice"}`
	for range 5 {
		send(t, client, http.MethodPost, p.url+"/v1/login", "sk_live_login", alice)
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/login", []byte(alice))
	require.NoError(t, err)
	resp, err := client.Do(req)
	if resp != nil {
		_ = resp.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, told, strconv.Itoa(int(chosen.Seconds())))
	assert.Greater(t, chosen, 2*time.Second)
	assert.LessOrEqual(t, chosen, 12*time.Second)
}

// TestARefusedPostIsSentAgainAsItWas charges twice, with one token a second.
func TestARefusedPostIsSentAgainAsItWas(t *testing.T) {
	t.Parallel()
	r := record(t, startPayments(t, "-rate", "1", "-burst", "1"))
	client := newRetryable(t)
	const charge = "amount=4200&currency=eur"
	atOnce(2, func(k int) {
		answer := send(t, client, http.MethodPost, fmt.Sprintf("%s/v1/charges?n=%d", r.url, k), "sk_live_charge", charge)
		assert.JSONEq(t, `{"object":"charge","status":"succeeded"}`, answer)
	})
	r.waitedOut(t, http.StatusTooManyRequests)
	_, refusals := r.count()
	assert.GreaterOrEqual(t, refusals, 1)
	for _, attempts := range r.attempts {
		for _, a := range attempts {
			assert.Equal(t, charge, a.body)
		}
	}
}
