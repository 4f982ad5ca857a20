package memstore_test

import (
	"context"
	"math/rand/v2"
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

func TestMaxKeysHasADefault(t *testing.T) {
	for given, want := range map[int]int{0: memstore.DefaultMaxKeys, -1: memstore.DefaultMaxKeys, 1: 1} {
		s, _ := small(t, given)
		assert.Equal(t, want, s.MaxKeys())
	}
}

func TestIdleOnesGoFirst(t *testing.T) {
	const each = 6_400
	s, advance := small(t, 2*each)
	slow := perDay(t, "api", 2)
	fast := slow
	var err error
	fast.Rule, err = ratelimit.TokenBucket(ratelimit.PerSecond(1), 2).Rule()
	require.NoError(t, err)
	for i := range each {
		ask(t, s, slow, numbered("slow-", i)) // and the first of these are the oldest of all
		ask(t, s, fast, numbered("fast-", i))
	}
	advance(time.Minute)
	const others = each / 10
	for i := range others {
		ask(t, s, slow, numbered("other-", i))
	}
	assert.Equal(t, memstore.Counts{Open: 2 * each}, s.Counts())
	forgotten := 0
	for i := range each {
		if !remembers(t, s, slow, numbered("slow-", i)) {
			forgotten++
		}
	}
	assert.Less(t, forgotten, others/10, "about one in 2^8 samples has no idle one")
}

func TestCallersWhoKeepComingAreRemembered(t *testing.T) {
	const maxKeys, busy, rounds = 6_400, 64, 300
	s, _ := small(t, maxKeys)
	c := perDay(t, "api", 1_000)
	for i := range maxKeys {
		ask(t, s, c, numbered("old-", i))
	}
	for round := range rounds {
		for i := range busy {
			r, _ := ask(t, s, c, numbered("busy-", i))
			require.Equal(t, int64(1_000-1-round), r.Remaining)
			ask(t, s, c, numbered("other-", round*busy+i))
		}
	}
}

// TestRefusedAreProtectedUntilTheySpend has callers who are refused, spend again and are refused again.
func TestRefusedAreProtectedUntilTheySpend(t *testing.T) {
	s, advance := small(t, 100)
	c := perDay(t, "api", 2)
	const callers = 1_000
	all := func(admitted bool) {
		t.Helper()
		for i := range callers {
			r, _ := ask(t, s, c, numbered("", i))
			require.Equal(t, admitted, r.Admitted)
		}
	}
	for i := range callers {
		for _, admitted := range []bool{true, true, false} {
			r, _ := ask(t, s, c, numbered("", i))
			require.Equal(t, admitted, r.Admitted)
		}
	}
	assert.Equal(t, memstore.Counts{Refused: callers}, s.Counts())
	all(false)
	advance(24 * time.Hour)
	all(true)
	assert.InDelta(t, 100, s.Counts().Open, memstore.Shards)
	assert.Zero(t, s.Counts().Refused, "who spends is one of many again")
	advance(24 * time.Hour)
	s.Sweep()
	advance(24 * time.Hour)
	s.Sweep()
	assert.Zero(t, s.Counts())
}

func TestWhatRefuses(t *testing.T) {
	c := perDay(t, "api", 2)
	k := seawall.NewKey("a")
	tooMuch, peek, advisory, counted := c, c, c, c
	tooMuch.Cost = 3
	peek.Op, peek.Cost = seawall.Peek, 2
	advisory.Advisory, advisory.Cost = true, 2
	counted.CountOnly, counted.Cost = true, 2
	for name, test := range map[string]struct {
		spent   bool
		check   seawall.Check
		refused int
	}{
		"a new caller":                {false, tooMuch, 0},
		"more than will ever fit":     {true, tooMuch, 1},
		"a question":                  {true, peek, 1},
		"an advisory refusal":         {true, advisory, 1},
		"what is only counted is not": {true, counted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := small(t, 0)
			if test.spent {
				ask(t, s, c, k)
			}
			ask(t, s, test.check, k)
			assert.Equal(t, test.refused, s.Counts().Refused)
			assert.Equal(t, s.Recount(), s.Counts())
		})
	}
}

func TestWhatDoesNotCountAsRefused(t *testing.T) {
	s, advance := small(t, 0)
	c, slot, k := perDay(t, "api", 1), slotsOf(t, 1), seawall.NewKey("a")
	ask(t, s, slot, k)
	ask(t, s, slot, k)
	assert.Equal(t, memstore.Counts{Slots: 1}, s.Counts(), "slots that are held are kept anyway")
	ask(t, s, c, k)
	advance(24 * time.Hour)
	c.Cost = 2
	ask(t, s, c, k)
	assert.Equal(t, memstore.Counts{Slots: 1, Open: 1}, s.Counts(), "an idle state does not refuse")
}

func TestPlacesOfTheRefusedAreLimited(t *testing.T) {
	s, advance := small(t, 50)
	s.SetMaxRefused(100)
	c := perDay(t, "api", 1)
	drain := func(prefix string, n int) {
		for i := range n {
			ask(t, s, c, numbered(prefix, i))
			ask(t, s, c, numbered(prefix, i))
		}
	}
	drain("first-", 100)
	drain("second-", 1_000)
	assert.Equal(t, 100, s.Counts().Refused)
	assert.InDelta(t, 50, s.Counts().Open, memstore.Shards)
	for i := range 100 {
		assert.True(t, remembers(t, s, c, numbered("first-", i)))
	}
	advance(24 * time.Hour)
	drain("third-", 1_000)
	assert.LessOrEqual(t, s.Counts().Refused, 100)
	for i := range 5_000 {
		ask(t, s, c, numbered("other-", i))
	}
	kept := 0
	for i := range 1_000 {
		if remembers(t, s, c, numbered("third-", i)) {
			kept++
		}
	}
	assert.Greater(t, kept, 80, "they have the places of those who are idle, although nobody swept")
	assert.Equal(t, s.Recount(), s.Counts())
}

func TestRefundAndReset(t *testing.T) {
	s, _ := small(t, 0)
	c, k := perDay(t, "api", 1), seawall.NewKey("a")
	refund, reset := c, c
	refund.Op, reset.Op = seawall.Refund, seawall.Reset
	refund.At = 1 << 62 // just now
	ask(t, s, c, k)
	ask(t, s, reset, k)
	assert.Zero(t, s.Counts())
	ask(t, s, c, k)
	ask(t, s, c, k)
	require.Equal(t, memstore.Counts{Refused: 1}, s.Counts())
	ask(t, s, reset, k)
	ask(t, s, reset, k)
	assert.Zero(t, s.Counts())
	ask(t, s, c, k)
	ask(t, s, c, k)
	ask(t, s, refund, k)
	s.Sweep()
	assert.Zero(t, s.Counts(), "nothing is owed any more")
	ask(t, s, refund, k)
	assert.Zero(t, s.Counts())
}

// TestCountsStayRight does everything at once, at the bound.
func TestCountsStayRight(t *testing.T) {
	const maxKeys, maxRefused, workers, callers, steps = 200, 100, 8, 1_000, 3_000
	var now atomic.Int64
	s := memstore.New(memstore.Config{MaxKeys: maxKeys, Now: func() time.Time { return time.Unix(0, now.Load()) }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	s.SetMaxRefused(maxRefused)
	rule := func(q ratelimit.Quota) seawall.Rule {
		r, err := q.Rule()
		require.NoError(t, err)
		return r
	}
	checks := []seawall.Check{
		{Limit: limitOf(t, ratelimit.Name, "quick"), Rule: rule(ratelimit.TokenBucket(ratelimit.PerSecond(10), 2))},
		{Limit: limitOf(t, ratelimit.Name, "slow"), Rule: rule(ratelimit.TokenBucket(ratelimit.PerHour(1), 3))},
		{Limit: limitOf(t, ratelimit.Name, "day"), Rule: rule(ratelimit.FixedWindow(4, ratelimit.Daily()))},
		{Limit: limitOf(t, ratelimit.Name, "quick"), Rule: rule(ratelimit.FixedWindow(4, ratelimit.Daily()))},
		slotsOf(t, 2),
	}
	var all sync.WaitGroup
	for worker := range uint64(workers) {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(worker, 1))
			for range steps {
				var request []seawall.Check
				for range 1 + rnd.IntN(4) {
					c := checks[rnd.IntN(len(checks))]
					c.Key, c.Cost = numbered("", rnd.IntN(callers)), 1+rnd.Int64N(5)
					c.Advisory, c.CountOnly = rnd.IntN(4) == 0, rnd.IntN(8) == 0
					if _, slots := c.Rule.(seawall.Holder); !slots {
						c.Op = [...]seawall.Op{seawall.Spend, seawall.Spend, seawall.Spend, seawall.Peek, seawall.Refund, seawall.Reset}[rnd.IntN(6)]
					}
					request = append(request, c)
				}
				results, err := s.Apply(t.Context(), nil, request)
				if !assert.NoError(t, err) {
					return
				}
				for i, c := range request {
					if h, slots := c.Rule.(seawall.Holder); slots && results[i].Committed {
						assert.NoError(t, s.Release(t.Context(), seawall.Lease{Limit: c.Limit, Rule: h, Key: c.Key, ID: c.ID}))
					}
				}
				switch rnd.IntN(100) {
				case 0:
					s.Sweep()
				case 1:
					s.Renew()
				case 2:
					now.Add(int64(10 * time.Minute))
				}
			}
		})
	}
	all.Wait()
	counts := s.Counts()
	assert.Equal(t, s.Recount(), counts)
	assert.LessOrEqual(t, counts.Open, maxKeys+4*memstore.Shards, "a shard may have to exceed its part by one request's states")
	assert.LessOrEqual(t, counts.Refused, maxRefused)
	assert.Positive(t, counts.Open)
	now.Add(int64(48 * time.Hour))
	s.Sweep()
	assert.Zero(t, s.Counts())
	assert.Zero(t, s.Recount())
}
