//go:build unix

package redistest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Weigh returns by how many bytes fill, with n callers, lets the server's memory grow, which is emptied before. Nobody else
// may use it, and connections weigh, too: fill closes those that it opens. fill is called with a few callers first, since
// Redis begins a statistic of some 20 kB with the first call of a command. The slow log, which weighs as well, should be
// off: see WeighArgs.
func (s *Server) Weigh(t testing.TB, n int, fill func(n int)) (grown int64) {
	t.Helper()
	admin := s.Client(t)
	defer func() { _ = admin.Close() }()
	for _, callers := range []int{min(100, n), n} {
		if err := admin.FlushAll(t.Context()).Err(); err != nil {
			t.Fatalf("redistest: FLUSHALL: %v", err)
		}
		before := used(t, admin)
		fill(callers)
		// To have looked at every key ends the growing of Redis' tables, which goes on with every look.
		if err := admin.Eval(t.Context(), "return #redis.call('KEYS', '*')", nil).Err(); err != nil {
			t.Fatalf("redistest: KEYS: %v", err)
		}
		grown = used(t, admin) - before
	}
	return grown
}

// WeighArgs are arguments of a server that is to be weighed.
func WeighArgs() []string { return []string{"--slowlog-log-slower-than", "-1"} }

// used returns the bytes that Redis uses once it has no connection but this one.
func used(t testing.TB, admin *redis.Client) int64 {
	t.Helper()
	for end := time.Now().Add(startTimeout); Info(t, admin, "clients", "connected_clients") != 1; time.Sleep(time.Millisecond) { // until Redis has seen them go
		if time.Now().After(end) {
			t.Fatalf("redistest: somebody else is connected; want nobody, or what is weighed is theirs, too")
		}
	}
	return int64(Info(t, admin, "memory", "used_memory"))
}

// Info reads a number of a section of INFO.
func Info(t testing.TB, c *redis.Client, section, field string) float64 {
	t.Helper()
	all, err := c.InfoMap(t.Context(), section).Result()
	if err != nil {
		t.Fatalf("redistest: INFO %s: %v", section, err)
	}
	for _, fields := range all {
		if text, ok := fields[field]; ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				t.Fatalf("redistest: INFO %s: %s is %q; want a number", section, field, text)
			}
			return n
		}
	}
	t.Fatalf("redistest: INFO %s has no %s", section, field)
	return 0
}

// UsualHash is the usual script of a token bucket of 20, for many callers, to weigh others beside: a hash of the tokens left
// and of when that was. It returns how many callers there are.
func UsualHash() *redis.Script {
	return redis.NewScript(`
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
for i = 1, #KEYS do
  local seen = redis.call('HMGET', KEYS[i], 'tokens', 'ts')
  local tokens = 20
  if seen[1] then tokens = math.min(20, seen[1] + (now - seen[2]) * 0.0001) end
  redis.call('HSET', KEYS[i], 'tokens', tokens - 1, 'ts', now)
  redis.call('EXPIRE', KEYS[i], 86400)
end
return #KEYS`)
}
