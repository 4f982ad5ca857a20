package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

const (
	deadCap   = 20
	deadWork  = 300 * time.Millisecond // of the living's requests
	deadPause = 200 * time.Millisecond // at least, until one who was refused asks again
)

// heirs are the callers whose requests were in flight when their instance died: ten with half their slots, and one
// with all.
func heirs() map[string]int {
	of := map[string]int{"full": deadCap}
	for k := range 10 {
		of[fmt.Sprint("half", k)] = deadCap / 2
	}
	return of
}

// asker asks the living instance for a request that works for a while; shared tells whether Redis was asked.
type asker func(caller string) (in stay, admitted, shared bool)

// TestTheDeadCountUntilTheirTTL kills an instance with 120 requests in flight while another is asked for as many as it
// grants: in processes of the payments example if it may take long.
func TestTheDeadCountUntilTheirTTL(t *testing.T) {
	together(t)
	server := redistest.Start(t)
	c := admin(t, server)
	if longLeases() {
		args := []string{"-rate", "1000000", "-burst", "1000000000", "-max-in-flight", strconv.Itoa(deadCap), "-workers", "1000"}
		dead, living := startPayments(t, server, args...), startPayments(t, server, args...)
		dead.healthy(t)
		living.healthy(t)
		keys := map[string]string{}
		for caller, n := range heirs() {
			for range n {
				go func() { _, _, _ = dead.stay(caller, time.Minute) }()
			}
			keys[caller] = newKey(t, c, keys)
		}
		judgeDead(t, c, exampleTTL, func(caller string) string { return keys[caller] }, dead.Kill,
			func(caller string) (stay, bool, bool) { return living.stay(caller, deadWork) })
		assert.Zero(t, living.metric(t, "seawall_leases_lapsed_total"), "the living lost nothing")
		return
	}
	const ttl = 2 * time.Second
	k := hire(t, posting{URL: server.URL(), Slots: deadCap, TTL: ttl})
	g := newRig(t, setup{url: server.URL(), instances: 1, slots: deadCap, ttl: ttl})
	g.shared(t)
	for caller, n := range heirs() {
		k.hold(t, caller, n)
	}
	judgeDead(t, c, ttl, slotsKey, k.Kill, g.stay)
}

// newKey waits for the key of a caller whose requests are the first, and returns it: the example hashes its callers.
func newKey(t *testing.T, c *redis.Client, known map[string]string) (key string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, name := range c.Keys(context.Background(), "payments:*:concurrency:in-flight").Val() {
			if !slices.Contains(slices.Collect(maps.Values(known)), name) {
				key = name
			}
		}
		return key != ""
	}, soon, 5*time.Millisecond)
	return key
}

// judgeDead kills an instance whose leases have been renewed, has the callers ask another for all that it grants until
// each has all its slots, and holds them together to the cap, and the end to the leases' TTL.
func judgeDead(t *testing.T, c *redis.Client, ttl time.Duration, keyOf func(string) string, kill func(), ask asker) {
	t.Helper()
	keys := map[string]string{}
	for caller, n := range heirs() {
		require.Eventually(t, func() bool {
			keys[caller] = keyOf(caller)
			got, _ := held(t, c, keys[caller])
			return got == n
		}, soon, 5*time.Millisecond, "they are in flight")
	}
	time.Sleep(ttl/3 + renewal) // so that they are renewed
	kill()
	killed := time.Now()
	dead := map[string][]time.Time{}
	var first, last time.Time
	for caller, key := range keys {
		dead[caller] = expiries(t, c, key)
		require.Len(t, dead[caller], heirs()[caller])
		if from := dead[caller][0]; first.IsZero() || from.Before(first) {
			first = from
		}
		if to := slices.MaxFunc(dead[caller], time.Time.Compare); to.After(last) {
			last = to
		}
	}

	var mu sync.Mutex
	stays := map[string][]stay{}
	refused, alone, most := 0, 0, 0
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for caller := range keys {
		for range deadCap + 1 {
			all.Go(func() {
				time.Sleep(rand.N(ttl / 4)) // not all at once
				for ctx.Err() == nil {
					in, admitted, shared := ask(caller)
					mu.Lock()
					switch {
					case !admitted:
						refused++
					case !shared:
						alone++
					default:
						stays[caller] = append(stays[caller], in)
					}
					mu.Unlock()
					if !admitted {
						time.Sleep(deadPause + rand.N(deadPause)) // between two attempts of a refused caller
					}
				}
			})
		}
	}
	whole := func() (at time.Time, all bool) {
		mu.Lock()
		defer mu.Unlock()
		for caller := range keys {
			full := reaches(stays[caller], deadCap)
			if full.IsZero() {
				return at, false
			}
			if full.After(at) {
				at = full
			}
		}
		return at, true
	}
	var at time.Time
	for ok := false; !ok && time.Since(killed) < ttl+soon; time.Sleep(50 * time.Millisecond) {
		for _, key := range keys {
			n, _ := held(t, c, key)
			most = max(most, n)
		}
		at, ok = whole()
	}
	stop()
	all.Wait()
	require.False(t, at.IsZero(), "the callers have all their slots again")

	asked, beyond := 0, 0
	for caller := range keys {
		asked += len(stays[caller])
		beyond = max(beyond, overlap(stays[caller], dead[caller])-deadCap)
	}
	t.Logf("TTL %s, last renewal %s before the kill; %d admitted, %d refused, %d decided without Redis; at most %d leases of %d slots",
		ttl, text(killed.Sub(last.Add(-ttl))), asked, refused, alone, most, deadCap)
	t.Logf("the first lease of the dead ran out %s after the kill, the last %s; all callers had all slots %s after it",
		exact(first.Sub(killed)), exact(last.Sub(killed)), exact(at.Sub(killed)))
	assert.LessOrEqual(t, beyond, 0, "in flight beyond the cap, with those of the dead")
	if alone == 0 {
		assert.LessOrEqual(t, most, deadCap)
	}
	assert.Positive(t, refused)
	assert.False(t, at.Before(last.Add(-time.Second)), "not before the last renewal and the TTL")
	within(t, "whole again after the kill", at.Sub(killed), ttl+time.Second)
}

// exact is a duration of seconds, to the hundredth.
func exact(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
