package faults

import (
	"bufio"
	"io"
	"net"
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

// fleets are the faults that concern many instances.
func fleets() []fault {
	return []fault{
		{
			number: 46, name: "A hot caller", injection: "2000 requests a second of one caller who may make one",
			promise: "Redis is asked for what is admitted, and once a second by each instance", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				g := newRig(t, setup{url: server.URL(), api: ratelimit.TokenBucket(ratelimit.PerMinute(60), 5)})
				g.ready(t)
				server.ResetStat(t)
				rec := openloop.Run(t.Context(), openloop.Load{Rate: 2000, For: thePace().faulty, Workers: 50}, func(i int) {
					g.spend(g.instances[i%2], g.callers[0], 1)
				})
				asked := server.CommandCalls(t, "evalsha")
				r.note("%d requests, %d scripts", len(rec.Samples), asked)
				// Admitted requests also give back; heartbeats, and a few who ask before they know.
				assert.LessOrEqual(t, asked, int64(100+10*time.Since(rec.Began).Seconds()))
			},
		},
		{
			number: 55, name: "Ten instances", injection: "none; one caller, evenly spread, ten times its limit",
			promise: "admitted ≤ 1.000 × the limit, ≥ 0.99", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				g := newRig(t, setup{url: server.URL(), instances: 10, api: ratelimit.TokenBucket(ratelimit.PerSecond(100), 100)})
				g.ready(t)
				var admitted atomic.Int64
				rec := openloop.Run(t.Context(), openloop.Load{Rate: 1000, For: thePace().faulty}, func(i int) {
					if c := g.spend(g.instances[i%10], g.callers[0], 1); !c.denied && !c.fallback {
						admitted.Add(1)
					}
				})
				limit := 100 + 100*time.Since(rec.Began).Seconds()
				ratio := float64(admitted.Load()) / limit
				r.note("%.4f", ratio)
				assert.LessOrEqual(t, ratio, 1.0)
				if long() {
					assert.GreaterOrEqual(t, ratio, 0.99)
				}
			},
		},
		{
			number: 56, name: "Ten instances without Redis", injection: "`kill -9` for a minute; one caller, evenly spread, three times its limit",
			promise: "the fleet admits ≤ 1.2 × the limit", short: true,
			run: withoutRedis,
		},
		{
			number: 57, name: "They come back together", injection: "10 instances, Redis read-only for seconds, under load",
			promise: "a probe per instance and interval, at different times", run: herd,
		},
	}
}

// withoutRedis has ten instances decide alone for a minute.
func withoutRedis(t *testing.T, r *row) {
	const rate, burst = 100, 100
	server := redistest.Start(t)
	g := newRig(t, setup{url: server.URL(), instances: 10, api: ratelimit.TokenBucket(ratelimit.PerSecond(rate), burst)})
	g.ready(t)
	took := 3 * time.Second
	if long() {
		took = time.Minute
	}
	load := func(d time.Duration) (admitted int64) {
		var n atomic.Int64
		openloop.Run(t.Context(), openloop.Load{Rate: 3 * rate, For: d}, func(i int) {
			if !g.spend(g.instances[i%10], g.callers[0], 1).denied {
				n.Add(1)
			}
		})
		return n.Load()
	}
	load(time.Second)
	server.Kill()
	shows(t, g.url, "refused")
	began := time.Now()
	n := load(took)
	limit := burst + rate*time.Since(began).Seconds()
	r.fleetRatio = float64(n) / limit
	r.note("%d admitted in %s, %.3f × the limit", n, text(took), r.fleetRatio)
	assert.LessOrEqual(t, r.fleetRatio, 1.2)
	assert.GreaterOrEqual(t, r.fleetRatio, 0.5, "they do not starve each other")
	server.Restart(t)
	g.shared(t)
	r.settled(t, g)
}

// herd looks at what a Redis that refuses to write is asked while all breakers are open.
func herd(t *testing.T, r *row) {
	server := redistest.Start(t)
	g, c := newRig(t, setup{url: server.URL(), instances: 10}), admin(t, server)
	g.ready(t)
	do(t, c, "REPLICAOF", "127.0.0.1", "1")
	shows(t, g.url, "READONLY")
	const seconds = 4
	var asked *asked
	openloop.Run(t.Context(), openloop.Load{Rate: 500, For: (3 + seconds) * time.Second}, func(i int) {
		if i == 3*500 {
			for _, in := range g.instances {
				assert.True(t, in.failover.Open(), "all breakers are open after 3 s")
			}
			asked = listen(t, server)
		}
		g.request(i)
	})
	probes, others := asked.stop()
	r.note("%.1f probes a second and instance, at most %d within 20 ms; %.1f other scripts (heartbeats, what is given back)",
		float64(len(probes))/seconds/10, most(probes, 20*time.Millisecond), float64(others)/seconds/10)
	assert.NotEmpty(t, probes)
	assert.LessOrEqual(t, len(probes), 4*seconds*10, "one every 0.25 s at most")
	assert.LessOrEqual(t, most(probes, 20*time.Millisecond), 5, "they do not come together")
	do(t, c, "REPLICAOF", "NO", "ONE")
	g.shared(t)
	r.settled(t, g)
}

// asked is what Redis says that it is asked, from a time on.
type asked struct {
	conn   net.Conn
	ended  chan struct{}
	probes []time.Duration // when, by Redis' clock
	others int             // scripts
}

func listen(t *testing.T, server *redistest.Server) *asked {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "MONITOR\r\n")
	require.NoError(t, err)
	a := &asked{conn: conn, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			at, command, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "+"), " ")
			seconds, err := strconv.ParseFloat(at, 64)
			switch {
			case err != nil || !strings.Contains(command, `"evalsha"`):
			case strings.Contains(command, ":probe"):
				a.probes = append(a.probes, time.Duration(seconds*float64(time.Second)))
			default:
				a.others++
			}
		}
	}()
	return a
}

func (a *asked) stop() (probes []time.Duration, others int) {
	_ = a.conn.Close()
	<-a.ended
	return a.probes, a.others
}

// most is how many of the times, in order, lie within a window.
func most(times []time.Duration, window time.Duration) (n int) {
	from := 0
	for i, at := range times {
		for at-times[from] > window {
			from++
		}
		n = max(n, i-from+1)
	}
	return n
}
