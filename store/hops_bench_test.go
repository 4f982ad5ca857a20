package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// BenchmarkAdmit decides on a real Redis about requests that are admitted, with and without what stands in front of it.
func BenchmarkAdmit(b *testing.B) {
	server := redistest.Start(b)
	open := func(b *testing.B) *redisstore.Store {
		client, err := redisstore.NewClient(server.URL())
		require.NoError(b, err)
		s, err := redisstore.New(redisstore.Config{Client: client, Namespace: "bench"})
		require.NoError(b, err)
		b.Cleanup(func() { _ = s.Close(context.Background()); _ = client.Close() })
		return s
	}
	failover := func(b *testing.B) *store.Failover {
		f, err := store.NewFailover(store.FailoverConfig{Shared: open(b), Local: memstore.New(memstore.Config{})})
		require.NoError(b, err)
		b.Cleanup(func() { _ = f.Close(context.Background()) })
		return f
	}
	for name, s := range map[string]func(b *testing.B) seawall.Store{
		"redisstore": func(b *testing.B) seawall.Store { return open(b) },
		"Failover":   func(b *testing.B) seawall.Store { return failover(b) },
		"DenyCache": func(b *testing.B) seawall.Store {
			c, err := store.NewDenyCache(store.DenyCacheConfig{Store: failover(b)})
			require.NoError(b, err)
			return c
		},
	} {
		b.Run(name, func(b *testing.B) {
			rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
				{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1_000_000), 1_000_000)},
			}})
			require.NoError(b, err)
			stack, err := seawall.New(seawall.Config{Store: s(b)}, rate)
			require.NoError(b, err)
			r := &seawall.Request{Key: seawall.NewKey("a")}
			for range 100 {
				stack.Admit(b.Context(), r).Done(b.Context())
			}
			b.ReportAllocs()
			for b.Loop() {
				stack.Admit(b.Context(), r).Done(b.Context())
			}
		})
	}
}
