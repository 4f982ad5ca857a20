package memstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// The tests in this file take inputs that gave wrong results in other limiters, which they are named after:
// TestPeer_<system>_<what is right>. Those that also run on Redis are beside it.

// peerAsk has a caller spend one of a quota, and tells whether it was there.
func peerAsk(t *testing.T, s *memstore.Store, quota ratelimit.Quota, who seawall.Key) bool {
	t.Helper()
	rule, err := quota.Rule()
	require.NoError(t, err)
	limit, err := seawall.NewLimit(ratelimit.Name, "api", seawall.FailLocal)
	require.NoError(t, err)
	results, err := s.Apply(context.Background(), nil, []seawall.Check{{Limit: limit, Rule: rule, Key: who, Cost: 1}})
	require.NoError(t, err)
	return results[0].Admitted
}

func TestPeer_echo_anIdleCallerIsNotForgottenBeforeItsTime(t *testing.T) { // 33
	for _, k := range []struct{ window, idle time.Duration }{
		{100 * time.Second, 200 * time.Millisecond},
		{time.Hour, 4 * time.Minute}, // longer than Echo remembers by default
	} {
		for _, quota := range []ratelimit.Quota{
			ratelimit.TokenBucket(ratelimit.Rate{Count: 1, Per: k.window}, 1), ratelimit.SlidingLog(1, k.window),
			ratelimit.SlidingCounter(1, k.window), ratelimit.FixedWindow(1, ratelimit.Every(k.window)),
		} {
			var clock seawalltest.Clock
			s := memstore.New(memstore.Config{Now: clock.Now})
			t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
			who := seawall.NewKey("a")
			require.True(t, peerAsk(t, s, quota, who))
			for i := range 10 {
				clock.Advance(k.idle)
				for visitor := range 20 {
					assert.True(t, peerAsk(t, s, quota, seawall.NewKey(fmt.Sprint(i, visitor))))
				}
				s.Sweep()
			}
			assert.False(t, peerAsk(t, s, quota, who), "%v, after %v", quota, 10*k.idle)
			clock.Advance(2 * k.window)
			s.Sweep()
			assert.Zero(t, s.States(), "%v: but then it is", quota)
		}
	}
}

func TestPeer_gubernator_randomAddressesDoNotFillTheMemory(t *testing.T) { // 55
	const most = 1000
	var clock seawalltest.Clock
	s := memstore.New(memstore.Config{Now: clock.Now, MaxKeys: most})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	quota := ratelimit.TokenBucket(ratelimit.PerHour(1), 1)
	attacker := seawall.NewKey("attacker")
	require.True(t, peerAsk(t, s, quota, attacker))
	require.False(t, peerAsk(t, s, quota, attacker))
	rnd := rand.New(rand.NewPCG(55, 171))
	for range 5 * most {
		var ip [16]byte
		binary.BigEndian.PutUint64(ip[:], rnd.Uint64())
		assert.True(t, peerAsk(t, s, quota, seawall.NewKey("addr", netip.AddrFrom16(ip).String())))
		require.LessOrEqual(t, s.States(), most+64) // of each shard, the one that is in use
	}
	assert.GreaterOrEqual(t, s.States(), most/2)
	assert.False(t, peerAsk(t, s, quota, attacker), "whoever invents addresses does not wash off what he has used up")
}
