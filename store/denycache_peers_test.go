package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// The tests in this file are those of the same names in the package redisstore, with the cache: they are about what
// went wrong in the caches of other limiters.

func TestPeer_upstash_ratelimit_theLastTokenIsThereToSpend(t *testing.T) { // 15
	for _, quota := range []ratelimit.Quota{
		ratelimit.TokenBucket(ratelimit.Rate{Count: 3, Per: time.Hour}, 3), ratelimit.SlidingLog(3, time.Hour),
		ratelimit.SlidingCounter(3, time.Hour), ratelimit.FixedWindow(3, ratelimit.Every(time.Hour)),
	} {
		t.Run(quota.String(), func(t *testing.T) {
			d := newDenying(t, store.DenyCacheConfig{})
			c := spends(t, "api", quota)
			for left := int64(2); left >= 0; left-- {
				for range 2 {
					results, _ := d.ask(t, costing(c, left+2)) // is denied, and then denied from memory
					assert.False(t, results[0].Admitted)
					assert.Equal(t, left+1, results[0].Remaining)
				}
				results, asked := d.ask(t, c)
				assert.True(t, asked && results[0].Committed)
				assert.Equal(t, left, results[0].Remaining)
			}
			for range 2 {
				results, _ := d.ask(t, c)
				assert.False(t, results[0].Admitted)
			}
			assert.EqualValues(t, 4, d.Saved())
		})
	}
}

func TestPeer_envoy_ratelimit_shadowNumbersAreExact(t *testing.T) { // 61
	for _, c := range []struct {
		modes   seawall.Fixed
		refused seawall.Outcome
		saved   uint64
	}{
		{seawall.Fixed{"ratelimit:api": seawall.LogOnly}, seawall.WouldDeny, 0},
		{seawall.Fixed{"ratelimit": seawall.LogOnly}, seawall.WouldDeny, 0},
		{seawall.Fixed{"ratelimit:other": seawall.LogOnly}, seawall.Denied, 44},
		{nil, seawall.Denied, 44},
	} {
		d := newDenying(t, store.DenyCacheConfig{})
		l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 5)},
			{Name: "other", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1000)},
		}})
		require.NoError(t, err)
		var seen seawalltest.Recorder
		stack, err := seawall.New(seawall.Config{Store: d, Observer: &seen, Modes: c.modes}, l)
		require.NoError(t, err)
		for range 50 {
			stack.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")}).Done(t.Context())
		}
		assert.Equal(t, 5, seen.Count("ratelimit:api", seawall.Allowed))
		assert.Equal(t, 45, seen.Count("ratelimit:api", c.refused), "also of those who keep asking")
		assert.Empty(t, seen.Fallbacks())
		assert.Equal(t, c.saved, d.Saved())
	}
}
