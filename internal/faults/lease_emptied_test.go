package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
)

// flight counts what is in flight, by caller, and how often that changed.
type flight struct {
	mu              sync.Mutex
	leases, slots   map[string]int
	total, changes  int
	refused, served int
}

func (f *flight) add(caller string, leases, slots int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leases[caller] += leases
	f.slots[caller] += slots
	f.total += leases
	f.changes++
	f.served += max(0, leases)
}

func (f *flight) now() (total, changes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total, f.changes
}

// agrees tells whether Redis holds exactly what is in flight, if that did not change meanwhile.
func (f *flight) agrees(t *testing.T, c *redis.Client) (agrees, settled bool) {
	t.Helper()
	total, before := f.now()
	same := leases(t, c) == perRequest*total
	for k := range callers {
		name := fmt.Sprint("emptied", k)
		leases, slots := held(t, c, slotsKey(name))
		f.mu.Lock()
		same = same && leases == f.leases[name] && slots == f.slots[name]
		f.mu.Unlock()
	}
	_, after := f.now()
	return same, before == after
}

// TestWhatRedisLostIsAssertedAgain empties Redis again and again under load, of requests that take several slots each.
func TestWhatRedisLostIsAssertedAgain(t *testing.T) {
	together(t)
	const witnesses = 16
	ttl := of(2*time.Second, 3*time.Second)
	longest := of(2*time.Second, 3*time.Second) // handler
	load := openloop.Load{Rate: 200, For: of(4*time.Second, 30*time.Second), Workers: 50}
	server := redistest.Start(t)
	c := admin(t, server)
	g := newRig(t, setup{url: server.URL(), weighted: true, slots: 10_000, ttl: ttl})
	g.ready(t)
	f := &flight{leases: map[string]int{}, slots: map[string]int{}}
	begin := func(i int, name string, weight int64, works time.Duration) {
		r := request(name)
		r.Cost = weight
		a := g.instances[i%len(g.instances)].stack.Admit(context.Background(), r)
		if a.Decision().Denied {
			a.Done(context.Background())
			f.mu.Lock()
			f.refused++
			f.mu.Unlock()
			return
		}
		f.add(name, 1, int(weight))
		g.working.Go(func() {
			time.Sleep(works) // how long the handler works
			f.add(name, -1, -int(weight))
			a.Done(context.Background())
		})
	}
	ended := make(chan *openloop.Record)
	flushes := of(2, 8)
	for i := range witnesses { // in flight all the time
		begin(i, "witness", 3, load.For+longest+ttl/2)
	}
	go func() {
		ended <- openloop.Run(context.Background(), load, func(i int) {
			begin(i, fmt.Sprint("emptied", i/len(g.instances)%callers), int64(1+i%5), longest*time.Duration(i*7919%1000)/1000)
		})
	}()
	watched, least := make(chan struct{}), make(chan int64)
	go func() { least <- g.leastUsed(watched) }()

	lapsed := g.lapsed()
	var again []time.Duration
	var inFlight, most int // when Redis was emptied
	time.Sleep(ttl)        // some are renewed leases, some are not
	for range flushes {
		require.Less(t, until(func() bool { n, _ := held(t, c, slotsKey("witness")); return n == witnesses }), soon)
		n, _ := f.now()
		inFlight += n
		most = max(most, n)
		do(t, c, "FLUSHALL")
		emptied := time.Now()
		require.Less(t, until(func() bool {
			n, slots := held(t, c, slotsKey("witness"))
			return n == witnesses && slots == 3*witnesses
		}), soon, "live leases are back")
		again = append(again, time.Since(emptied))
		if longLeases() {
			time.Sleep(2 * time.Second) // of load between two losses
		}
	}
	rec := <-ended
	do(t, c, "FLUSHALL")
	total, _ := f.now()
	require.Positive(t, total)
	time.Sleep(ttl/3 + renewal) // one renewal of all leases
	var same bool
	var at int
	agreed := until(func() bool {
		ok, settled := f.agrees(t, c)
		at, _ = f.now()
		same = ok && settled
		return same || at < witnesses
	})
	t.Logf("%d requests in %s, %d refused; emptied %d times with up to %d in flight; all that still was, was back after at most %s",
		len(rec.Samples), text(load.For), f.refused, flushes+1, most, text(maxOf(again)))
	t.Logf("after the last time Redis held what was in flight, %d requests, %s after %s; %d lost leases were counted", at,
		text(agreed), text(ttl/3+renewal), g.lapsed()-lapsed)
	assert.True(t, same, "Redis holds exactly what is in flight")
	assert.GreaterOrEqual(t, at, witnesses, "while requests are in flight")
	assert.GreaterOrEqual(t, int(g.lapsed()-lapsed), perRequest*witnesses*flushes, "those are counted as lost")
	assert.LessOrEqual(t, int(g.lapsed()-lapsed), perRequest*(inFlight+total+load.Rate))
	within(t, "asserted again after", maxOf(again), ttl/3+renewal+100*time.Millisecond)

	assert.Zero(t, f.refused)
	assert.Zero(t, g.leftLeases(t, c), "leases left")
	close(watched)
	assert.Zero(t, <-least, "the least that the fleet used, by any view")
	for _, in := range g.instances {
		in.seen.mu.Lock()
		assert.Zero(t, in.seen.least, "the least in flight, by the layers' count")
		in.seen.mu.Unlock()
		assert.Zero(t, in.seen.holding())
	}
	for _, in := range g.instances {
		assert.Less(t, until(func() bool { return in.cache.Fleet().Used == 0 }), soon, "the fleet's gauge")
	}
}

// lapsed sums the leases that the instances found lost.
func (g *rig) lapsed() (n uint64) {
	for _, in := range g.instances {
		n += in.shared.Lapsed()
	}
	return n
}

// leastUsed looks at what the fleet uses until it is told to stop, and returns the least that was below zero.
func (g *rig) leastUsed(stop <-chan struct{}) (least int64) {
	for {
		for _, in := range g.instances {
			least = min(least, in.cache.Fleet().Used)
		}
		select {
		case <-stop:
			return least
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func maxOf(times []time.Duration) time.Duration {
	_, most := spread(times)
	return most
}

// TestEveryLeaseThatWasLostIsCountedOnce empties Redis under leases that stay.
func TestEveryLeaseThatWasLostIsCountedOnce(t *testing.T) {
	together(t)
	const ttl, n, times = time.Second, 25, 3
	server := redistest.Start(t)
	c := admin(t, server)
	k := hire(t, posting{URL: server.URL(), Slots: 1000, TTL: ttl})
	k.hold(t, "kept", n)
	for i := range times {
		require.Equal(t, perRequest*n, leases(t, c))
		do(t, c, "FLUSHALL")
		require.Eventually(t, func() bool { return k.do(t, order{Do: "say"}).Lapsed >= uint64((i+1)*perRequest*n) }, soon, time.Millisecond)
		time.Sleep(ttl/3 + renewal) // one more renewal, which must count nothing again
		assert.EqualValues(t, (i+1)*perRequest*n, k.do(t, order{Do: "say"}).Lapsed)
	}
	k.do(t, order{Do: "end", Caller: "kept", N: n})
	assert.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "leases left")
	k.dismiss(t)
}
