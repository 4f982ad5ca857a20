package redisstore_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
)

// far is a hook that puts Redis 2 ms away.
type far struct{}

func (far) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (far) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-time.After(2 * time.Millisecond)
		return next(ctx, cmd)
	}
}

func (far) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		<-time.After(2 * time.Millisecond)
		return next(ctx, cmds)
	}
}

// TestSteadyReleasesLeaveTurnsToRenewals releases more than a lease per round trip, all the time, for longer
// than the TTL of a lease that is held.
func TestSteadyReleasesLeaveTurnsToRenewals(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := connect(t, server)
	s, other := openOn(t, client), connect(t, server)
	var pile []seawall.Lease
	for range 6000 {
		l, ok := take(t, s, lease(t, "busy", 1_000_000, time.Minute))
		require.True(t, ok)
		pile = append(pile, l)
	}
	held, ok := take(t, s, lease(t, "long", 1, time.Second))
	require.True(t, ok)
	client.AddHook(far{})
	var steady sync.WaitGroup
	steady.Go(func() {
		for i, l := range pile {
			if i%4 == 0 {
				<-time.After(time.Millisecond)
			}
			l.Last = false
			assert.NoError(t, s.Release(context.Background(), l))
		}
	})
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; <-time.After(20 * time.Millisecond) {
		require.Equal(t, int64(1), other.ZCard(t.Context(), leasesKey("long")).Val(), "after %v", time.Since(began))
	}
	steady.Wait()
	release(t, s, held)
}
