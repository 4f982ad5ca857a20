package seawall_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
)

// told remembers how long it was said that its caller waits.
type told struct {
	seawall.Store
	direct, derived time.Duration
	ok              bool
}

func (s *told) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.direct, s.ok = seawall.WaitOf(ctx)
	s.derived, _ = seawall.WaitOf(context.WithoutCancel(context.WithValue(ctx, s, 1)))
	return append(dst, make([]seawall.Result, len(checks))...), nil
}

func TestAStoreIsToldHowLongItsCallerWaits(t *testing.T) {
	for policy, wait := range map[seawall.Failure]time.Duration{
		seawall.FailLocal: 7 * time.Millisecond, seawall.FailClosed: 70 * time.Millisecond,
	} {
		rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 1), OnFailure: policy},
		}})
		require.NoError(t, err)
		store := &told{}
		stack, err := seawall.New(seawall.Config{Store: store, Wait: 7 * time.Millisecond, WaitClosed: 70 * time.Millisecond}, rate)
		require.NoError(t, err)
		stack.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("a")}).Done(t.Context())
		assert.Equal(t, wait, store.direct)
		assert.Equal(t, wait, store.derived)
		assert.True(t, store.ok)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	_, ok := seawall.WaitOf(ctx)
	assert.False(t, ok, "its caller waits as any does")
}
