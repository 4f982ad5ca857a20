package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// failoverLasts is how long Sentinels take for a failover at most, on a machine that lets them. What a short run counts is
// no less true if the load ends before.
func failoverLasts() time.Duration {
	if long() {
		return 6 * time.Second
	}
	return 5 * time.Second
}

// failovers are the faults in which another server becomes the master.
func failovers() []fault {
	return []fault{
		{
			number: 22, name: "Sentinel failover", injection: "master killed, frozen", promise: usual, short: true,
			run: func(t *testing.T, r *row) {
				sentinel := redistest.StartSentinel(t)
				var master *redistest.Server
				of := func(name, shows string, hit func(*redistest.Server), reasons ...string) {
					r.survives(t, setup{url: sentinel.URL()}, outage{
						name: name, ends: failoverLasts(), losses: 1, shows: shows, reasons: reasons,
						before: func() { sentinel.Mend(t) },
						inject: func() { master = sentinel.Master(t); hit(master) },
						heal: func() {
							began := time.Now()
							sentinel.NextMaster(t, master)
							r.note("%s: another master after %s", name, text(time.Since(began)))
						},
					})
				}
				of("killed", "refused", (*redistest.Server).Kill, "refused", "error", "readonly")
				if long() {
					of("frozen", "timeout", (*redistest.Server).Stop, "timeout", "error", "readonly")
				}
			},
		},
		{
			number: 23, name: "Lagging replica promoted", injection: "replica stopped, master killed",
			promise: "≤ a burst and what the lag lost more", short: true,
			run: lagging,
		},
		{
			number: 24, name: "Split brain", injection: "the old master cut off with an instance",
			promise: "≤ 2 × the limit while split, ≤ a burst after", short: true,
			run: splitBrain,
		},
	}
}

// lagging has callers spend their bursts while the only replica is stopped, which is promoted then.
func lagging(t *testing.T, r *row) {
	const burst, before, alone = 50, 10, 10
	sentinel := redistest.StartSentinel(t)
	g := newRig(t, setup{url: sentinel.URL(), api: ratelimit.TokenBucket(ratelimit.PerDay(1), burst)})
	g.ready(t)
	master, replicas := sentinel.Master(t), sentinel.Replicas(t)
	c := admin(t, master)
	spend := func(times int) (admitted, byRedis [callers]int) {
		for i := range times {
			for k, key := range g.callers {
				a := g.spend(g.instances[i%len(g.instances)], key, 1)
				if !a.denied {
					admitted[k]++
				}
				if !a.denied && !a.fallback {
					byRedis[k]++
				}
			}
		}
		return admitted, byRedis
	}
	first, _ := spend(before)
	require.NoError(t, c.Wait(t.Context(), 2, soon).Err())
	replicas[1].Kill()
	stale := replicas[0]
	stale.Stop()
	do(t, c, "CLIENT", "KILL", "TYPE", "replica") // or what was sent to it would wait in its socket
	do(t, c, "SET", "lost", "v")
	second, lost := spend(burst - before)
	time.Sleep(thePace().healthy) // the lag
	master.Kill()
	shows(t, g.url, "refused")
	third, _ := spend(alone)
	stale.Cont()
	assert.Same(t, stale, sentinel.NextMaster(t, master))
	assert.Zero(t, admin(t, stale).Exists(t.Context(), "lost").Val(), "the fault is there: it lags")
	g.shared(t)
	fourth, again := spend(2 * burst)

	most, twice := 0, 0
	for k := range g.callers {
		n := first[k] + second[k] + third[k] + fourth[k]
		assert.LessOrEqual(t, n, burst+burst+lost[k], "a caller of whose requests %d were lost", lost[k])
		most, twice = max(most, n), twice+again[k]
	}
	r.note("%d admitted of a caller at most, with a burst of %d, of which %d were lost", most, burst, burst-before)
	assert.Positive(t, twice, "the fault is there: what was lost was granted again")
	r.settled(t, g)
}
