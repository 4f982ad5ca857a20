package proof

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store/redisstore"
)

// TestLeasesOfTheDeadEndAfterTheirTTL fills a cap and renews some of it at some time; then everybody who held it is
// dead. What was not renewed is free one TTL after it was taken, and what was after it was renewed: not a millisecond
// earlier, as leases count milliseconds, nor a microsecond later.
func TestLeasesOfTheDeadEndAfterTheirTTL(t *testing.T) {
	drawsOrLong(30, 1500)
	redis := keepOnRedis(t, 2)
	redis.clock.Expire(true)
	var names callers
	for _, k := range []func() keeper{func() keeper { return keepInMemory() }, func() keeper { return redis }} {
		t.Run(k().name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n, ttl := upTo(t, "slots", 8), drawTTL(t)
				r := slotsOf(t, n, ttl, rapid.Bool().Draw(t, "weighted"))
				d := newDesk(t, "policy", names.next(), r)
				w := newLeaseWorld(manner{}, []*desk{d}, k())
				instances := len(w.keepers[0].instances())
				start := leasesBegin + rapid.Int64Range(0, 2000).Draw(t, "start µs")
				w.set(start)
				for i := range n {
					require.True(t, w.ask(t, int(i)%instances, []request{{desk: d, rule: r, cost: 1}})[0].Committed)
				}
				// In memory a renewal is of all that is due, and nothing is before a third of the TTL.
				later := start + max(ttl/3, time.Duration(upTo(t, "µs until renewal", ttl.Microseconds()-1000))*time.Microsecond).Microseconds() + 1
				w.set(later)
				renewed := int64(0)
				for _, h := range w.held {
					if instances == 1 || rapid.Bool().Draw(t, "renewed") {
						w.renew(t, h.instance, []*holding{h})
						renewed++
					}
				}
				left := func() int64 {
					return w.ask(t, 0, []request{{desk: d, rule: r, cost: 1, op: seawall.Peek}})[0].Remaining
				}
				// Of a millisecond, the moments count as its beginning.
				begins := func(micros int64) int64 { return micros / 1000 * 1000 }
				end, renewedEnd := begins(start)+ttl.Microseconds(), begins(later)+ttl.Microseconds()
				for _, c := range []struct{ at, left int64 }{
					{end - 1, 0}, {end, n - renewed}, {renewedEnd - 1, n - renewed}, {renewedEnd, n},
				} {
					if c.at >= w.now {
						w.set(c.at)
						require.Equal(t, c.left, left(), "at %d µs, from %d on, renewed at %d, TTL %v", c.at, start, later, ttl)
					}
				}
			})
		})
	}
}

// TestAClockThatSteppedBackLocksNobodyOutForLongerThanATTL has the clock step back by any time while a cap is full of
// leases whose holders are dead: one TTL after somebody was first refused all of it is free.
func TestAClockThatSteppedBackLocksNobodyOutForLongerThanATTL(t *testing.T) {
	drawsOrLong(30, 1500)
	redis := keepOnRedis(t, 1)
	redis.clock.Expire(false) // by its own clock, which nothing here has set back, Redis would forget the key earlier
	var names callers
	for _, k := range []func() keeper{func() keeper { return keepInMemory() }, func() keeper { return redis }} {
		t.Run(k().name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n, ttl := upTo(t, "slots", 8), drawTTL(t)
				r := slotsOf(t, n, ttl, rapid.Bool().Draw(t, "weighted"))
				d := newDesk(t, "policy", names.next(), r)
				w := newLeaseWorld(manner{backwards: true}, []*desk{d}, k())
				w.set(leasesBegin)
				for range n {
					require.True(t, w.ask(t, 0, []request{{desk: d, rule: r, cost: 1}})[0].Committed)
					w.set(w.now + rapid.Int64Range(0, 1000).Draw(t, "µs on"))
				}
				w.set(w.now - upTo(t, "µs back", (10*365*24*time.Hour).Microseconds()))
				refused := w.now
				ask := func() bool { return w.ask(t, 0, []request{{desk: d, rule: r, cost: 1}})[0].Committed }
				require.False(t, ask())
				w.set(refused/1000*1000 + ttl.Microseconds())
				for range n {
					require.True(t, ask(), "%v after it was refused", ttl)
				}
				require.False(t, ask())
			})
		})
	}
}

// TestLeasesOutliveTheirInstance ends an instance as the end of its process would: its connections break, and it gives
// nothing back. What it held is held for one TTL.
func TestLeasesOutliveTheirInstance(t *testing.T) {
	k := keepOnRedis(t, 1)
	k.clock.Expire(true)
	k.clock.Set(leasesBegin)
	ctx := t.Context()
	dies, err := redisstore.NewClient("redis://" + k.clock.Client().Options().Addr)
	require.NoError(t, err)
	dies.AddHook(k.clock.Hook())
	dead, err := redisstore.New(redisstore.Config{Client: dies, Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, dead.Probe(ctx))
	const ttl = 12 * time.Second
	r := slotsOf(t, 3, ttl, false)
	d := newDesk(t, "policy", seawall.NewKey("caller"), r)
	var all []seawall.Check
	for range 3 {
		c := []seawall.Check{request{desk: d, rule: r, cost: 1}.real(k)}
		results, err := dead.Apply(ctx, nil, c)
		require.NoError(t, err)
		require.True(t, results[0].Committed)
		all = append(all, c...)
	}
	require.NoError(t, dies.Close())
	closing, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.Error(t, dead.Close(closing), "it cannot give back what it holds")
	left := func() int64 {
		c := request{desk: d, rule: r, cost: 1, op: seawall.Peek}
		return k.all[0].apply(t, []seawall.Check{c.real(k)})[0].Remaining
	}
	for _, c := range all { // nobody gives back what another instance took
		l, _ := c.Lease()
		l.Last = true
		require.NoError(t, k.all[0].store.Release(ctx, l))
	}
	k.clock.Set(leasesBegin + ttl.Microseconds() - 1)
	require.Zero(t, left())
	k.clock.Set(leasesBegin + ttl.Microseconds())
	require.EqualValues(t, 3, left())
}
