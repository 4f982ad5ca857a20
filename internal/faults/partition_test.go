package faults

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// partitions are the faults of a network that loses everything, and tells nobody.
func partitions() []fault {
	return []fault{{
		number: 10, name: "Partition", injection: "the link to a network namespace down: no packet passes, either way, and nobody is told",
		promise: usual, short: true,
		run: func(t *testing.T, r *row) {
			n, err := newNamespace(t)
			if err != nil {
				r.notHere(t, err)
			}
			addr := relay(t, n, redistest.Start(t))
			s := setup{url: "redis://" + addr, proxied: true}
			r.survives(t, s, outage{
				inject: func() { assert.NoError(t, n.set("down")) },
				heal: func() { // for up to a second Linux has not noticed that the link is up
					assert.NoError(t, n.set("up"))
					assert.Less(t, until(func() bool { return connects(addr) }), soon)
				},
				shows: "timeout", reasons: []string{"timeout", "error"},
			})
		},
	}}
}

// connects tells whether a connection can be made at once.
func connects(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, 20*time.Millisecond)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// relay has connections to an address in the namespace lead to Redis, and returns the address. Both ends of a
// connection through the link are TCP's own.
func relay(t *testing.T, n *namespace, server *redistest.Server) string {
	t.Helper()
	listener, err := n.listen()
	require.NoError(t, err)
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	keep := func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, c)
	}
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			keep(client)
			redis, err := net.Dial("tcp", server.Addr())
			if err != nil {
				_ = client.Close()
				continue
			}
			keep(redis)
			for _, way := range [][2]net.Conn{{client, redis}, {redis, client}} {
				all.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = way[0].Close(), way[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return listener.Addr().String()
}
