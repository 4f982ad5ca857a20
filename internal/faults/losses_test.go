package faults

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/openloop"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// losses are the faults in which Redis loses what it was told, or was told something else.
func losses() []fault {
	return []fault{
		{
			number: 3, name: "Restarted empty", injection: "`kill -9` and a start at once, under load",
			promise: "one caller gets at most a burst more for each loss, and what instances admit by their shares until they, too, ask Redis again", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				g := newRig(t, setup{url: server.URL(), api: ratelimit.TokenBucket(ratelimit.PerSecond(50), 50)})
				g.ready(t)
				r.overAdmitted(t, g, 50, 50, func() { server.Restart(t) })
				r.settled(t, g)
			},
		},
		{
			number: 17, name: "Evicted", injection: "`allkeys-random` and a flood of other keys",
			promise: "one caller gets at most a burst more for each time its key is evicted", short: true,
			run: evicted,
		},
		{
			number: 18, name: "Emptied", injection: "`FLUSHALL` under load, several times",
			promise: "all served; a burst more for each loss; in flight never below 0; leases left 0", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s, c := setup{url: server.URL()}, admin(t, server)
				r.survives(t, s, outage{
					inject: func() {
						for range 3 {
							do(t, c, "FLUSHALL")
							time.Sleep(thePace().faulty / 4)
						}
					},
					heal: func() {}, losses: 3, brief: true,
				})
			},
		},
		{
			number: 19, name: "Scripts forgotten", injection: "`SCRIPT FLUSH` every 10 ms", promise: "nobody notices: no fallback", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s, c := setup{url: server.URL()}, admin(t, server)
				r.survives(t, s, outage{
					inject: func() {
						for end := time.Now().Add(thePace().faulty); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
							do(t, c, "SCRIPT", "FLUSH")
						}
						assert.ErrorContains(t, c.EvalSha(t.Context(), strings.Repeat("0", 40), nil).Err(), "NOSCRIPT")
					},
					heal: func() {}, brief: true,
				})
				assert.Positive(t, server.CommandCalls(t, "eval"), "texts were sent again")
			},
		},
		{
			number: 27, name: "Corrupt state", injection: "a caller's keys hold lists, text, NaN, 1e309, huge and negative numbers",
			promise: "healed by the next request; never open for good", short: true,
			run: corrupt,
		},
		{
			number: 28, name: "Fails half-way", injection: "scripts that fail at their first write (`maxmemory 1`)",
			promise: "nothing is half done", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				g, c := newRig(t, setup{url: server.URL()}), admin(t, server)
				g.ready(t)
				bucket := "faults:{" + g.callers[0].String() + "}:ratelimit:api"
				g.spend(g.instances[0], g.callers[0], 1)
				g.leftLeases(t, c)
				before, err := c.Get(t.Context(), bucket).Result()
				require.NoError(t, err)
				do(t, c, "CONFIG", "SET", "maxmemory", 1)
				shows(t, g.url, "OOM")
				for range 9 { // fewer than open the breaker
					assert.False(t, g.spend(g.instances[0], g.callers[0], 1).denied)
				}
				after, err := c.Get(t.Context(), bucket).Result()
				require.NoError(t, err)
				assert.Equal(t, before, after, "the bucket")
				assert.Zero(t, leases(t, c))
				do(t, c, "CONFIG", "SET", "maxmemory", 0)
				r.note("9 calls failed, 0 keys changed")
			},
		},
	}
}

// overAdmitted has one caller ask far more often than it may, lets Redis lose its data in the middle, and asserts that
// the caller got no more than a burst in addition to its limit, and what some instances admitted by their shares when
// others asked Redis again already.
func (r *row) overAdmitted(t *testing.T, g *rig, rate, burst int, lose func()) {
	t.Helper()
	p := thePace()
	var byRedis, alone, behind atomic.Int64
	var lost, again atomic.Bool
	recorded := make(chan *openloop.Record)
	go func() {
		recorded <- openloop.Run(context.Background(), openloop.Load{Rate: 500, For: p.total()}, func(i int) {
			c := g.spend(g.instances[i%len(g.instances)], g.callers[0], 1)
			if lost.Load() && !c.fallback {
				again.Store(true)
			}
			switch {
			case c.denied:
			case c.fallback:
				alone.Add(1)
				if again.Load() {
					behind.Add(1)
				}
			default:
				byRedis.Add(1)
			}
		})
	}()
	time.Sleep(p.healthy + p.faulty/2)
	lose()
	lost.Store(true)
	rec := <-recorded
	took := time.Since(rec.Began)
	limit := burst + int(float64(rate)*took.Seconds())
	all := int(byRedis.Load() + alone.Load())
	late := 0 // what Redis granted too late for its caller, an instance may have granted as well
	for _, in := range g.instances {
		late += in.seen.admitted("timeout")
	}
	r.note("%d admitted in %s, %d of them without Redis; the limit is %d, and %d more are promised at most", all, text(took), alone.Load(), limit, burst)
	if n := behind.Load(); n > 0 {
		r.note("%d admitted by an instance while another asked Redis again", n)
	}
	if late > 0 {
		r.note("%d admitted since answers came too late", late)
	}
	assert.LessOrEqual(t, int(byRedis.Load()), limit+burst)
	assert.LessOrEqual(t, int(behind.Load()), int(float64(rate)*back.Seconds()), "by their shares")
	assert.LessOrEqual(t, all, limit+burst+late+int(behind.Load()))
	assert.Greater(t, all, burst, "somebody is served")
}

// evicted floods a Redis that evicts at random while one caller asks again and again.
func evicted(t *testing.T, r *row) {
	server := redistest.Start(t, "--notify-keyspace-events", "Ee", "--maxmemory-policy", "allkeys-random")
	g, c := newRig(t, setup{url: server.URL(), api: ratelimit.TokenBucket(ratelimit.PerMinute(1), 5)}), admin(t, server)
	g.ready(t)
	events := server.Client(t).PSubscribe(t.Context(), "__keyevent@*__:evicted")
	t.Cleanup(func() { _ = events.Close() })
	_, err := events.Receive(t.Context())
	require.NoError(t, err)
	var evictions atomic.Int64 // of the caller's bucket
	victim := "faults:{" + g.callers[0].String() + "}:ratelimit:api"
	messages := events.Channel()
	go func() {
		for m := range messages {
			if m.Payload == victim {
				evictions.Add(1)
			}
		}
	}()
	used, err := c.InfoMap(t.Context(), "memory").Result()
	require.NoError(t, err)
	bytes, err := strconv.Atoi(used["Memory"]["used_memory"])
	require.NoError(t, err)
	do(t, c, "CONFIG", "SET", "maxmemory", bytes+300_000)

	admitted, began := 0, time.Now()
	for k := 0; time.Since(began) < thePace().faulty; k++ {
		fill(t, c, 200*k, 200)
		if c := g.spend(g.instances[0], g.callers[0], 1); !c.denied && !c.fallback {
			admitted++
		}
	}
	do(t, c, "CONFIG", "SET", "maxmemory", 0)
	var seen int64
	require.Eventually(t, func() bool { n := evictions.Load(); same := n == seen; seen = n; return same }, soon, 100*time.Millisecond)
	r.note("%d admitted with a burst of 5 and %d evictions of the caller's key", admitted, seen)
	assert.Positive(t, seen, "the caller's key was evicted")
	assert.LessOrEqual(t, admitted, 5*int(1+seen)+1)
}

// corrupt puts values that no script wrote where a caller's state is.
func corrupt(t *testing.T, r *row) {
	server := redistest.Start(t)
	g, c := newRig(t, setup{url: server.URL(), api: ratelimit.TokenBucket(ratelimit.PerMinute(1), 5), slots: 3}), admin(t, server)
	g.ready(t)
	values := [][]any{
		{"RPUSH", "a", "b"},
		{"HSET", "a", "b"},
		{"SADD", "a"},
		{"ZADD", "1", "a"},
		{"SET", ""},
		{"SET", "text"},
		{"SET", "nan"},
		{"SET", "inf"},
		{"SET", "1e309"},
		{"SET", "-1"},
		{"SET", "9223372036854775807"},
		{"SET", "-9223372036854775808"},
		{"SET", strings.Repeat("9", 400)},
	}
	for i, value := range values {
		for _, what := range []string{"ratelimit:api", "concurrency:in-flight"} {
			who := g.newcomer()
			do(t, c, append([]any{value[0], "faults:{" + who.String() + "}:" + what}, value[1:]...)...)
			admitted := 0
			for range 20 {
				if a := g.spend(g.instances[i%2], who, 1); !a.fallback && !a.denied {
					admitted++
				}
			}
			assert.LessOrEqual(t, admitted, 5, "%s %v", what, value)
			assert.LessOrEqual(t, g.failed(), 1, "%s %v: fallbacks", what, value)
			g.forget()
		}
	}
	r.note("%d kinds of garbage, each healed by the next request", 2*len(values))
	assert.Zero(t, g.leftLeases(t, c))
}
