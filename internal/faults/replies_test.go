package faults

import (
	"bufio"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall/internal/redistest"
)

// replies are the faults in which Redis answers that it will not.
func replies() []fault {
	return []fault{
		{
			number: 12, name: "No connection left", injection: "`maxclients 1`, connections closed",
			promise: usual + "; connections ≤ instances × pool", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s, c := setup{url: server.URL()}, admin(t, server)
				var counting sync.WaitGroup
				most := 0
				r.survives(t, s, outage{
					inject: func() {
						do(t, c, "CONFIG", "SET", "maxclients", 1)
						hangUp(t, c)
						assert.Contains(t, greeting(t, server), "max number of clients")
					},
					heal: func() {
						do(t, c, "CONFIG", "SET", "maxclients", 10000)
						counting.Go(func() {
							for end := time.Now().Add(thePace().healed); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
								most = max(most, strings.Count(c.ClientList(context.Background()).Val(), "\n"))
							}
						})
					},
					reasons: []string{"error", "busy"}, // who is hung up on seldom hears why
				})
				counting.Wait()
				r.note("%d connections of %d instances", most, instances)
				assert.LessOrEqual(t, most, 10*instances+2)
			},
		},
		{
			number: 13, name: "Not let in", injection: "`requirepass` set, and `EVAL`, `EVALSHA` forbidden, connections closed",
			promise: usual + "; label `auth`", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s, c := setup{url: server.URL()}, admin(t, server)
				r.survives(t, s, outage{
					name:   "NOPERM",
					inject: func() { do(t, c, "ACL", "SETUSER", "default", "-eval", "-evalsha") },
					heal:   func() { do(t, c, "ACL", "SETUSER", "default", "+@all") },
					shows:  "NOPERM", reasons: []string{"auth"},
				})
				r.survives(t, s, outage{
					name:   "NOAUTH",
					inject: func() { do(t, c, "CONFIG", "SET", "requirepass", "secret"); hangUp(t, c) },
					heal:   func() { do(t, c, "CONFIG", "SET", "requirepass", "") },
					shows:  "NOAUTH", reasons: []string{"auth", "error"},
				})
			},
		},
		{
			number: 15, name: "Loading", injection: "a restart that loads for seconds, `key-load-delay`", promise: usual,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t, "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
				s, c := setup{url: server.URL()}, admin(t, server)
				fill(t, c, 0, int(thePace().faulty/time.Millisecond)) // a millisecond each
				var loading sync.WaitGroup
				r.survives(t, s, outage{
					inject: func() { do(t, c, "SAVE"); loading.Go(func() { server.Restart(t) }); time.Sleep(300 * time.Millisecond) },
					heal:   loading.Wait,
					shows:  "LOADING", reasons: []string{"refused", "loading", "error"}, losses: 1,
				})
			},
		},
		{
			number: 16, name: "Out of memory", injection: "`maxmemory 1`", promise: usual + "; releases succeed meanwhile", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s, c := setup{url: server.URL()}, admin(t, server)
				r.survives(t, s, outage{
					inject: func() {
						do(t, c, "CONFIG", "SET", "maxmemory", 1)
						assert.Less(t, until(func() bool { return leases(t, c) == 0 }), soon, "leases are given back")
					},
					heal:  func() { do(t, c, "CONFIG", "SET", "maxmemory", 0) },
					shows: "OOM", reasons: []string{"oom"},
				})
			},
		},
		{
			number: 20, name: "Busy", injection: "a script without end; also one that has written and cannot be killed", promise: usual, short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t, "--busy-reply-threshold", "5")
				s, c := setup{url: server.URL()}, admin(t, server)
				endless := func(script string) func() {
					return func() { go func() { _ = c.Eval(t.Context(), script, []string{"k"}).Err() }() }
				}
				r.survives(t, s, outage{
					name: "killable", inject: endless("while true do end"),
					heal:  func() { do(t, dial(t, s.url), "SCRIPT", "KILL") },
					shows: "BUSY", reasons: []string{"busy"},
				})
				if !long() {
					return
				}
				r.survives(t, s, outage{
					name: "unkillable", inject: endless("redis.call('SET', KEYS[1], 'v') while true do end"),
					heal: func() {
						assert.ErrorContains(t, dial(t, s.url).ScriptKill(t.Context()).Err(), "UNKILLABLE")
						server.Restart(t)
					},
					shows: "BUSY", reasons: []string{"busy", "refused", "error"}, losses: 1,
				})
			},
		},
		{
			number: 21, name: "Not the master", injection: "`REPLICAOF` a dead master; stale reads forbidden; too few replicas",
			promise: usual + "; label `readonly`", short: true,
			run: func(t *testing.T, r *row) {
				server := redistest.Start(t)
				s, c := setup{url: server.URL()}, admin(t, server)
				promoted := func() {
					do(t, c, "REPLICAOF", "NO", "ONE")
					do(t, c, "CONFIG", "SET", "min-replicas-to-write", 0, "replica-serve-stale-data", "yes")
				}
				r.survives(t, s, outage{
					name: "READONLY", inject: func() { do(t, c, "REPLICAOF", "127.0.0.1", "1") }, heal: promoted,
					shows: "READONLY", reasons: []string{"readonly"},
				})
				if !long() {
					return
				}
				r.survives(t, s, outage{
					name: "MASTERDOWN",
					inject: func() {
						do(t, c, "CONFIG", "SET", "replica-serve-stale-data", "no")
						do(t, c, "REPLICAOF", "127.0.0.1", "1")
					},
					heal: promoted, shows: "MASTERDOWN", reasons: []string{"readonly"},
				})
				r.survives(t, s, outage{
					name: "NOREPLICAS", inject: func() { do(t, c, "CONFIG", "SET", "min-replicas-to-write", 1) }, heal: promoted,
					shows: "NOREPLICAS", reasons: []string{"readonly"},
				})
			},
		},
	}
}

// greeting is what the server says to who has just connected.
func greeting(t *testing.T, server *redistest.Server) string {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr())
	if !assert.NoError(t, err) {
		return ""
	}
	defer func() { _ = conn.Close() }()
	assert.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
	line, err := bufio.NewReader(conn).ReadString('\n')
	assert.NoError(t, err)
	return line
}

// hangUp closes all connections but c's.
func hangUp(t *testing.T, c *redis.Client) {
	t.Helper()
	do(t, c, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
}

// fill writes n keys of 1 KB, from the given number on.
func fill(t *testing.T, c *redis.Client, from, n int) {
	t.Helper()
	do(t, c, "EVAL", "for i = 1, ARGV[2] do redis.call('SET', 'fill:' .. ARGV[1] + i, string.rep('x', 1000)) end return 1", 0, from, n)
}
