package redisstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// TestMemory has an eighth of the callers of BenchmarkMemory, so that Redis' tables, which grow by powers of
// two, are as full.
const testCallers, benchCallers = 25_000, 200_000

const day = 24 * time.Hour

// stored are the rules whose state is weighed.
func stored() []storedRule {
	return []storedRule{
		{name: "token bucket", quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 20), requests: 1, compact: 120, ofHash: 0.75},
		{name: "sliding log", quota: ratelimit.SlidingLog(20, day), requests: 3},
		{name: "sliding counter", quota: ratelimit.SlidingCounter(20, day), requests: 1},
		{name: "fixed window", quota: ratelimit.FixedWindow(20, ratelimit.Every(day).From(time.Now().Truncate(time.Second))), requests: 1},
	}
}

// storedRule is a quota, none of whose state expires while it is weighed.
type storedRule struct {
	name     string
	quota    ratelimit.Quota
	requests int     // that every caller makes, at most 20
	compact  float64 // the most bytes of a caller with compact names; zero is as may be
	ofHash   float64 // the most of what usualHash takes under the same readable names; zero is as may be
}

// countKeys counts the callers' keys that expire.
var countKeys = redis.NewScript(`
local n = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  if not string.find(key, '{fleet}', 1, true) and redis.call('PTTL', key) > 0 then n = n + 1 end
end
return n`)

func TestMemory(t *testing.T) { // not parallel: it is all work, and others wait for milliseconds
	scale := newScale(t, testCallers)
	hash := scale.hashes(t, 2) // after one request the tokens are still a whole number, which takes less
	t.Logf("usual hash: %.1f bytes a caller", hash)
	for _, r := range stored() {
		short := scale.states(t, r, compact())
		t.Logf("%s: %.1f bytes a caller with compact names", r.name, short)
		if r.compact > 0 {
			assert.LessOrEqual(t, short, r.compact, r.name)
		}
		if r.ofHash > 0 {
			readable := scale.states(t, r, nil)
			t.Logf("%s: %.1f bytes a caller with readable names, %.2f of the usual hash", r.name, readable, readable/hash)
			assert.LessOrEqual(t, readable/hash, r.ofHash, r.name)
		}
	}
}

// BenchmarkMemory is meant for -benchtime=1x.
func BenchmarkMemory(b *testing.B) {
	weigh := func(name string, f func(b *testing.B, s *scale) float64) {
		b.Run(name, func(b *testing.B) {
			s := newScale(b, benchCallers)
			for range b.N {
				b.ReportMetric(f(b, s), "B/caller")
			}
		})
	}
	for _, requests := range []int{1, 2} {
		weigh(fmt.Sprintf("usual hash/%d", requests), func(b *testing.B, s *scale) float64 { return s.hashes(b, requests) })
	}
	for _, r := range stored() {
		weigh(r.name+"/readable", func(b *testing.B, s *scale) float64 { return s.states(b, r, nil) })
		weigh(r.name+"/compact", func(b *testing.B, s *scale) float64 { return s.states(b, r, compact()) })
	}
}

// scale weighs what callers leave on a Redis of its own.
type scale struct {
	server *redistest.Server
	api    *seawall.Limit
	keys   []seawall.Key
}

func newScale(tb testing.TB, callers int) *scale {
	tb.Helper()
	s := &scale{server: redistest.Start(tb, redistest.WeighArgs()...), api: limit(tb, ratelimit.Name, "api")}
	for i := range callers {
		s.keys = append(s.keys, apiKey(i))
	}
	return s
}

// apiKey is the key of a caller that the example payments knows by an API key: 22 characters of a hash.
func apiKey(i int) seawall.Key {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))
	return seawall.NewKey("key", base64.RawURLEncoding.EncodeToString(sum[:16]))
}

// states weighs a rule's states, in bytes a caller.
func (s *scale) states(tb testing.TB, r storedRule, compact *redisstore.Compact) float64 {
	tb.Helper()
	rule, err := r.quota.Rule()
	require.NoError(tb, err)
	return s.weigh(tb, func(callers []seawall.Key) {
		client := patient(tb, s.server.URL())
		store, err := redisstore.New(redisstore.Config{Client: client, Namespace: "payments", Compact: compact})
		require.NoError(tb, err)
		for range r.requests {
			inBatches(callers, 10, func(keys []seawall.Key) {
				if tb.Failed() {
					return
				}
				checks := make([]seawall.Check, len(keys))
				for i, k := range keys {
					checks[i] = seawall.Check{Limit: s.api, Rule: rule, Key: k, Cost: 1}
				}
				results, err := store.Apply(context.Background(), nil, checks)
				assert.NoError(tb, err)
				for _, res := range results {
					assert.True(tb, res.Committed)
				}
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		require.NoError(tb, store.Close(ctx))
		require.NoError(tb, client.Close())
	})
}

// hashes weighs usual hashes under the store's readable names, in bytes a caller.
func (s *scale) hashes(tb testing.TB, requests int) float64 {
	tb.Helper()
	name, usual := names(tb, "payments", nil), redistest.UsualHash()
	return s.weigh(tb, func(callers []seawall.Key) {
		client := patient(tb, s.server.URL())
		for range requests {
			inBatches(callers, 500, func(keys []seawall.Key) {
				var stored []string
				for _, k := range keys {
					stored = append(stored, name(k, s.api.Layer(), s.api.Policy()))
				}
				n, err := usual.Run(context.Background(), client, stored).Int()
				assert.NoError(tb, err)
				assert.Equal(tb, len(stored), n)
			})
		}
		require.NoError(tb, client.Close())
	})
}

// weigh returns by how many bytes a caller fill lets an empty Redis grow. Every caller leaves one key, which expires.
func (s *scale) weigh(tb testing.TB, fill func(callers []seawall.Key)) float64 {
	tb.Helper()
	grown := s.server.Weigh(tb, len(s.keys), func(callers int) {
		fill(s.keys[:callers])
		client := patient(tb, s.server.URL())
		n, err := countKeys.Run(context.Background(), client, nil).Int()
		require.NoError(tb, err)
		require.Equal(tb, callers, n)
		require.NoError(tb, client.Close())
	})
	return float64(grown) / float64(len(s.keys))
}

// inBatches calls f with all keys, so many at a time, from as many goroutines as keep Redis busy.
func inBatches(keys []seawall.Key, size int, f func([]seawall.Key)) {
	batches := make(chan []seawall.Key)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for batch := range batches {
				f(batch)
			}
		})
	}
	for batch := range slices.Chunk(keys, size) {
		batches <- batch
	}
	close(batches)
	all.Wait()
}
