package faults

import (
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// perRequest is how many leases a request of a rig holds: its caller's, and one of the fleet.
const perRequest = 2

// TestAnIdleInstanceIsIdle looks at what an instance with leases that nobody asks uses of its processor.
func TestAnIdleInstanceIsIdle(t *testing.T) {
	together(t)
	server := redistest.Start(t)
	k := hire(t, posting{URL: server.URL(), Slots: 10, TTL: time.Second})
	k.hold(t, "idle", 5)
	before := k.do(t, order{Do: "say"})
	began := time.Now()
	time.Sleep(2 * time.Second) // renewals and heartbeats among it
	used, passed := k.do(t, order{Do: "say"}).CPU-before.CPU, time.Since(began)
	t.Logf("%s of processor time in %s", text(used), text(passed))
	assert.Less(t, used, passed/2)
	k.dismiss(t)
}

// TestAStoppedInstanceFindsOutWhatItLost stops an instance for longer than the TTL and lets it go on: what is still in
// flight is counted again, and as lost, and nothing else is.
func TestAStoppedInstanceFindsOutWhatItLost(t *testing.T) {
	together(t)
	const ttl, kept, cap = 2 * time.Second, 8, 8
	server := redistest.Start(t)
	c := admin(t, server)
	k := hire(t, posting{URL: server.URL(), Slots: cap, TTL: ttl})
	other := newRig(t, setup{url: server.URL(), instances: 1, slots: cap, ttl: ttl}).instances[0]
	require.Eventually(t, func() bool { return other.cache.Fleet().Instances == 2 }, soon, 5*time.Millisecond)
	k.hold(t, "kept", kept)
	k.hold(t, "before", 5)
	k.do(t, order{Do: "end", Caller: "before", N: 5})
	require.Eventually(t, func() bool { return leases(t, c) == perRequest*kept }, soon, time.Millisecond)

	// Not as long as leases live: nothing is lost.
	time.Sleep(ttl/3 + renewal) // one renewal of all leases
	k.Signal(syscall.SIGSTOP)
	time.Sleep(ttl / 8) // how long the process stands still
	k.Signal(syscall.SIGCONT)
	time.Sleep(ttl/3 + renewal) // one renewal of all leases
	assert.Zero(t, k.do(t, order{Do: "say"}).Lapsed, "a short stop loses nothing")

	for round := range of(1, 5) {
		lapsed := k.do(t, order{Do: "say"}).Lapsed
		k.Signal(syscall.SIGSTOP)
		require.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "they expire")
		var others []func()
		for range cap {
			a := other.stack.Admit(context.Background(), request("kept"))
			require.False(t, a.Decision().Denied, "the others may use its slots meanwhile")
			others = append(others, func() { a.Done(context.Background()) })
		}
		k.Signal(syscall.SIGCONT)
		began := time.Now()
		require.Less(t, until(func() bool { n, _ := held(t, c, slotsKey("kept")); return n == kept+cap }), soon, "all are counted")
		within(t, "counted again after", time.Since(began), time.Second)
		require.Eventually(t, func() bool { return k.do(t, order{Do: "say"}).Lapsed > lapsed }, soon, time.Millisecond)
		a := other.stack.Admit(context.Background(), request("kept"))
		assert.True(t, a.Decision().Denied, "twice the cap is in flight: nobody else is admitted")
		a.Done(context.Background())
		for _, done := range others {
			done()
		}
		require.Less(t, until(func() bool { return leases(t, c) == perRequest*kept }), soon)
		after := k.do(t, order{Do: "say"}).Lapsed
		t.Logf("round %d: %d leases in flight were lost, %d are counted", round, perRequest*kept, after-lapsed)
		assert.EqualValues(t, perRequest*kept, after-lapsed)
		n, _ := held(t, c, slotsKey("before"))
		assert.Zero(t, n, "what was given back before")
	}
	k.do(t, order{Do: "end", Caller: "kept", N: kept})
	assert.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "leases left")
	k.dismiss(t)
}

// TestNothingIsResurrected stops an instance for longer than the TTL while its requests end: shortly before the
// stop, so that what they give back is under way or still to be sent; and during it, so that they end at the very
// moment at which it goes on and renews what it holds.
func TestNothingIsResurrected(t *testing.T) {
	together(t)
	const ttl, kept = time.Second, 4
	n := of(20, 100)
	server := redistest.Start(t)
	c := admin(t, server)
	k := hire(t, posting{URL: server.URL(), Slots: 1000, TTL: ttl})
	k.hold(t, "kept", kept)
	var counted, ended int
	rounds := of(2, 20)
	for range rounds {
		lapsed := k.do(t, order{Do: "say"}).Lapsed
		k.hold(t, "edge", n)
		k.do(t, order{Do: "serve", Caller: "during", N: n, For: ttl / 2})
		k.tell(t, order{Do: "end", Caller: "edge", N: n})
		time.Sleep(rand.N(5 * time.Millisecond)) // so that the stop falls anywhere into the releases
		k.Signal(syscall.SIGSTOP)
		require.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "they expire")
		time.Sleep(ttl / 4) // how much longer it stands still
		k.Signal(syscall.SIGCONT)
		k.hear(t)
		require.Eventually(t, func() bool { return k.do(t, order{Do: "say"}).InFlight == kept }, soon, time.Millisecond)
		require.Less(t, until(func() bool { return leases(t, c) == perRequest*kept }), soon, "what is in flight is counted")
		for end := time.Now().Add(ttl); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			require.Equal(t, perRequest*kept, leases(t, c), "what was given back stays given back")
		}
		lost := int(k.do(t, order{Do: "say"}).Lapsed - lapsed)
		assert.GreaterOrEqual(t, lost, perRequest*kept)
		assert.LessOrEqual(t, lost, perRequest*(kept+2*n))
		counted += lost
		ended += 2 * n
	}
	t.Logf("%d rounds: %d requests ended at the edges of the stop, none resurrected; %d leases were lost in flight, of which %d at the moment they ended",
		rounds, ended, counted, counted-rounds*perRequest*kept)
	k.do(t, order{Do: "end", Caller: "kept", N: kept})
	assert.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "leases left")
	k.dismiss(t)
}
