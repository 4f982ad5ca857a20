package bench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/httprate"
	echomw "github.com/labstack/echo/v4/middleware"
	golimiter "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/throttled/throttled/v2"
	throttledmem "github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ululemem "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// quota is what a key may do: so many at once, and as many again in a period.
type quota struct {
	limit int64
	per   time.Duration
}

// Quotas of what is timed, which nobody exhausts, and of what shows that a limiter limits.
var (
	inexhaustible = quota{1_000_000, time.Second}
	five          = quota{5, time.Hour}
)

// ask asks a limiter about one request of the i-th key, and tells whether it is admitted. It belongs to one goroutine.
type ask func(i uint32) bool

// inMemory is a limiter that decides in process.
type inMemory struct {
	name string
	// build makes it for the keys, and returns what makes an ask for a goroutine. It is closed when the test ends.
	build func(t testing.TB, q quota, keys []string) func() ask
}

// ours is Seawall's name in figures.
const ours = "Seawall"

// inMemories are all of them, Seawall first.
func inMemories() []inMemory {
	return []inMemory{
		{ours, buildMemstore},
		{sethvargo, buildSethvargo},
		{"x/time/rate, in a sync.Map", buildXTime},
		{"ulule/limiter", buildUluleMemory},
		{"throttled", buildThrottledMemory},
		{"Echo's memory store", buildEchoStore},
		{"go-chi/httprate", buildHTTPRate},
	}
}

func buildMemstore(t testing.TB, q quota, keys []string) func() ask {
	s := memstore.New(memstore.Config{MaxKeys: 2 * len(keys)})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: q.bucket()}}})
	require.NoError(t, err)
	check := l.Plan(nil, &seawall.Request{Key: seawall.NewKey("caller")})
	require.Len(t, check, 1)
	callers := make([]seawall.Key, len(keys))
	for i, k := range keys {
		callers[i] = seawall.NewKey(k)
	}
	return func() ask {
		// Both are used again: of a check of a rate nothing but the key differs between callers.
		checks, results := []seawall.Check{check[0]}, make([]seawall.Result, 0, 1)
		ctx := context.Background()
		return func(i uint32) bool {
			checks[0].Key = callers[i]
			results, err := s.Apply(ctx, results[:0], checks)
			return err == nil && results[0].Admitted
		}
	}
}

func (q quota) bucket() ratelimit.Quota {
	return ratelimit.TokenBucket(ratelimit.Rate{Count: q.limit, Per: q.per}, q.limit)
}

func rateOf(q quota) rate.Limit { return rate.Every(q.per / time.Duration(q.limit)) }

func buildSethvargo(t testing.TB, q quota, keys []string) func() ask {
	var s golimiter.Store
	s, err := memorystore.New(&memorystore.Config{Tokens: uint64(q.limit), Interval: q.per, InitialAlloc: len(keys)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return func() ask {
		ctx := context.Background()
		return func(i uint32) bool {
			_, _, _, ok, err := s.Take(ctx, keys[i])
			return err == nil && ok
		}
	}
}

// buildXTime has what people write around it: a limiter for every key.
func buildXTime(_ testing.TB, q quota, keys []string) func() ask {
	var limiters sync.Map
	return func() ask {
		return func(i uint32) bool {
			l, ok := limiters.Load(keys[i])
			if !ok {
				l, _ = limiters.LoadOrStore(keys[i], rate.NewLimiter(rateOf(q), int(q.limit)))
			}
			return l.(*rate.Limiter).Allow()
		}
	}
}

func buildUluleMemory(_ testing.TB, q quota, keys []string) func() ask {
	l := limiter.New(ululemem.NewStore(), limiter.Rate{Period: q.per, Limit: q.limit})
	return func() ask {
		ctx := context.Background()
		return func(i uint32) bool {
			got, err := l.Get(ctx, keys[i])
			return err == nil && !got.Reached
		}
	}
}

func buildThrottledMemory(t testing.TB, q quota, keys []string) func() ask {
	s, err := throttledmem.NewCtx(2 * len(keys))
	require.NoError(t, err)
	l, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(q.limit), q.per), MaxBurst: int(q.limit) - 1,
	})
	require.NoError(t, err)
	return func() ask {
		ctx := context.Background()
		return func(i uint32) bool {
			limited, _, err := l.RateLimitCtx(ctx, keys[i], 1)
			return err == nil && !limited
		}
	}
}

func buildEchoStore(_ testing.TB, q quota, keys []string) func() ask {
	s := echomw.NewRateLimiterMemoryStoreWithConfig(echomw.RateLimiterMemoryStoreConfig{
		Rate: rateOf(q), Burst: int(q.limit), ExpiresIn: time.Hour,
	})
	return func() ask {
		return func(i uint32) bool {
			ok, err := s.Allow(keys[i])
			return err == nil && ok
		}
	}
}

// buildHTTPRate asks as its middleware does, which sets the headers of the answer on the way.
func buildHTTPRate(_ testing.TB, q quota, keys []string) func() ask {
	l := httprate.NewRateLimiter(int(q.limit), q.per)
	return func() ask {
		w := &sink{header: http.Header{}}
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		return func(i uint32) bool { return !l.OnLimit(w, r, keys[i]) }
	}
}

// sink is a response that keeps its status and headers, and nothing else.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }
