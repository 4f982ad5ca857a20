package bench

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// kept is a quota whose state does not expire while it is weighed.
var kept = quota{20, 24 * time.Hour}

// memory weighs what callers leave on Redis.
func (b *bench) memory(t *testing.T) {
	n := b.pace.active
	callers, texts := make([]seawall.Key, n), make([]string, n)
	for i := range callers { // as the example payments knows callers by an API key: 22 characters of a hash
		sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))
		texts[i] = base64.RawURLEncoding.EncodeToString(sum[:16])
		callers[i] = seawall.NewKey("key", texts[i])
	}
	compact := &redisstore.Compact{Secret: []byte("a secret of thirty-two bytes, ok"), Letters: map[string]byte{"ratelimit:api": 'r'}}
	short, _ := weighSeawall(t, callers, compact)
	long, readable := weighSeawall(t, callers, nil)
	hash := weigh(t, n, func(server *redistest.Server, n int) {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer func() { assert.NoError(t, client.Close()) }()
		usual := redistest.UsualHash()
		for range 2 { // after one request the tokens are still a whole number, which takes less
			for i := 0; i < n; i += 500 {
				require.NoError(t, usual.Run(context.Background(), client, readable[i:min(i+500, n)]).Err())
			}
		}
	})
	peer := weigh(t, n, func(server *redistest.Server, n int) {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer func() { assert.NoError(t, client.Close()) }()
		everybody(t, n, func() ask { return newRedisRate(client, kept, texts) })
	})
	scale := 200_000 / float64(n) // a short run has fewer, and says nothing
	mb := func(bytes float64) Spread { return exactly(bytes / 1e6 * scale) }
	b.line(Line{Name: "memory", Ours: mb(short), Peer: &Other{redisRateName, mb(peer)}})
	ratio := exactly(long / hash)
	b.line(Line{Name: "memory-hash", Ours: mb(long), Peer: &Other{twoFields, mb(hash)}, Ratio: &ratio})
}

// weighSeawall weighs one bucket of every caller, and returns the names of its keys.
func weighSeawall(t *testing.T, callers []seawall.Key, compact *redisstore.Compact) (bytes float64, keys []string) {
	t.Helper()
	bytes = weigh(t, len(callers), func(server *redistest.Server, n int) {
		t.Run("fill", func(t *testing.T) { // the store and its connections end with it: they weigh, too
			r := newRemote(t, server, kept, "", compact)
			all := make([][]seawall.Check, n)
			for i := range all {
				all[i] = r.bucket(callers[i])
			}
			everybody(t, n, func() ask { return (&asking{store: r.store, plans: all}).decide })
		})
		admin := server.Client(t)
		var err error
		keys, err = admin.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		require.NoError(t, admin.Close())
		keys = slices.DeleteFunc(keys, func(k string) bool { return strings.Contains(k, "{fleet}") })
		require.Len(t, keys, n, "one key of every caller")
	})
	return bytes, keys
}

// everybody has each of n ask once, many at a time.
func everybody(t *testing.T, n int, asks func() ask) {
	t.Helper()
	const many = 64
	var all sync.WaitGroup
	for g := range many {
		all.Go(func() {
			one := asks()
			for i := g; i < n; i += many {
				if !one(uint32(i)) {
					t.Errorf("caller %d is refused its first request", i)
					return
				}
			}
		})
	}
	all.Wait()
}

// weigh returns by how much fill, with so many callers, lets a Redis of its own grow.
func weigh(t *testing.T, callers int, fill func(server *redistest.Server, callers int)) float64 {
	t.Helper()
	server := redistest.Start(t, redistest.WeighArgs()...)
	return float64(server.Weigh(t, callers, func(n int) { fill(server, n) }))
}
