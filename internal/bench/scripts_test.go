package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// The three layers in batches: so many callers at a time share script calls.
const (
	threeBatched = "three layers, batched"
	batching     = 32
)

// scripts is about what Redis itself says that a decision's script takes (INFO commandstats). Leases are given back between
// the decisions that are counted, not among them: the releases have a line of their own.
func (b *bench) scripts(t *testing.T) {
	server := redistest.Start(t)
	limitsOnRedis(t, server)
	r, n := newRemote(t, server, ample, "", nil), b.pace.callers
	admin, client := server.Client(t), peerClient(t, server, 0)
	threes := plans(n, r.three)
	alone := &asking{store: r.store, plans: threes, budget: budget}
	redisRate := newRedisRate(client, ample, names(n))
	var many []*asking
	for range batching {
		many = append(many, &asking{store: r.store, plans: threes, budget: budget})
	}
	var refused int
	var mu sync.Mutex
	note := func(ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if !ok {
			refused++
		}
	}
	var subjects []subject
	for _, c := range []struct {
		name   string
		decide func() // as many as there are callers
	}{
		{redisRateName, func() {
			for i := range n {
				note(redisRate(uint32(i)))
			}
		}},
		{threeLayers, func() {
			for i := range n {
				note(alone.decide(uint32(i)))
			}
		}},
		{threeBatched, func() {
			var all sync.WaitGroup
			for g, a := range many {
				all.Go(func() {
					for i := g; i < n; i += batching {
						note(a.decide(uint32(i)))
					}
				})
			}
			all.Wait()
		}},
	} {
		subjects = append(subjects, subject{c.name, func(d time.Duration) figures {
			var spent scripted
			decisions := 0
			for began := time.Now(); decisions == 0 || time.Since(began) < d; decisions += n {
				before := scriptsOf(t, admin)
				c.decide()
				after := scriptsOf(t, admin)
				spent.calls += after.calls - before.calls
				spent.us += after.us - before.us
				alone.giveBack()
				for _, a := range many {
					a.giveBack()
				}
				r.drained(t)
			}
			assert.Zero(t, refused, "%s: nobody is over a limit, and nothing fails", c.name)
			return figures{cost: spent.us / float64(decisions), "batch": float64(decisions) / spent.calls}
		}})
	}
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, subjects...)
	for _, l := range []struct{ name, who string }{{"redis-cpu-alone", threeLayers}, {"redis-cpu-batch", threeBatched}} {
		ratio := s.ratio(cost, l.who, redisRateName)
		line := Line{Name: l.name, Ours: s.of(l.who, cost), Peer: s.other(redisRateName, cost), Ratio: &ratio}
		if l.who == threeBatched {
			line.Note = fmt.Sprintf("%d callers, %s decisions a call", batching, Number(s.of(l.who, "batch").Median))
		}
		b.line(line)
	}
}

// scripted is how many scripts Redis has run, and for how long.
type scripted struct{ calls, us float64 }

// scriptsOf reads it from commandstats. There is no way to run a script that it does not count.
func scriptsOf(t testing.TB, c *redis.Client) (sum scripted) {
	t.Helper()
	all, err := c.Info(context.Background(), "commandstats").Result()
	require.NoError(t, err)
	return parseScripts(t, all)
}

func parseScripts(t testing.TB, commandstats string) (sum scripted) {
	t.Helper()
	for line := range strings.Lines(commandstats) {
		name, stats, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "cmdstat_evalsha", "cmdstat_eval", "cmdstat_fcall":
		default:
			continue
		}
		for field := range strings.SplitSeq(stats, ",") {
			key, value, _ := strings.Cut(field, "=")
			if key != "calls" && key != "usec" {
				continue
			}
			x, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err, line)
			if key == "calls" {
				sum.calls += x
			} else {
				sum.us += x
			}
		}
	}
	return sum
}

func TestParseScripts(t *testing.T) {
	t.Parallel()
	assert.Equal(t, scripted{12, 70}, parseScripts(t, "# Commandstats\r\n"+
		"cmdstat_evalsha:calls=10,usec=50,usec_per_call=5.00,rejected_calls=0,failed_calls=0\r\n"+
		"cmdstat_eval:calls=2,usec=20,usec_per_call=10.00,rejected_calls=0,failed_calls=0\r\n"+
		"cmdstat_get:calls=7,usec=3,usec_per_call=0.4,rejected_calls=0,failed_calls=0\r\n"))
}
