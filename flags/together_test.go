package flags_test

import (
	"context"
	"sync"
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/flags"
)

// TestWhatChangesTogetherIsNeverStricterInBetween looks at the modes whenever the provider is asked for the next flag.
func TestWhatChangesTogetherIsNeverStricterInBetween(t *testing.T) {
	t.Parallel()
	p := newMoody(values{"seawall-ratelimit-enabled": false})
	f := follow(t, p, flags.Config{})
	layer, policy := f.Gate("ratelimit", ""), f.Gate("ratelimit", "api")
	combined := func(*seawall.Request) seawall.Mode { return max(layer(nil), policy(nil)) }
	require.Equal(t, seawall.Off, combined(nil))

	var mu sync.Mutex
	strictest := seawall.Off
	p.set(func(context.Context, string) *openfeature.ResolutionError {
		mu.Lock()
		defer mu.Unlock()
		strictest = min(strictest, combined(nil))
		return nil
	})
	for _, dark := range []values{
		{"seawall-ratelimit-enabled": true, "seawall-ratelimit-mode": "log-only"},
		{"seawall-ratelimit-api-mode": "log-only"}, // from the layer's flag to the policy's
		{"seawall-ratelimit-mode": "log-only"},     // and back
		{"seawall-ratelimit-mode": "log-only", "seawall-enabled": false},
		{"seawall-ratelimit-api-mode": "log-only", "seawall-enabled": true},
	} {
		p.UpdateFlags(dark.flags())
		want := seawall.LogOnly
		if dark["seawall-enabled"] == false {
			want = seawall.Off
		}
		becomes(t, want, combined, dark)
	}
	mu.Lock()
	assert.NotEqual(t, seawall.Enforce, strictest)
	mu.Unlock()
	p.UpdateFlags(values{}.flags())
	becomes(t, seawall.Enforce, combined)
}

func TestModes(t *testing.T) {
	t.Parallel()
	f := follow(t, newMoody(values{"seawall-ratelimit-api-mode": "log-only", "seawall-fleetshed-enabled": false}), flags.Config{})
	f.Gate("ratelimit", "api")
	assert.Equal(t, map[string]seawall.Mode{
		"ratelimit": seawall.Enforce, "ratelimit:api": seawall.LogOnly, "concurrency": seawall.Enforce,
		"fleetshed": seawall.Off, "workershed": seawall.Enforce,
	}, f.Modes())
}
