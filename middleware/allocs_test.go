package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/race"
	"github.com/seawall-go/seawall/middleware/identity"
)

// TestAllocationsOfARequest counts what all four layers, with telemetry, add to a request through Echo.
func TestAllocationsOfARequest(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	key := hasher().ByAPIKey(identity.APIKey{})
	allocs := func(h http.Handler, status int) float64 {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Authorization", "Bearer sk_live_0123456789abcdef")
		w := &sink{header: http.Header{}}
		h.ServeHTTP(w, r) // what is resolved at first is
		h.ServeHTTP(w, r)
		require.Equal(t, status, w.status)
		n := testing.AllocsPerRun(2000, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		})
		require.Equal(t, status, w.status)
		return n
	}
	bare := allocs(serving(), http.StatusOK)
	for name, c := range map[string]struct {
		of     *full
		status int
		most   float64
	}{
		"identified":           {newFull(t, plenty(), nil), http.StatusOK, 3},
		"identified+telemetry": {newFull(t, plenty(), observed(t)), http.StatusOK, 3},
		"key+telemetry":        {newFull(t, plenty(), observed(t)).by(key), http.StatusOK, 4},
		"refused":              {newFull(t, little(), observed(t)), http.StatusTooManyRequests, 17},
	} {
		assert.LessOrEqual(t, allocs(c.of.echo(), c.status)-bare, c.most, name)
		c.of.assertAsked(t, c.status)
	}
}
