package workershed

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

func TestShedderIsALocalLayer(t *testing.T) {
	s := newQuiet(t, Config{Workers: 4})
	var l seawall.Local = s
	assert.Equal(t, "workershed", l.Name())
	assert.Equal(t, seawall.CauseCapacity, l.Cause())
	require.Len(t, l.Limits(), 1)
	assert.Equal(t, "workershed:utilization", l.Limits()[0].Name())
	assert.Equal(t, seawall.FailOpen, l.Limits()[0].OnFailure())
	assert.Empty(t, l.Plan(nil, request(seawall.Read)))
	_, sizer := any(s).(seawall.Sizer)
	assert.False(t, sizer, "the fleet's workers are not this layer's to announce")
}

func TestShedFractionIsWhatEnterSheds(t *testing.T) {
	s := newQuiet(t, Config{Workers: 100})
	s.setLevel(0.5)
	assert.Equal(t, 0.5, s.Level())
	keys := callers(5000)
	for tier, want := range map[seawall.Tier]float64{
		seawall.TestMode: 1, seawall.Read: 0.5, seawall.Write: 0, seawall.Critical: 0,
	} {
		refused := 0
		for _, k := range keys {
			res, ticket := handle(s, &seawall.Request{Key: k, Tier: tier}, seawall.Enforce)
			s.Leave(ticket)
			if !res.Admitted {
				refused++
			}
		}
		assert.InDelta(t, want, s.ShedFraction(tier), 1e-9, tier)
		assert.InDelta(t, want, float64(refused)/float64(len(keys)), 0.02, tier)
	}
}

func TestCloseIsIdempotent(t *testing.T) {
	s, err := New(Config{Workers: 2})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.NoError(t, s.Close()) })
	}
	wg.Wait()
	require.NoError(t, s.Close())
}

func TestClosedShedderKeepsOnlyTheHardCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tickets := busy(t, Config{})
		time.Sleep(time.Minute)
		require.InDelta(t, 1, s.Level(), 1e-9)
		require.NoError(t, s.Close())
		assert.Zero(t, s.Level())

		tickets = append(tickets, enterAll(s, 5, seawall.Critical, seawall.Enforce)...)
		res, _ := handle(s, request(seawall.Write), seawall.Enforce)
		assert.False(t, res.Admitted, "hard cap")
		s.Leave(tickets[0])
		res, _ = handle(s, request(seawall.TestMode), seawall.Enforce)
		assert.True(t, res.Admitted, "level")
	})
}

func TestStackAsksAndClosesTheShedder(t *testing.T) {
	s, err := New(Config{Workers: 2, HardCap: 1})
	require.NoError(t, err)
	stack, err := seawall.New(seawall.Config{}, s)
	require.NoError(t, err)

	ctx := t.Context()
	held := []*seawall.Admission{stack.Admit(ctx, request(seawall.Read)), stack.Admit(ctx, request(seawall.Read))}
	third := stack.Admit(ctx, request(seawall.Write))
	assert.Equal(t, seawall.Decision{
		Denied: true, Layer: "workershed", Policy: "utilization", Cause: seawall.CauseCapacity, RetryAfter: time.Second,
	}, third.Decision())
	third.Done(ctx)
	for _, a := range held {
		assert.False(t, a.Decision().Denied)
		a.Done(ctx)
		a.Done(ctx)
	}
	assert.Zero(t, s.InFlight())
	require.NoError(t, stack.Close(ctx))
}
