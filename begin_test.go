package seawall_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/workershed"
)

// holding keeps the answers of one caller back until it is told to go on.
type holding struct {
	seawall.Store
	key   seawall.Key
	asked chan struct{}
	goOn  chan struct{}
}

func (s *holding) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if checks[0].Key == s.key {
		s.asked <- struct{}{}
		<-s.goOn
	}
	return s.Store.Apply(ctx, dst, checks)
}

// TestWhoIsRefusedAnywayTakesNoWorkersFromOthers has a caller without quota ask with as many requests as there are workers,
// and a store that is slow to say so.
func TestWhoIsRefusedAnywayTakesNoWorkersFromOthers(t *testing.T) {
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerMinute(1), 1)}}})
	require.NoError(t, err)
	worker, err := workershed.New(workershed.Config{Workers: 8})
	require.NoError(t, err)
	memory := memstore.New(memstore.Config{})
	t.Cleanup(func() { assert.NoError(t, memory.Close(context.Background())) })
	store := &holding{memory, seawall.NewKey("storm"), make(chan struct{}, 20), make(chan struct{})}
	s, err := seawall.New(seawall.Config{Store: store}, worker, rate)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	ask := func(k seawall.Key) seawall.Decision {
		a := s.Admit(t.Context(), &seawall.Request{Key: k})
		defer a.Done(t.Context())
		return a.Decision()
	}
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { ask(store.key) })
	}
	for range 12 {
		<-store.asked
	}
	assert.Equal(t, seawall.Decision{}, ask(seawall.NewKey("other")))
	assert.Equal(t, "workershed", ask(store.key).Layer, "its own requests count for itself")
	close(store.goOn)
	all.Wait()
	assert.Zero(t, worker.InFlight())
}

// TestALocalLayerMayRefuseLast is about one that has no room any more when the store has admitted.
func TestALocalLayerMayRefuseLast(t *testing.T) {
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
	require.NoError(t, err)
	local, seen := newSwitch(t), &recorder{}
	s, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{}), Observer: seen}, local, slots)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	r := func() *seawall.Request { return &seawall.Request{Key: seawall.NewKey("a")} }

	local.full = true
	a := s.Admit(t.Context(), r())
	assert.Equal(t, seawall.Decision{
		Denied: true, Layer: "workershed", Policy: "utilization", Cause: seawall.CauseCapacity, RetryAfter: 3 * time.Second,
	}, a.Decision())
	assert.Equal(t, 1, local.begun)
	a.Done(t.Context())
	assert.Zero(t, local.inside)

	local.full = false
	a = s.Admit(t.Context(), r())
	assert.False(t, a.Decision().Denied, "its slot was given back")
	assert.Equal(t, 1, local.inside)
	b := s.Admit(t.Context(), r())
	assert.Equal(t, "concurrency", b.Decision().Layer)
	assert.Equal(t, 1, local.inside, "a refused request is not handled, also before Done")
	assert.Equal(t, 2, local.begun, "nor does it begin")
	b.Done(t.Context())
	a.Done(t.Context())
	assert.Zero(t, local.inside)
}
