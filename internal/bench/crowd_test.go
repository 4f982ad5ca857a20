package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// ownScript is redis-benchmark with a script of ours: what Redis does at best, without a client worth its name.
const ownScript = "redis-benchmark -P 32, our script"

// crowd is about the lines of many callers at a time, each of whom waits for its answer and asks again.
func (b *bench) crowd(t *testing.T) {
	server := redistest.Start(t)
	limitsOnRedis(t, server)
	r, n := newRemote(t, server, ample, "", nil), b.pace.callers
	buckets, threes := plans(n, r.bucket), plans(n, r.three)
	client := peerClient(t, server, 0)
	best := newOwnScript(t, server)
	subjects := []subject{
		{ownScript, func(d time.Duration) figures { return figures{cost: best.run(t, d) / 1000} }},
	}
	for _, c := range []struct {
		name string
		asks func() ask
	}{
		{redisRateName, func() ask { return newRedisRate(client, ample, names(n)) }},
		{oneBucket, func() ask { return (&asking{store: r.store, plans: buckets, budget: budget}).passes }},
		{threeLayers, func() ask { return (&asking{store: r.store, plans: threes, budget: budget}).passes }},
	} {
		subjects = append(subjects, subject{c.name, func(d time.Duration) figures {
			ns, refused := together(d, b.pace.crowd, 1, shuffled(n), c.asks)
			assert.Zero(t, refused, "%s: nobody is over a limit, and nothing fails", c.name)
			r.drained(t)
			return figures{cost: 1e6 / ns}
		}})
	}
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, subjects...)
	for _, l := range []struct{ name, who string }{{"redis-crowd-one", oneBucket}, {"redis-crowd-three", threeLayers}} {
		ratio := s.ratio(cost, l.who, redisRateName)
		line := Line{Name: l.name, Ours: s.of(l.who, cost), Peer: s.other(redisRateName, cost), Ratio: &ratio}
		if l.who == oneBucket {
			line.Limit = s.other(ownScript, cost)
		}
		b.line(line)
	}
}
