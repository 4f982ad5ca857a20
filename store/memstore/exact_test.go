package memstore_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestReloadsAndRefundsLoseNothing has many goroutines spend from a few states by rules that replace each other, and refund
// some of it, without a lock and with it, while the tables are made anew.
func TestReloadsAndRefundsLoseNothing(t *testing.T) {
	const callers, workers, each = 3, 8, 6_000
	const limit = int64(10_000) // of 16,000 that each caller asks for
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, quota := range map[string]ratelimit.Quota{
		"bucket": ratelimit.TokenBucket(ratelimit.PerHour(100), limit),
		"window": ratelimit.FixedWindow(limit, ratelimit.Daily()),
		"log":    ratelimit.SlidingLog(limit, time.Hour), // of more than a word
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memstore.New(memstore.Config{MaxKeys: 2_000, Now: func() time.Time {
				runtime.Gosched() // others go on between the reading of a word and its swap
				return now
			}})
			t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
			c, other, slot := perDay(t, "api", 1), perDay(t, "others", 1), slotsOf(t, 1_000_000)
			var rules [2]seawall.Rule
			for i := range rules {
				rule, err := quota.Rule()
				require.NoError(t, err)
				rules[i] = rule
			}
			var spent [callers]atomic.Int64
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for i := range each {
						who, c := i%callers, c
						c.Key, c.Rule, c.Timed = numbered("busy-", who), rules[i/1000%2], true
						checks := []seawall.Check{c}
						if i%16 == w {
							checks = append(checks, slot)
							checks[1].Key = c.Key
						}
						results, err := s.Apply(t.Context(), nil, checks)
						if !assert.NoError(t, err) {
							return
						}
						if results[0].Committed {
							spent[who].Add(1)
						}
						if results[0].Committed && i%5 == 0 {
							back := checks[0]
							back.Op = seawall.Refund
							_, err := s.Apply(t.Context(), nil, []seawall.Check{back})
							assert.NoError(t, err)
							spent[who].Add(-1)
						}
						if i%8 == 0 {
							ask(t, s, other, numbered("other-", w<<32+i))
						}
						if i%1024 == w {
							s.Sweep()
						}
					}
				})
			}
			all.Wait()
			for who := range callers {
				c := c
				c.Rule, c.Op = rules[0], seawall.Peek
				r, _ := ask(t, s, c, numbered("busy-", who))
				assert.Equal(t, limit-spent[who].Load(), r.Remaining, "of caller %d", who)
			}
			assert.Equal(t, s.Recount(), s.Counts())
		})
	}
}

// TestNoneAdmitsMore has many goroutines ask while the clock goes on and windows end, between the reading of a word and
// its swap, too: no window admits more than its limit, and a bucket no more than its burst and what has refilled.
func TestNoneAdmitsMore(t *testing.T) {
	const workers, each, limit = 8, 4_000, 50
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, quota := range map[string]ratelimit.Quota{
		"bucket": ratelimit.TokenBucket(ratelimit.PerSecond(limit), limit),
		"window": ratelimit.FixedWindow(limit, ratelimit.Every(time.Second)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var passed atomic.Int64
			s := memstore.New(memstore.Config{MaxKeys: 100_000, Now: func() time.Time {
				runtime.Gosched()
				return begin.Add(time.Duration(passed.Add(int64(300 * time.Microsecond))))
			}})
			t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
			c, other := perDay(t, "api", 1), perDay(t, "others", 1)
			var err error
			c.Rule, err = quota.Rule()
			require.NoError(t, err)
			c.Key, c.Timed = seawall.NewKey("busy"), true
			var mu sync.Mutex
			admitted := map[int64]int{} // by the second
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for i := range each {
						checks := []seawall.Check{c}
						if i%32 == w {
							checks = append(checks, other)
							checks[1].Key = c.Key
							checks[1].CountOnly = true
						}
						results, err := s.Apply(t.Context(), nil, checks)
						if !assert.NoError(t, err) {
							return
						}
						if results[0].Committed {
							mu.Lock()
							admitted[checks[0].At/int64(time.Second)]++
							mu.Unlock()
						}
						if i%512 == w {
							s.Sweep()
						}
						if i%16 == 0 {
							ask(t, s, other, numbered("other-", w<<32+i))
						}
					}
				})
			}
			all.Wait()
			seconds, sum := int(time.Duration(passed.Load())/time.Second), 0
			require.Greater(t, seconds, 5)
			for second, n := range admitted {
				sum += n
				if name == "window" {
					assert.LessOrEqual(t, n, limit, "in second %d", second-begin.Unix())
				}
			}
			assert.LessOrEqual(t, sum, limit*(seconds+2))
			assert.GreaterOrEqual(t, sum, limit*(seconds-1))
			assert.Equal(t, s.Recount(), s.Counts())
		})
	}
}
