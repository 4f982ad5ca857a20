package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redis/go-redis/v9"
	"github.com/seawall-go/seawall/internal/redistest"
)

// payments is what a caller of the payments example may do. At 50 k requests a second 200 k callers make one in four seconds.
var payments = quota{20, 2 * time.Second}

// perSecond50k is the load of the line.
const perSecond50k = 50_000

// cores is about the processor time of the Redis process, sockets and parsing included, when it has as much to do as a crowd
// can ask. At a lower load batches are smaller and a decision costs more, but there is time for that.
func (b *bench) cores(t *testing.T) {
	server := redistest.Start(t)
	limitsOnRedis(t, server)
	r, n := newRemote(t, server, payments, "", nil), b.pace.active
	admin, client := server.Client(t), peerClient(t, server, 0)
	texts, order := names(n), shuffled(n)
	buckets, threes := plans(n, r.bucket), plans(n, r.three)
	noop := newNoop(t, client)
	var subjects []subject
	for _, c := range []struct {
		name string
		asks func() ask
	}{
		{redisRateName, func() ask { return newRedisRate(client, payments, texts) }},
		{emptyScript, func() ask { return noop }},
		{oneBucket, func() ask { return (&asking{store: r.store, plans: buckets, budget: budget}).passes }},
		{threeLayers, func() ask { return (&asking{store: r.store, plans: threes, budget: budget}).passes }},
	} {
		subjects = append(subjects, subject{c.name, func(d time.Duration) figures {
			before := usedOf(t, admin)
			asked, refused := counted(b.pace.crowd, 2*d, order, c.asks)
			r.drained(t) // the releases are a part of it
			f := usedOf(t, admin).since(before, asked)
			assert.Zero(t, refused, "%s: nobody is over a limit, and nothing fails", c.name)
			return f
		}})
	}
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, subjects...)
	for _, who := range []string{emptyScript, redisRateName, oneBucket, threeLayers} {
		b.rec.Scale = append(b.rec.Scale, Primary{
			Kind: who, CPU: s.of(who, "cpu"), Batch: s.of(who, "batch").Median, In: s.of(who, "in").Median, Out: s.of(who, "out").Median,
		})
	}
	cores := perSecond50k / 1e6
	peer := s.other(redisRateName, "cpu")
	peer.Name += " (one bucket)"
	peer.Figure = peer.Figure.times(cores)
	for _, l := range []struct{ name, who string }{{"cores-bucket", oneBucket}, {"cores-three", threeLayers}} {
		b.line(Line{
			Name: l.name, Ours: s.of(l.who, "cpu").times(cores), Peer: peer,
			Note: "at full load, " + Number(s.of(l.who, "batch").Median) + " decisions a script call",
		})
	}
}

// counted is together by the number of asks.
func counted(n int, d time.Duration, order []uint32, asks func() ask) (asked float64, refused int64) {
	began := time.Now()
	ns, refused := together(d, n, 1, order, asks)
	return float64(time.Since(began).Nanoseconds()) / ns, refused
}

// used is what Redis had used at some time.
type used struct{ cpu, in, out, calls float64 }

func usedOf(t testing.TB, admin *redis.Client) used {
	t.Helper()
	return used{
		cpu: info(t, admin, "cpu", "used_cpu_user", "used_cpu_sys") * 1e6,
		in:  info(t, admin, "stats", "total_net_input_bytes"), out: info(t, admin, "stats", "total_net_output_bytes"),
		calls: scriptsOf(t, admin).calls,
	}
}

// since is what was used meanwhile for each of some decisions.
func (u used) since(before used, decisions float64) figures {
	return figures{
		"cpu": (u.cpu - before.cpu) / decisions, "in": (u.in - before.in) / decisions, "out": (u.out - before.out) / decisions,
		"batch": decisions / (u.calls - before.calls),
	}
}
