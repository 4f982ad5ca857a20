package memstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestALeaseOutlivesAStop has the process stand still for longer than a lease lasts.
func TestALeaseOutlivesAStop(t *testing.T) {
	s := memstore.New(memstore.Config{})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	c, rate, k := slotsOf(t, 1), perDay(t, "api", 1_000), seawall.NewKey("a")
	r, _ := ask(t, s, c, k)
	require.True(t, r.Committed)
	s.StandStill(2 * time.Hour)
	c.Key, rate.Key = k, k
	results, err := s.Apply(t.Context(), nil, []seawall.Check{rate, c})
	require.NoError(t, err)
	assert.False(t, results[1].Admitted, "nobody has released it")
}

// panicking is a rule of slots with a bug.
type panicking struct{ *concurrency.Slots }

func (panicking) Idle(*seawall.State, int64) bool { panic("bug in a rule") }

func (panicking) Renew(*seawall.State, seawall.Env) int64 { panic("bug in a rule") }

// TestARuleThatPanicsEndsNoProcess has the background work meet one.
func TestARuleThatPanicsEndsNoProcess(t *testing.T) {
	s, advance := small(t, 0)
	bad, good := slotsOf(t, 1), perDay(t, "api", 1)
	bad.Rule = panicking{bad.Rule.(*concurrency.Slots)}
	for i := range 200 { // in every shard
		_, lease := ask(t, s, bad, numbered("bad-", i))
		ask(t, s, good, numbered("good-", i))
		require.NoError(t, s.Release(t.Context(), lease))
	}
	advance(48 * time.Hour)
	s.Renew()
	s.Sweep()
	assert.Equal(t, memstore.Counts{Slots: 200}, s.Counts(), "all others go")
}
