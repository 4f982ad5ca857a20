package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The bucket refills while the test runs, so it sends until it is refused; it never gets as far as that by
// refills alone unless a request takes 100 ms.
func TestNewAPIServesAndThenRefuses(t *testing.T) {
	e, err := newAPI()
	require.NoError(t, err)
	send := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		return w
	}
	for range 20 { // the burst
		w := send()
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "hello\n", w.Body.String())
		assert.Equal(t, `"api";q=20;w=2`, w.Header().Get("RateLimit-Policy"))
	}
	w := send()
	for range 10_000 {
		if w.Code != http.StatusOK {
			break
		}
		w = send()
	}
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	var problem struct {
		Status          int
		Limiter, Policy string
		RetryAfter      int `json:"retry_after"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
	assert.Equal(t, http.StatusTooManyRequests, problem.Status)
	assert.Equal(t, "ratelimit", problem.Limiter)
	assert.Equal(t, "api", problem.Policy)
	assert.Equal(t, 1, problem.RetryAfter)
}
