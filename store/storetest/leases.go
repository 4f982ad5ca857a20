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
