package proof

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// TestRedisForgetsByItself shows I5 on Redis' own clock: when a key expires, and that then it is gone.
func TestRedisForgetsByItself(t *testing.T) {
	server := redistest.Start(t)
	store, client := newInstance(t, server.URL()), server.Client(t)
	ctx, millisecond := t.Context(), time.Millisecond
	for name, q := range map[string]ratelimit.Quota{
		"bucket":  ratelimit.TokenBucket(ratelimit.PerSecond(7), 7),
		"log":     ratelimit.SlidingLog(7, time.Second),
		"counter": ratelimit.SlidingCounter(7, time.Second),
		"window":  ratelimit.FixedWindow(7, ratelimit.Every(time.Second)),
	} {
		l := limitOf(t, nil, q)
		c := check{account: newAccount(t, name, seawall.NewKey("caller"), l), cost: 3}.real()
		before, err := client.Time(ctx).Result()
		require.NoError(t, err)
		told, err := store.Apply(ctx, nil, []seawall.Check{c})
		require.NoError(t, err)
		require.True(t, told[0].Committed)
		expires, err := client.Do(ctx, "pexpiretime", keyOn(c)).Int64()
		require.NoError(t, err)
		after, err := client.Time(ctx).Result()
		require.NoError(t, err)
		at := time.UnixMilli(expires)
		require.GreaterOrEqual(t, at.Sub(before), told[0].ResetAfter, name)
		require.LessOrEqual(t, at.Sub(after), told[0].ResetAfter+l.real.Window()+tick, name)
	}
	require.Eventually(t, func() bool {
		keys, err := client.Keys(context.Background(), "*ratelimit*").Result()
		return err == nil && len(keys) == 0
	}, 30*time.Second, 50*millisecond)
}
