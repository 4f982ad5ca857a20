package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

func slotsTaken(t *testing.T, s Subject) {
	var held []seawall.Check
	for i := range int64(3) {
		c, r := s.take(t, lease(t, "a", 3))
		require.True(t, r.Committed)
		assert.Equal(t, 2-i, r.Remaining)
		assert.Equal(t, int64(3), r.Limit)
		held = append(held, c)
	}
	_, r := s.take(t, lease(t, "a", 3))
	assert.False(t, r.Admitted)
	assert.GreaterOrEqual(t, r.RetryAfter, time.Second)
	s.release(t, held[1])
	_, r = s.take(t, lease(t, "a", 3))
	assert.True(t, r.Committed)
	_, r = s.take(t, lease(t, "b", 3))
	assert.Equal(t, int64(2), r.Remaining, "another caller's slots")
}

func releaseTwice(t *testing.T, s Subject) {
	a, _ := s.take(t, lease(t, "a", 2))
	_, _ = s.take(t, lease(t, "a", 2))
	for range 3 {
		s.release(t, a)
	}
	_, r := s.take(t, lease(t, "a", 2))
	assert.True(t, r.Committed)
	_, r = s.take(t, lease(t, "a", 2))
	assert.False(t, r.Committed, "releasing one lease thrice frees one slot")
}

func expiry(t *testing.T, s Subject) {
	held, _ := s.take(t, lease(t, "a", 1))
	for range 3 {
		s.Advance(ttl / 2)
		s.Renew()
	}
	_, r := s.take(t, lease(t, "a", 1))
	require.False(t, r.Admitted, "a renewed lease stays")
	s.Advance(ttl - time.Millisecond)
	_, r = s.take(t, lease(t, "a", 1))
	require.False(t, r.Admitted, "1 ms before its TTL")
	s.Advance(time.Millisecond)
	_, r = s.take(t, lease(t, "a", 1))
	require.True(t, r.Admitted, "a lease expires when its instance does not renew it")
	s.release(t, held)
	_, r = s.take(t, lease(t, "a", 1))
	assert.False(t, r.Admitted, "releasing an expired lease frees nobody else's")
	s.Renew()
	s.Advance(ttl / 2)
	_, r = s.take(t, lease(t, "a", 1))
	assert.False(t, r.Admitted)
}

func fleetReserve(t *testing.T, s Subject) {
	ordinary, critical := slots(t, s, 10, 0.2)
	var held []seawall.Check
	for i := range 8 {
		c, r := s.take(t, ordinary)
		require.True(t, r.Committed, "slot %d", i)
		assert.Equal(t, int64(8), r.Limit)
		held = append(held, c)
	}
	_, r := s.take(t, ordinary)
	assert.False(t, r.Admitted, "the ninth")
	for range 20 {
		_, r = s.take(t, critical)
		assert.True(t, r.Committed, "critical is counted and never refused")
	}
	s.release(t, held[0])
	_, r = s.take(t, ordinary)
	assert.True(t, r.Committed, "critical slots are not counted against ordinary ones")
}

func weights(t *testing.T, s Subject) {
	_, r := s.take(t, weighted(t, "a", 7, 8))
	require.False(t, r.Admitted)
	assert.Equal(t, seawall.Never, r.RetryAfter, "more than there are")
	heavy, r := s.take(t, weighted(t, "a", 7, 5))
	require.True(t, r.Committed)
	assert.Equal(t, int64(2), r.Remaining)
	_, r = s.take(t, weighted(t, "a", 7, 3))
	assert.False(t, r.Admitted)
	assert.Equal(t, int64(2), r.Remaining)
	_, r = s.take(t, weighted(t, "a", 7, 2))
	assert.True(t, r.Committed)
	s.Advance(ttl / 2)
	s.Renew()
	s.Advance(ttl - time.Millisecond)
	_, r = s.take(t, weighted(t, "a", 7, 1))
	assert.False(t, r.Admitted, "a renewed lease weighs what it did")
	s.release(t, heavy)
	s.release(t, heavy)
	_, r = s.take(t, weighted(t, "a", 7, 6))
	assert.False(t, r.Admitted, "released twice")
	_, r = s.take(t, weighted(t, "a", 7, 5))
	assert.True(t, r.Committed)
}

func waiting(t *testing.T, s Subject) {
	const first, second, third = 7, 5, 3
	holder, r := s.take(t, queued(t, "a", 2, 0, 0))
	require.True(t, r.Committed)
	_, r = s.take(t, queued(t, "a", 2, 0, 0))
	require.True(t, r.Committed)
	ask := func(waiter uint64, waited time.Duration, takes int64) bool {
		c := queued(t, "a", 2, waiter, waited)
		c.Cost = takes
		_, r := s.take(t, c)
		return r.Committed
	}
	assert.False(t, ask(second, 200*time.Millisecond, 1))
	assert.False(t, ask(first, 300*time.Millisecond, 1))
	assert.False(t, ask(third, 100*time.Millisecond, 1))
	s.release(t, holder)
	assert.False(t, ask(0, 0, 1), "who does not wait is behind all who do")
	assert.False(t, ask(third, 100*time.Millisecond, 1))
	assert.False(t, ask(second, 200*time.Millisecond, 1))
	s.Advance(500 * time.Millisecond)
	assert.False(t, ask(second, 700*time.Millisecond, 1), "somebody has waited longer")
	assert.True(t, ask(first, 800*time.Millisecond, 1))
	leave := queued(t, "a", 2, second, 0)
	leave.Op = seawall.Refund
	s.take(t, leave)
	assert.False(t, ask(third, 600*time.Millisecond, 1), "all are taken again")
	assert.False(t, ask(third, 600*time.Millisecond, 3), "more than there are")
}

func waitingForgotten(t *testing.T, s Subject) {
	holder, r := s.take(t, queued(t, "a", 1, 0, 0))
	require.True(t, r.Committed)
	_, r = s.take(t, queued(t, "a", 1, 7, 0))
	require.False(t, r.Committed)
	s.release(t, holder)
	s.Advance(time.Second - time.Millisecond)
	_, r = s.take(t, queued(t, "a", 1, 0, 0))
	assert.False(t, r.Committed, "somebody may still ask")
	s.Advance(time.Millisecond)
	_, r = s.take(t, queued(t, "a", 1, 0, 0))
	assert.True(t, r.Committed)
}
