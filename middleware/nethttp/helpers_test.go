package nethttp_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/middleware/identity"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// policy is a bucket of so many tokens that refills one a second.
func policy(name string, burst int64) ratelimit.Policy {
	return ratelimit.Policy{Name: name, Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), burst)}
}

// limited is a stack of policies on a store whose clock stands still.
func limited(t testing.TB, policies ...ratelimit.Policy) *seawall.Stack {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	store := memstore.New(memstore.Config{Now: func() time.Time { return now }})
	t.Cleanup(func() { require.NoError(t, store.Close(context.Background())) })
	l, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: store}, l)
	require.NoError(t, err)
	return s
}

func asCaller(_ identity.Call, r *seawall.Request) error {
	r.Key = seawall.NewKey("caller")
	return nil
}
