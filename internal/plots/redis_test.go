package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// TestCommands asks a real Redis which commands a decision costs within its script, and whether the text says so.
func TestCommands(t *testing.T) {
	t.Parallel()
	m := watch(t)
	lease, err := concurrency.NewSlots(2, 0)
	require.NoError(t, err)
	rows := [][]string{{"rule", "admits", "refuses"}}
	for _, c := range []struct {
		name string
		rule seawall.Rule
	}{
		{"token bucket", ruleOf(t, ratelimit.TokenBucket(ratelimit.PerHour(1), 2))},
		{"sliding log", ruleOf(t, ratelimit.SlidingLog(2, time.Hour))},
		{"sliding counter", ruleOf(t, ratelimit.SlidingCounter(2, time.Hour))},
		{"fixed window", ruleOf(t, ratelimit.FixedWindow(2, ratelimit.Monthly(1)))},
		{"lease", lease},
	} {
		m.ask(t, c.rule, 1)
		admits, ok := m.ask(t, c.rule, 1)
		require.True(t, ok, c.name)
		refuses, ok := m.ask(t, c.rule, 1)
		require.False(t, ok, c.name)
		rows = append(rows, []string{c.name, admits, refuses})
	}
	says(t, markdown(rows))
}

// TestCommandsOfALog is about what makes the sliding log's decisions dearer.
func TestCommandsOfALog(t *testing.T) {
	t.Parallel()
	m := watch(t)
	short := ruleOf(t, ratelimit.SlidingLog(2, 50*time.Millisecond))
	purged := "`ZRANGE` `ZRANGE` `ZRANGEBYSCORE` `ZREMRANGEBYSCORE` `ZADD` `ZRANGE` `ZADD` `PEXPIRE`"
	var left string
	for range 50 { // until this machine is awake when one entry has left, and one has not
		m.ask(t, short, 1)
		time.Sleep(30 * time.Millisecond)
		m.ask(t, short, 1)
		time.Sleep(30 * time.Millisecond)
		if left, _ = m.ask(t, short, 1); left == purged {
			break
		}
		time.Sleep(60 * time.Millisecond)
	}
	assert.Equal(t, purged, left)

	long := ruleOf(t, ratelimit.SlidingLog(200, time.Hour))
	for range 200 {
		m.ask(t, long, 1)
	}
	far, ok := m.ask(t, long, 200)
	assert.False(t, ok)
	assert.Equal(t, "`ZRANGE` `ZRANGE`"+strings.Repeat(" `ZRANGE`", 4)+" `PEXPIRE`", far, "64 entries at a time")
}

// TestSizes weighs the values that the text weighs. Redis' versions differ a little.
func TestSizes(t *testing.T) {
	t.Parallel()
	m := watch(t)
	for _, c := range []struct {
		quota    ratelimit.Quota
		requests int
		bytes    float64 // with the key
		encoding string
		says     string
	}{
		{ratelimit.TokenBucket(ratelimit.PerHour(1), 2), 1, 88, "int", "which Redis keeps as an integer: 88 bytes, its key of 33 included."},
		{ratelimit.SlidingLog(1000, time.Hour), 127, 127 * 33, "listpack", "Up to 127 requests Redis keeps it compact, in about 33 bytes each"},
		{ratelimit.SlidingLog(1000, time.Hour), 1000, 119_000, "skiplist", "A log of 1000 requests is 119 kB."},
		{ratelimit.SlidingCounter(2, time.Hour), 1, 120, "embstr", "one short string: 120 bytes, its key of 33 included"},
		{ratelimit.FixedWindow(2, ratelimit.Monthly(1)), 1, 88, "int", "and a minus sign, which Redis keeps as an integer: 88 bytes"},
	} {
		rule := ruleOf(t, c.quota)
		m.rule = nil
		for range c.requests {
			m.ask(t, rule, 1)
		}
		key := fmt.Sprintf("plots:{%v}:%s", m.caller, m.limit(t).Name())
		require.Len(t, key, 33)
		bytes, err := m.client.MemoryUsage(t.Context(), key, 0).Result()
		require.NoError(t, err)
		encoding, err := m.client.ObjectEncoding(t.Context(), key).Result()
		require.NoError(t, err)
		assert.InEpsilon(t, c.bytes, bytes, 0.3, "%v, %d", c.quota, c.requests)
		assert.Equal(t, c.encoding, encoding, "%v, %d", c.quota, c.requests)
		says(t, c.says)
	}
}

func ruleOf(t *testing.T, q ratelimit.Quota) ratelimit.Rule {
	t.Helper()
	rule, err := q.Rule()
	require.NoError(t, err)
	return rule
}

// monitored is a store on a Redis that tells every command.
type monitored struct {
	client *redis.Client
	store  *redisstore.Store
	said   *bufio.Scanner
	caller seawall.Key
	rule   seawall.Rule // that was asked last
	limits int          // a new one for every rule
}

func watch(t *testing.T) *monitored {
	t.Helper()
	server := redistest.Start(t)
	m := &monitored{caller: seawall.NewKey("caller")}
	var err error
	m.client, err = redisstore.NewClient(server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.client.Close()) })
	m.store, err = redisstore.New(redisstore.Config{Client: m.client, Namespace: "plots"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.store.Close(context.Background())) })
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Write([]byte("MONITOR\r\n"))
	require.NoError(t, err)
	m.said = bufio.NewScanner(conn)
	require.True(t, m.said.Scan(), "OK")
	return m
}

// ask asks a rule, and returns the commands of the script on the rule's key.
func (m *monitored) ask(t *testing.T, rule seawall.Rule, cost int64) (commands string, admitted bool) {
	t.Helper()
	if rule != m.rule {
		m.rule = rule
		m.limits++
	}
	res, err := m.store.Apply(t.Context(), nil, []seawall.Check{{Limit: m.limit(t), Rule: rule, Key: m.caller, Cost: cost}})
	require.NoError(t, err)
	return m.heard(t), res[0].Admitted
}

func (m *monitored) limit(t *testing.T) *seawall.Limit {
	t.Helper()
	l, err := seawall.NewLimit(ratelimit.Name, fmt.Sprintf("rule-%d", m.limits), seawall.FailLocal)
	require.NoError(t, err)
	return l
}

// heard returns the commands of scripts on a limit's key that were told up to now.
func (m *monitored) heard(t *testing.T) string {
	t.Helper()
	const now = "that is all"
	require.NoError(t, m.client.Echo(t.Context(), now).Err())
	var all []string
	for m.said.Scan() { // such as: +1764456930.1 [0 lua] "GET" "plots:{…}:ratelimit:rule-1"
		if strings.Contains(m.said.Text(), now) {
			return strings.Join(all, " ")
		}
		_, call, script := strings.Cut(m.said.Text(), " lua] ")
		if words := strings.Split(call, `"`); script && len(words) > 3 && strings.Contains(words[3], ":ratelimit:") {
			all = append(all, "`"+words[1]+"`")
		}
	}
	require.NoError(t, m.said.Err(), "Redis stopped telling")
	return ""
}
