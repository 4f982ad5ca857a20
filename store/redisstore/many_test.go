package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

const tick = 200 * time.Microsecond

// TestRequestsOfACallSeeEachOther has requests of one caller in one call: as many are admitted as there is room for, and
// those that one limit refuses spend nothing of the other.
func TestRequestsOfACallSeeEachOther(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	var requests [][]seawall.Check
	for range 8 {
		requests = append(requests, []seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 20), lease(t, "a", 3, time.Minute), slot(t, 1000, 0.2)})
	}
	c.all(t, requests[:2]...) // Redis knows the script
	require.NoError(t, c.client.FlushDB(t.Context()).Err())
	results, errs, replies := c.together(t, requests, nil)
	require.Len(t, replies[0], 8*5+2, "one call; leases that are refused are asked for again")
	for i, r := range results {
		require.NoError(t, errs[i])
		assert.Equal(t, i < 3, r[0].Committed, i)
		assert.Equal(t, i < 3, r[1].Admitted, i)
		assert.Equal(t, i < 3, r[2].Committed, i)
		assert.EqualValues(t, max(2-i, 0), r[1].Remaining, i)
		assert.EqualValues(t, 20-min(i+1, 3), r[0].Remaining, i)
	}
	holds(t, c.client, leasesKey("a"), 3)
	holds(t, c.client, "test:{fleet}:fleetshed:ordinary", 3)
}

// TestAResetIsSeenByTheNextRequest has each request of a call forget what it has taken.
func TestAResetIsSeenByTheNextRequest(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	var requests [][]seawall.Check
	for range 4 {
		takes := slot(t, 10, 0.2)
		forgets := takes
		forgets.Op = seawall.Reset
		requests = append(requests, []seawall.Check{takes, forgets})
	}
	results, _ := c.all(t, requests...)
	for i, r := range results {
		assert.EqualValues(t, 7, r[0].Remaining, i)
	}
}

// TestACallForManyIsAsOneCallEach draws requests of one shape at a time, with rules, modes and costs of all sorts, and
// applies them together on one store and one by one on another.
func TestACallForManyIsAsOneCallEach(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	alone := openReal(t, redistest.Start(t))
	warm(t, alone)
	draw := rand.New(rand.NewPCG(1, 2)) // the same in each run
	rules := func(n int64) []seawall.Rule {
		var all []seawall.Rule
		for _, q := range []ratelimit.Quota{
			ratelimit.TokenBucket(ratelimit.PerDay(1), n), ratelimit.SlidingLog(n, day), ratelimit.SlidingCounter(n, 365*day),
			ratelimit.FixedWindow(n, ratelimit.Every(365*day)),
		} {
			rule, err := q.Rule()
			require.NoError(t, err)
			all = append(all, rule)
		}
		slots, err := concurrency.NewSlots(n, time.Hour)
		require.NoError(t, err)
		return append(all, slots, slots.Weighted(), slots.Queue(0, 0), slots.Queue(7, time.Second), slot(t, n, 0.25).Rule)
	}
	ofLimit := [][]seawall.Rule{rules(3), rules(3), rules(12)} // by the caller: two plans
	const rounds = 40
	scripts, requested := 0, 0
	for round := range rounds {
		shape := make([]seawall.Check, 1+draw.IntN(4))
		kinds := draw.Perm(len(ofLimit[0]))
		for i := range shape {
			kind := kinds[i]
			shape[i] = seawall.Check{Limit: limit(t, "ratelimit", fmt.Sprint("p", kind)), Advisory: draw.IntN(5) == 0, CountOnly: draw.IntN(8) == 0}
			switch _, refunds := ofLimit[0][kind].(seawall.Refunder); {
			case draw.IntN(8) == 0:
				shape[i].Op = seawall.Peek
			case draw.IntN(16) == 0 && refunds:
				shape[i].Op = seawall.Refund
			case draw.IntN(16) == 0:
				shape[i].Op = seawall.Reset
			}
		}
		requests := make([][]seawall.Check, 1+draw.IntN(20))
		for r := range requests {
			caller := draw.IntN(len(ofLimit))
			requests[r] = slices.Clone(shape)
			for i := range shape {
				ch := &requests[r][i]
				ch.Rule, ch.Key, ch.Cost = ofLimit[caller][kinds[i]], seawall.NewKey(fmt.Sprint("caller-", caller)), 1+draw.Int64N(4)
				ch.ID = uint64(1_000_000 + round*10_000 + r*100 + i)
				ch.At = time.Now().Add(-time.Minute).UnixNano()
			}
		}
		copies := make([][]seawall.Check, len(requests))
		for r := range requests {
			copies[r] = slices.Clone(requests[r])
		}
		got, n := c.all(t, requests...)
		scripts += n
		requested += len(requests)
		for r := range copies {
			want := apply(t, alone, copies[r]...)
			for i := range want {
				w, g := &want[i], &got[r][i]
				assert.InDelta(t, w.RetryAfter, g.RetryAfter, float64(soon))
				w.RetryAfter, w.NextAfter, w.ResetAfter = 0, 0, 0
				g.RetryAfter, g.NextAfter, g.ResetAfter = 0, 0, 0
			}
			require.Equal(t, want, got[r], "kinds %v round %d, request %d of %d: %+v", kinds, round, r, len(requests), copies[r])
		}
	}
	assert.Less(t, scripts, requested/2, "in %d rounds", rounds)
}

// TestOneCorruptKeySpoilsNoOtherRequest has the key of one request of a call hold what no rule writes.
func TestOneCorruptKeySpoilsNoOtherRequest(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	corrupt := []put{list, hash, text("x"), text(""), text("1e999 1e999 1e999"), text(strings.Repeat("9", 400) + " 9 9")}
	for name, z := range map[string][]redis.Z{
		"a set of strangers":  {{Score: 1, Member: "x"}, {Score: 2, Member: "y"}},
		"a log of strangers":  {{Score: -3, Member: "t"}, {Score: 5, Member: "x"}, {Score: 6, Member: "*9*9"}, {Score: 9e18, Member: "z"}},
		"a log without a sum": {{Score: -3, Member: "t"}},
		"a log of too much":   {{Score: -1e300, Member: "t"}, {Score: 5, Member: strings.Repeat("9", 400) + ":x"}},
		"a line of strangers": {{Score: -9e15, Member: "x"}, {Score: -float64(time.Now().Add(time.Second).UnixMilli()), Member: "a b c"}},
	} {
		corrupt = append(corrupt, put{name, func(c *redis.Client, key string) redis.Cmder { return c.ZAdd(context.Background(), key, z...) }})
	}
	slots, err := concurrency.NewSlots(5, time.Minute)
	require.NoError(t, err)
	rules := map[string]seawall.Rule{"lease": slots, "weighted": slots.Weighted(), "queue": slots.Queue(9, time.Second), "slot": slot(t, 5, 0).Rule}
	for name, q := range map[string]ratelimit.Quota{
		"bucket": ratelimit.TokenBucket(ratelimit.PerDay(1), 5), "log": ratelimit.SlidingLog(5, day),
		"counter": ratelimit.SlidingCounter(5, 365*day), "window": ratelimit.FixedWindow(5, ratelimit.Every(365*day)),
	} {
		rules[name], err = q.Rule()
		require.NoError(t, err)
	}
	for name, rule := range rules {
		api := limit(t, "ratelimit", "p-"+name)
		for i, v := range corrupt {
			require.NoError(t, c.client.FlushDB(t.Context()).Err())
			caller := func(k int) string { return fmt.Sprintf("%s-%d-%d", name, i, k) }
			require.NoError(t, v.to(c.client, "test:{"+seawall.NewKey(caller(1)).String()+"}:"+api.Name()).Err())
			var requests [][]seawall.Check
			for k := range 6 { // 0, 1, 2, and again
				requests = append(requests, []seawall.Check{{Limit: api, Rule: rule, Key: seawall.NewKey(caller(k % 3)), Cost: 1}})
			}
			results, _ := c.all(t, requests...)
			for _, k := range []int{0, 2, 3, 5} {
				assert.True(t, results[k][0].Committed, "%s beside %s, %d", name, v.name, k)
				assert.EqualValues(t, 4-k/3, results[k][0].Remaining, "%s beside %s, %d", name, v.name, k)
			}
		}
	}
}

// TestOnlyTheLateOneOfACallIsLate has one request of a call run behind its deadline, and one whose arguments were made for
// another time: both are asked for again, and the others are not.
func TestOnlyTheLateOneOfACallIsLate(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	rule, err := ratelimit.FixedWindow(100, ratelimit.Daily()).Rule()
	require.NoError(t, err)
	requests := make([][]seawall.Check, 8)
	for i := range requests {
		requests[i] = []seawall.Check{{Limit: limit(t, "ratelimit", "quota"), Rule: rule, Key: seawall.NewKey("a"), Cost: 1}}
	}
	requests[5][0].Rule = &skewedOnce{Rule: rule}
	known := c.ClockOffset()
	_, errs, replies := c.together(t, requests, func(i int) {
		c.SetClockOffset(known)
		if i == 2 {
			c.SetClockOffset(-time.Hour)
		}
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NotEmpty(t, replies)
	var masks []int64
	for _, reply := range replies {
		if len(reply) == 3 {
			masks = append(masks, reply[0])
			continue
		}
		for i := 0; i < len(reply)-2; i += 3 {
			masks = append(masks, reply[i])
		}
	}
	slices.Sort(masks)
	assert.Equal(t, []int64{-2, -1, 7, 7, 7, 7, 7, 7, 7, 7}, masks)
	assert.EqualValues(t, 92, peeks(t, c.Store, requests[0][0]))
}

// skewedOnce is a rule whose arguments are made for a time long ago, once.
type skewedOnce struct {
	ratelimit.Rule
	done atomic.Bool
}

func (s *skewedOnce) Args(dst []any, env seawall.Env, c *seawall.Check) []any {
	if !s.done.Swap(true) {
		env.Now -= int64(100 * day)
	}
	return s.Rule.Args(dst, env, c)
}

func TestACallIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	var requests [][]seawall.Check
	for i := range 6 {
		requests = append(requests, []seawall.Check{bucket(t, fmt.Sprint("a", i%3), ratelimit.PerDay(1), 10), of(t, fmt.Sprint("b", i%3), ratelimit.SlidingLog(10, day), 1)})
	}
	fresh := func() [][]seawall.Check {
		var copies [][]seawall.Check
		for _, r := range requests {
			copies = append(copies, slices.Clone(r))
		}
		return copies
	}
	c.all(t, fresh()...)
	require.NoError(t, c.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, errs, _ := c.together(t, fresh(), nil)
	require.NoError(t, c.client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	for _, err := range errs {
		assert.Equal(t, "oom", reasonOf(err))
	}
	assert.EqualValues(t, 8, peeks(t, c.Store, requests[0][0]), "nothing was written")

	require.NoError(t, c.client.ACLSetUser(t.Context(), "default", "-zadd").Err())
	_, errs, _ = c.together(t, fresh(), nil)
	require.NoError(t, c.client.ACLSetUser(t.Context(), "default", "+@all").Err())
	for _, err := range errs {
		require.Equal(t, "auth", reasonOf(err))
		assert.False(t, seawall.Undone(err), "the script got half-way")
	}
}

func TestPlansShareCalls(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	plans := func(n int64) (requests [][]seawall.Check) {
		for i := range int64(24) {
			requests = append(requests, []seawall.Check{bucket(t, fmt.Sprint(n, "-", i), ratelimit.PerDay(1), 10+i%n)})
		}
		return requests
	}
	for n, want := range map[int64]int{1: 1, 2: 2, 3: 3, 24: 9} { // the last: some plans have a call of their own, the others share one
		c.all(t, plans(n)...) // Redis knows the scripts
		results, scripts := c.all(t, plans(n)...)
		assert.LessOrEqual(t, scripts, want, "%d plans", n)
		for i, r := range results {
			assert.Equal(t, 10+int64(i)%n-2, r[0].Remaining, "%d plans, request %d", n, i)
		}
	}
}

// TestManyPolicies has requests that meet more policies than Lua has local variables for.
func TestManyPolicies(t *testing.T) {
	t.Parallel()
	c := openCrowd(t)
	request := func(n int) (checks []seawall.Check) {
		for i := range n {
			check := bucket(t, "a", ratelimit.PerDay(1), 10)
			if i%3 == 2 {
				check = of(t, "a", ratelimit.SlidingCounter(10, 365*day), 1)
			}
			check.Limit = limit(t, "ratelimit", fmt.Sprint("p", i))
			checks = append(checks, check)
		}
		return checks
	}
	for _, n := range []int{1, 10, 20, 30, 50} {
		require.NoError(t, c.client.FlushDB(t.Context()).Err())
		results, _ := c.all(t, request(n), request(n), request(n))
		for i, r := range results {
			require.Len(t, r, n)
			for k := range r {
				require.EqualValues(t, 9-i, r[k].Remaining, "%d policies, request %d, policy %d", n, i, k)
			}
		}
	}
	_, err := c.Apply(short(t, soon), nil, request(51))
	require.ErrorContains(t, err, "51 checks; want at most 50")
}

// TestCommandsOfRequests counts what Redis executes: one script for a request, however many layers it has, few for many
// that wait behind a Redis that stands still, and few for what is given back.
func TestCommandsOfRequests(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := openPatient(t, server)
	warm(t, s)
	three := func(caller int) []seawall.Check {
		name := fmt.Sprint("caller-", caller)
		return []seawall.Check{bucket(t, name, ratelimit.PerSecond(1000), 1000), lease(t, name, 100, time.Minute), slot(t, 100_000, 0.2)}
	}
	apply(t, s, three(0)...) // Redis knows the script
	const heartbeats = 8     // more than there are in the time that this takes
	before := calls(t, server)
	for i := range 50 {
		apply(t, s, three(i)...)
	}
	alone := calls(t, server) - before
	assert.GreaterOrEqual(t, alone, int64(50))
	assert.LessOrEqual(t, alone, int64(50+heartbeats))

	const n = 1000
	var all, queued sync.WaitGroup
	leases := make(chan seawall.Lease, 2*n)
	before = calls(t, server)
	server.Stop()
	for i := range n {
		queued.Add(1)
		checks := three(i)
		ctx := short(t, soon)
		all.Go(func() {
			queued.Done()
			_, err := s.Apply(ctx, nil, checks)
			assert.NoError(t, err)
			for _, check := range checks[1:] {
				leases <- leaseOf(check)
			}
		})
	}
	queued.Wait()
	waiting := 0
	assert.Eventually(t, func() bool { // all that no worker has taken
		last := waiting
		waiting = s.Waiting()
		return waiting == last && waiting >= n-redisstore.Workers*redisstore.MaxRequests
	}, 5*time.Second, 50*time.Millisecond)
	server.Cont()
	all.Wait()
	together := calls(t, server) - before
	assert.LessOrEqual(t, together, int64(n/redisstore.MaxRequests+1+2*redisstore.Workers+heartbeats), "%d requests", n)

	before = calls(t, server)
	close(leases)
	for l := range leases {
		require.NoError(t, s.Release(t.Context(), l))
	}
	holds(t, connect(t, server), "test:{fleet}:fleetshed:ordinary", 51)
	assert.LessOrEqual(t, calls(t, server)-before, int64(2*n/16+heartbeats))
}
