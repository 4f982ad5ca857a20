package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// handshakes are the faults of a Redis behind TLS.
func handshakes() []fault {
	return []fault{{
		number: 14, name: "TLS", injection: "expired, wrong CA, stalled handshake",
		promise: usual + "; plain bytes sent: 0", short: true, run: tlsFails,
	}}
}

// tlsFails has Redis show certificates that its clients must not trust, or say nothing to who connects. Connections are cut,
// so that clients have to.
func tlsFails(t *testing.T, r *row) {
	own, other := redistest.NewAuthority(t), redistest.NewAuthority(t)
	good := own.Certificate(t, time.Hour)
	server := redistest.StartTLS(t, good)
	w := newWire(t, server)
	s := setup{url: w.url(), trust: own.Roots(), proxied: true}
	before, during := 0, 0
	fails := func(name, shows, label string, inject, heal func()) {
		r.survives(t, s, outage{
			name: name, shows: shows, reasons: []string{label, "tls", "error"},
			inject: func() {
				inject()
				w.cut()
				before, _ = w.said()
			},
			heal: func() {
				after, plain := w.said()
				during += after - before
				assert.Greater(t, after, before, "%s: handshakes are begun", name)
				assert.Zero(t, plain, "%s: plain bytes sent", name)
				heal()
			},
		})
	}
	presents := func(c *redistest.Certificate) func() { return func() { server.Present(t, c) } }
	fails("expired", "certificate has expired", "tls", presents(own.Certificate(t, -time.Hour)), presents(good))
	if long() {
		fails("wrong CA", "unknown authority", "tls", presents(other.Certificate(t, time.Hour)), presents(good))
	}
	fails("stalled", "deadline exceeded", "timeout", func() { w.stall(true) }, func() { w.stall(false) })
	_, plain := w.said()
	assert.Zero(t, plain, "plain bytes sent, ever")
	r.note("plain bytes sent: %d, beside %d TLS records while it could not be trusted or did not answer", plain, during)
}
