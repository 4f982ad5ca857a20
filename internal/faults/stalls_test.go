package faults

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// stalls are the faults in which Redis is there and does not answer, or not there.
func stalls() []fault {
	return []fault{
		{
			number: 1, name: "Frozen", injection: "`kill -STOP`, then `-CONT`", promise: usual, short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s := setup{url: server.URL()}
				o := outage{inject: server.Stop, heal: server.Cont, shows: "timeout", reasons: []string{"timeout"}}
				r.survives(t, s, o)
				r.overHTTP(t, server, o)
			},
		},
		{
			number: 2, name: "Killed", injection: "`kill -9`, then a start", promise: usual, short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s := setup{url: server.URL()}
				o := outage{
					inject: server.Kill, heal: func() { server.Restart(t) }, shows: "refused", losses: 1,
					reasons: []string{"refused", "error"},
				}
				r.survives(t, s, o)
				if long() {
					r.overHTTP(t, server, o)
				}
			},
		},
		{
			number: 4, name: "Paused", injection: "`CLIENT PAUSE` `ALL` and `WRITE`, which lets reads pass", promise: usual, short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s := setup{url: server.URL()}
				for _, mode := range []string{"WRITE", "ALL"} {
					r.survives(t, s, outage{
						name: mode,
						inject: func() {
							do(t, admin(t, server), "CLIENT", "PAUSE", thePace().faulty.Milliseconds(), mode)
							if mode == "WRITE" {
								assert.NoError(t, dial(t, s.url).Exists(context.Background(), "any").Err(), "reads pass")
							}
						},
						heal:  func() {}, // it ends by itself
						shows: "timeout", reasons: []string{"timeout"},
					})
				}
			},
		},
		{
			number: 5, name: "Asleep", injection: "`DEBUG SLEEP`", promise: usual + "; one opening of the breaker at most",
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t, "--enable-debug-command", "local")
				s := setup{url: server.URL()}
				c := admin(t, server)
				var sleep sync.WaitGroup
				out := r.survives(t, s, outage{
					inject: func() { sleep.Go(func() { do(t, c, "DEBUG", "SLEEP", thePace().faulty.Seconds()) }) },
					heal:   sleep.Wait,
					shows:  "timeout", reasons: []string{"timeout"},
				})
				assert.LessOrEqual(t, out.changes, 2*instances, "changes of breakers")
				r.note("%d changes of %d breakers", out.changes, instances)
			},
		},
	}
}
