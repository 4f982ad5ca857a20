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
}

func (s *told) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.direct, s.derived = seawall.Patience(ctx), seawall.Patience(context.WithoutCancel(context.WithValue(ctx, s, 1)))
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
	}
	assert.Zero(t, seawall.Patience(context.Background()))
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	assert.InDelta(t, time.Hour, seawall.Patience(ctx), float64(time.Minute))
	ctx, cancel = context.WithTimeout(context.Background(), -1)
	defer cancel()
	assert.Positive(t, seawall.Patience(ctx), "over, which is not the same as unknown")
}
