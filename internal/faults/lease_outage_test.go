package faults

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
)

// releaseOutage is what Redis does when requests end.
type releaseOutage struct {
	name         string
	args         []string // of redis-server
	inject, heal func(t *testing.T, s *redistest.Server, c *redis.Client)
	shows        string
	loses        bool // what it was told
	takes        bool // what is given back, all the same
}

func releaseOutages() []releaseOutage {
	set := func(name string, value int) func(t *testing.T, s *redistest.Server, c *redis.Client) {
		return func(t *testing.T, _ *redistest.Server, c *redis.Client) { do(t, c, "CONFIG", "SET", name, value) }
	}
	stop := func(_ *testing.T, s *redistest.Server, _ *redis.Client) { s.Stop() }
	cont := func(_ *testing.T, s *redistest.Server, _ *redis.Client) { s.Cont() }
	kill := func(_ *testing.T, s *redistest.Server, _ *redis.Client) { s.Kill() }
	restart := func(t *testing.T, s *redistest.Server, _ *redis.Client) { s.Restart(t) }
	return []releaseOutage{
		{name: "frozen", inject: stop, heal: cont, shows: "timeout"},
		{
			name: "killed, and back with its data", args: []string{"--appendonly", "yes", "--appendfsync", "always"},
			inject: kill, heal: restart, shows: "refused",
		},
		{name: "killed, and back empty", inject: kill, heal: restart, shows: "refused", loses: true},
		{
			name: "too few replicas to write", inject: set("min-replicas-to-write", 1), heal: set("min-replicas-to-write", 0),
			shows: "NOREPLICAS",
		},
		{name: "out of memory", inject: set("maxmemory", 1), heal: set("maxmemory", 0), shows: "OOM", takes: true},
	}
}

// TestWhatEndsInAnOutageIsGivenBackAfterIt ends requests while Redis is away: their answers wait no longer than they
// may, and their slots are free soon after Redis is back, long before they would expire.
func TestWhatEndsInAnOutageIsGivenBackAfterIt(t *testing.T) {
	together(t)
	const callers, slots, ttl = 10, 4, time.Minute
	for _, o := range releaseOutages() {
		t.Run(o.name, func(t *testing.T) {
			together(t)
			server := redistest.Start(t, o.args...)
			c := admin(t, server)
			k := hire(t, posting{URL: server.URL(), Slots: slots, TTL: ttl})
			for i := range callers {
				k.hold(t, fmt.Sprint("caller", i), slots)
			}
			require.Equal(t, perRequest*callers*slots, leases(t, c))
			o.inject(t, server, c)
			shows(t, server.URL(), o.shows)
			var took []time.Duration
			for i := range callers {
				took = append(took, k.do(t, order{Do: "end", Caller: fmt.Sprint("caller", i), N: slots}).Took...)
			}
			require.Len(t, took, callers*slots)
			median, most := spread(took)
			time.Sleep(of(200*time.Millisecond, 3*time.Second)) // so that it is tried in vain for a while
			if o.takes {
				assert.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "what is given back needs no memory")
			}
			o.heal(t, server, c)
			began := time.Now()
			gone := until(func() bool { return leases(t, c) == 0 })
			t.Logf("%d requests ended: each waited %s (median), %s (most) for its release; leases left 0 %s after Redis was back, %d waits ran out",
				len(took), text(median), text(most), text(gone), k.do(t, order{Do: "say"}).Unwaited)
			within(t, "the middle wait", median, 2*seawall.DefaultWait)
			within(t, "given back after", gone, 2*time.Second)
			if o.loses {
				for ; time.Since(began) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
					require.Zero(t, leases(t, c), "none comes back")
				}
			}
			k.shared(t)
			for i := range callers {
				k.hold(t, fmt.Sprint("caller", i), slots)
				k.do(t, order{Do: "end", Caller: fmt.Sprint("caller", i), N: slots})
			}
			assert.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "leases left")
			k.dismiss(t)
		})
	}
}

// TestNothingIsLeftOfALongOutage keeps Redis away for longer than leases live, while many requests end.
func TestNothingIsLeftOfALongOutage(t *testing.T) {
	together(t)
	const ttl = time.Second
	n := of(500, 20_000)
	server := redistest.Start(t)
	c := admin(t, server)
	k := hire(t, posting{URL: server.URL(), Slots: 1_000_000, Workers: 1_000_000, TTL: ttl})
	outage := func() (calls int64) {
		server.ResetStat(t)
		server.Stop()
		admitted := k.do(t, order{Do: "hold", Caller: "many", N: n}) // by itself: of these Redis never hears
		k.do(t, order{Do: "end", Caller: "many", N: n})
		require.Zero(t, admitted.Refused)
		time.Sleep(ttl + 500*time.Millisecond) // how long Redis is away: more than a TTL
		server.Cont()
		require.Less(t, until(func() bool { return k.do(t, order{Do: "say"}).Err == "" && leases(t, c) == 0 }), soon)
		k.shared(t)
		return server.CommandCalls(t, "zrem")
	}
	whileHeld := func() (released int64) {
		k.hold(t, "held", n)
		require.GreaterOrEqual(t, leases(t, c), perRequest*n)
		server.ResetStat(t)
		server.Stop()
		k.do(t, order{Do: "end", Caller: "held", N: n})
		time.Sleep(ttl + 500*time.Millisecond) // how long Redis is away: more than a TTL
		server.Cont()
		require.Less(t, until(func() bool { return leases(t, c) == 0 }), soon)
		for calls := int64(-1); calls != released; { // the queue is worked off, moot as it is
			calls = released
			time.Sleep(500 * time.Millisecond) // in which a queue that is not empty is sent
			released = server.CommandCalls(t, "zrem")
		}
		require.Positive(t, released)
		k.shared(t)
		return released
	}
	outage() // the first needs buffers, which stay
	whileHeld()
	time.Sleep(time.Second) // the queue empties
	before := k.do(t, order{Do: "say"})
	released := whileHeld()
	alone := outage()
	time.Sleep(time.Second) // the queue empties
	calls := server.CommandCalls(t, "zrem")
	time.Sleep(time.Second) // in which nothing more may be sent
	after := k.do(t, order{Do: "say"})
	t.Logf("%d requests ended in an outage of %s with a TTL of %s: Redis was sent %d commands afterwards that give leases back; of %d that it never heard of, %d",
		n, text(ttl+500*time.Millisecond), text(ttl), released, n, alone)
	t.Logf("goroutines %d, then %d; live heap %d KB, then %d KB", before.Goroutines, after.Goroutines, before.Heap>>10, after.Heap>>10)
	assert.Zero(t, leases(t, c), "leases left")
	assert.Equal(t, calls, server.CommandCalls(t, "zrem"), "nothing is given back again and again")
	assert.LessOrEqual(t, after.Goroutines, before.Goroutines+2, "goroutines") // connections come and go
	assert.LessOrEqual(t, int64(after.Heap)-int64(before.Heap), int64(1<<20), "live heap")
	k.dismiss(t) // with nothing left to give back, or it would take long
}

// TestAnswersWaitForNoReleaseLongerThanTheyMay ends requests of the payments example while Redis is away.
func TestAnswersWaitForNoReleaseLongerThanTheyMay(t *testing.T) {
	if !longLeases() {
		t.Skip("TestWhatEndsInAnOutageIsGivenBackAfterIt is the short form; set SEAWALL_LEASES=long to run it over HTTP")
	}
	const n, works = 20, 1500 * time.Millisecond
	for _, o := range releaseOutages() {
		t.Run(o.name, func(t *testing.T) {
			server := redistest.Start(t, o.args...)
			c := admin(t, server)
			p := startPayments(t, server, "-max-in-flight", strconv.Itoa(n), "-rate", "1000000", "-burst", "1000000000", "-workers", "1000")
			p.healthy(t)
			for range 50 {
				require.Equal(t, http.StatusOK, p.get("warm", "/v1/reports"))
			}
			var all sync.WaitGroup
			took, codes := make([]time.Duration, n), make([]int, n)
			for k := range n {
				all.Go(func() {
					began := time.Now()
					codes[k] = p.get("busy", "/v1/reports?ms="+strconv.FormatInt(works.Milliseconds(), 10))
					took[k] = time.Since(began) - works
				})
			}
			require.Eventually(t, func() bool { return leasesOf(t, c, "payments") == perRequest*n }, soon, 5*time.Millisecond)
			o.inject(t, server, c)
			all.Wait()
			ranOut := p.warnings()
			for k := range n {
				assert.Equal(t, http.StatusOK, codes[k])
			}
			time.Sleep(time.Second) // how long Redis stays away after the answers
			o.heal(t, server, c)
			gone := until(func() bool { return leasesOf(t, c, "payments") == 0 })
			_, most := spread(took)
			median, _ := spread(took)
			t.Logf("%d answers came %s (median), %s (most) later than their work took; in the log until then %d waits that ran out", n,
				text(median), text(most), ranOut)
			within(t, "the latest", most, 10*seawall.DefaultWait)
			within(t, "given back after", gone, 2*time.Second)
			assert.Zero(t, p.metric(t, "seawall_leases_lapsed_total"))
			assert.Less(t, until(func() bool { return p.metric(t, "seawall_inflight") == 0 }), soon)
			assert.Less(t, until(func() bool { return p.metric(t, "seawall_fleet_used") == 0 }), soon)
			assert.Equal(t, http.StatusOK, p.get("busy", "/v1/reports"))
			require.NoError(t, c.Ping(context.Background()).Err())
		})
	}
}
