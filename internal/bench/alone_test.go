package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
)

// The subjects on Redis.
const (
	oneBucket   = "one bucket"
	threeLayers = "three layers"
	threeBudget = "three layers, with a wait budget"
	threeCalls  = "three calls"
	ping        = "PING"
)

// oneConnection is what every client of one caller at a time has.
const oneConnection = "?pool_size=1"

// oneByOne has one caller at a time ask for a while, and returns what an answer takes, in µs. What after does is not counted,
// but goes on beside the next ask, as it does for a caller who has its answer.
func oneByOne(d time.Duration, n int, ask ask, after func()) (us float64, refused int) {
	var spent time.Duration
	asked := 0
	for began := time.Now(); time.Since(began) < d; asked++ {
		at := time.Now()
		ok := ask(uint32(asked % n))
		spent += time.Since(at)
		if !ok {
			refused++
		}
		after()
	}
	return float64(spent.Nanoseconds()) / 1000 / float64(asked), refused
}

// alone is about the lines of one caller at a time on one connection.
func (b *bench) alone(t *testing.T) {
	server := redistest.Start(t)
	limitsOnRedis(t, server)
	r, n := newRemote(t, server, ample, oneConnection, nil), b.pace.callers
	client := peerClient(t, server, 1)
	bucket := &asking{store: r.store, plans: plans(n, r.bucket), budget: budget}
	three := &asking{store: r.store, plans: plans(n, r.three)}
	patient := &asking{store: r.store, plans: three.plans, budget: budget}
	apart := &apart{r: r, n: n}
	nothing := func() {}
	var subjects []subject
	for _, c := range []struct {
		name  string
		ask   ask
		after func()
	}{
		{ping, func(uint32) bool { return client.Ping(context.Background()).Err() == nil }, nothing},
		{emptyScript, newNoop(t, client), nothing},
		{redisRateName, newRedisRate(client, ample, names(n)), nothing},
		{oneBucket, bucket.decide, nothing},
		{threeLayers, three.decide, three.giveBack},
		{threeBudget, patient.decide, patient.giveBack},
		{threeCalls, apart.decide, apart.giveBack},
	} {
		subjects = append(subjects, subject{c.name, func(d time.Duration) figures {
			us, refused := oneByOne(d, n, c.ask, c.after)
			assert.Zero(t, refused, "%s: nobody is over a limit: %v %v %v", c.name, bucket.why, three.why, apart.why())
			r.drained(t)
			return figures{cost: us}
		}})
	}
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, subjects...)
	line := func(name, who, to string, peer *Other) {
		ratio := s.ratio(cost, who, to)
		b.line(Line{
			Name: name, Ours: s.of(who, cost), Peer: peer, Limit: s.other(emptyScript, cost), Ratio: &ratio,
			Note: fmt.Sprintf("PING %s µs", Number(s.of(ping, cost).Median)),
		})
	}
	line("redis-three-noop", threeLayers, emptyScript, nil)
	line("redis-three-separate", threeLayers, threeCalls, s.other(threeCalls, cost))
	line("redis-three-patient", threeBudget, emptyScript, nil)
	line("redis-one", oneBucket, redisRateName, s.other(redisRateName, cost))
}

// apart asks the three layers in three calls, as middlewares do that are mounted one by one.
type apart struct {
	r     *remote
	n     int
	calls []*asking
}

func (a *apart) decide(i uint32) bool {
	if a.calls == nil {
		for k := range 3 {
			a.calls = append(a.calls, &asking{store: a.r.store, plans: plans(a.n, func(key seawall.Key) []seawall.Check {
				return a.r.three(key)[k : k+1]
			})})
		}
	}
	ok := true
	for _, c := range a.calls {
		ok = c.decide(i) && ok
	}
	return ok
}

func (a *apart) giveBack() {
	var held []seawall.Lease
	for _, c := range a.calls {
		held = append(held, c.held...)
		c.held = c.held[:0]
	}
	a.calls[0].held = held
	a.calls[0].giveBack()
}

func (a *apart) why() (all []error) {
	for _, c := range a.calls {
		all = append(all, c.why)
	}
	return all
}

// TestOneByOne counts only the asks.
func TestOneByOne(t *testing.T) {
	t.Parallel()
	var asked []uint32
	after := 0
	us, refused := oneByOne(20*time.Millisecond, 3, func(i uint32) bool {
		asked = append(asked, i)
		return i != 2
	}, func() {
		after++
		time.Sleep(time.Millisecond) // longer than an ask
	})
	require.NotEmpty(t, asked)
	assert.Equal(t, len(asked), after)
	for k, i := range asked {
		assert.EqualValues(t, k%3, i)
	}
	assert.Equal(t, len(asked)/3, refused)
	assert.Less(t, us*float64(len(asked)), float64(20*time.Millisecond/time.Microsecond)/2)
}
