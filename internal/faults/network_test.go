package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// network are the faults of what lies between an instance and Redis, played by a proxy.
func network() []fault {
	return []fault{
		{
			number: 6, name: "Brown-out", injection: "4 ± 3 ms of latency", promise: "all served; ≤ 2 changes of a breaker a minute",
			run: func(t *testing.T, r *row) {
				p := newProxy(t, redistest.Start(t))
				s := p.setup()
				out := r.survives(t, s, outage{
					inject: func() {
						p.add("latency", `{"latency": 4, "jitter": 3}`)
						began := time.Now()
						assert.NoError(t, probe(t, s.url))
						assert.Greater(t, time.Since(began), 2*time.Millisecond, "it is slow")
					},
					heal: p.clear, brief: true, reasons: []string{"timeout"},
				})
				r.note("%d changes of %d breakers", out.changes, instances)
				assert.LessOrEqual(t, out.changes, 2*instances)
			},
		},
		{
			number: 7, name: "A narrow line", injection: "nothing comes back; or 1 KB/s", promise: usual, short: true,
			run: func(t *testing.T, r *row) {
				p := newProxy(t, redistest.Start(t))
				s := p.setup()
				r.survives(t, s, outage{
					name: "nothing", inject: func() { p.add("timeout", `{"timeout": 0}`) }, heal: p.clear,
					shows: "timeout", reasons: []string{"timeout", "error"},
				})
				if long() {
					r.survives(t, s, outage{
						name: "1 KB/s", inject: func() { p.add("bandwidth", `{"rate": 1}`) }, heal: p.clear, brief: true,
						reasons: []string{"timeout", "error"},
					})
				}
			},
		},
		{
			number: 8, name: "Cut", injection: "connections reset; closed late; answers in pieces; ended in the middle of an answer",
			promise: usual + "; answers of another: 0", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				p := newProxy(t, server)
				s := p.setup()
				r.survives(t, s, outage{
					name: "mid-answer", inject: func() { p.add("limit_data", `{"bytes": 777}`) }, heal: p.clear, brief: true,
					reasons: []string{"error", "timeout", "script"},
				})
				if !long() {
					return
				}
				r.survives(t, s, outage{
					name: "reset", inject: func() { p.add("reset_peer", `{"timeout": 0}`) }, heal: p.clear,
					shows: "", reasons: []string{"error", "refused"},
				})
				r.survives(t, s, outage{
					name: "pieces", inject: func() { p.add("slicer", `{"average_size": 3, "size_variation": 2, "delay": 50}`) }, heal: p.clear, brief: true,
				})
				r.survives(t, s, outage{
					name: "closed late", losses: 1,
					inject:  func() { p.add("slow_close", `{"delay": 2000}`); server.Kill() },
					heal:    func() { server.Restart(t); p.clear() },
					reasons: []string{"timeout", "error", "refused"},
				})
			},
		},
		{
			number: 9, name: "Late handshakes", injection: "new connections, their answers later than the client waits",
			promise: usual + "; answers of another: 0",
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				p := newProxy(t, server)
				s, c := p.setup(), admin(t, server)
				r.survives(t, s, outage{
					inject: func() { p.add("latency", `{"latency": 600}`); hangUp(t, c) }, heal: p.clear,
					shows: "timeout", reasons: []string{"timeout", "error"},
				})
			},
		},
	}
}
