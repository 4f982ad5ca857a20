package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start makes the API on a copy of flags.json, and returns what changes the copy.
func start(t *testing.T) (a *api, edit func(from, to string)) {
	t.Helper()
	text, err := os.ReadFile("flags.json")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "flags.json")
	edit = func(from, to string) {
		t.Helper()
		require.Equal(t, 1, strings.Count(string(text), from), from)
		text = []byte(strings.Replace(string(text), from, to, 1))
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	require.NoError(t, os.WriteFile(path, text, 0o600))
	a, err = newAPI(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.close(context.Background())) })
	return a, edit
}

// refused sends requests with a key until the bucket is surely empty, and tells how many were refused.
func refused(a *api, key string) (n int) {
	for range 50 { // of a bucket of 5, which has one more a second
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		a.echo.ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests {
			n++
		}
	}
	return n
}

func TestTheFileTurnsTheLimitOnAndOff(t *testing.T) {
	a, edit := start(t)
	require.NoError(t, a.flags.Err())
	becomes := func(limited bool, keys ...string) {
		t.Helper()
		for _, key := range keys {
			require.Eventually(t, func() bool { return (refused(a, key) > 0) == limited }, 20*time.Second, 100*time.Millisecond, key)
		}
	}
	becomes(true, "sk_acme") // is enforced first
	limited := 0
	for i := range 40 {
		key := fmt.Sprint("sk_", i)
		refused(a, key)                   // is known afterwards
		time.Sleep(20 * time.Millisecond) // evaluated in the background
		if refused(a, key) > 0 {
			limited++
		}
	}
	assert.Less(t, limited, 16, "of the others, a tenth")
	edit(`["enforce", 10], ["log-only", 90]`, `["enforce", 100], ["log-only", 0]`)
	becomes(true, "sk_acme", "sk_globex", "sk_initech")
	edit(`"variants": {"on": true, "off": false},
      "defaultVariant": "on"`, `"variants": {"on": true, "off": false},
      "defaultVariant": "off"`)
	becomes(false, "sk_acme", "sk_globex") // the kill switch
	require.NoError(t, a.flags.Err())
}

func TestTheTargetedMode(t *testing.T) {
	text, err := os.ReadFile("flags.json")
	require.NoError(t, err)
	b := serve(t, string(text))
	const key, callers = "seawall-ratelimit-api-mode", 5000
	enforced := 0
	for i := range callers {
		c := openfeature.FlattenedContext{"targetingKey": fmt.Sprint("customer-", i)}
		v := ask(b.ours, key, c)
		require.Equal(t, ask(b.real, key, c), v)
		require.Equal(t, openfeature.TargetingMatchReason, v.reason)
		if v.value == "enforce" {
			enforced++
		}
	}
	assert.InDelta(t, callers/10, enforced, callers/50)
	for _, p := range []openfeature.FeatureProvider{b.real, b.ours} {
		assert.Equal(t, verdict{"enforce", "enforce", openfeature.TargetingMatchReason, ""}, ask(p, key, openfeature.FlattenedContext{"customer": "acme"}))
		assert.Equal(t, verdict{"log-only", "log-only", openfeature.DefaultReason, ""}, ask(p, key, nil), "nobody")
	}
}

func TestAFileThatIsNotThere(t *testing.T) {
	_, err := newAPI(t.Context(), filepath.Join(t.TempDir(), "absent.json"))
	require.Error(t, err)
}
