package split_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/split"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is what all stores of a test go by.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) store(t testing.TB) *memstore.Store {
	t.Helper()
	s := memstore.New(memstore.Config{Now: func() time.Time { return time.Unix(0, c.now.Load()) }})
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

// shards are some stores, of which each has some callers.
type shards []seawall.Store

func (s shards) of(key seawall.Key) seawall.Store {
	text := key.String()
	return s[int(text[len(text)-1])%len(s)]
}

func (s shards) apply(t testing.TB, checks ...seawall.Check) ([]seawall.Result, []seawall.Check) {
	t.Helper()
	res, err := split.Apply(t.Context(), s.of, nil, checks)
	require.NoError(t, err)
	require.Len(t, res, len(checks))
	return res, checks
}

func spend(t testing.TB, caller string, q ratelimit.Quota, cost int64) seawall.Check {
	t.Helper()
	rule, err := q.Rule()
	require.NoError(t, err)
	l, err := seawall.NewLimit(ratelimit.Name, rule.Kind(), seawall.FailLocal)
	require.NoError(t, err)
	return seawall.Check{Limit: l, Rule: rule, Key: seawall.NewKey(caller), Cost: cost}
}

func take(t testing.TB, caller string, slots int64) seawall.Check {
	t.Helper()
	rule, err := concurrency.NewSlots(slots, time.Minute)
	require.NoError(t, err)
	l, err := seawall.NewLimit(concurrency.Name, "in-flight", seawall.FailOpen)
	require.NoError(t, err)
	return seawall.Check{Limit: l, Rule: rule, Key: seawall.NewKey(caller), Cost: 1}
}

// quotas is one of each algorithm.
var quotas = []ratelimit.Quota{
	ratelimit.TokenBucket(ratelimit.PerMinute(6), 5), ratelimit.SlidingLog(5, time.Minute),
	ratelimit.SlidingCounter(5, time.Minute), ratelimit.FixedWindow(5, ratelimit.Every(time.Minute)),
}

// TestRequestsOfManyCallersAreDecidedAsByOneStore makes random requests about callers of three stores, one after the other,
// and compares with one store that has them all: what is admitted and committed, and so what is left, is the same.
func TestRequestsOfManyCallersAreDecidedAsByOneStore(t *testing.T) {
	for seed := range uint64(40) {
		rnd, now := rand.New(rand.NewPCG(seed, 1)), newClock()
		apart, one := shards{now.store(t), now.store(t), now.store(t)}, now.store(t)
		var held, heldByOne []seawall.Lease
		denied := 0
		for step := range 200 {
			var checks []seawall.Check
			for i := range 1 + rnd.IntN(5) {
				caller := string(rune('a' + i))
				c := take(t, caller, 3)
				if k := rnd.IntN(len(quotas) + 1); k < len(quotas) {
					c = spend(t, caller, quotas[k], 1+rnd.Int64N(2))
				}
				switch rnd.IntN(8) {
				case 0:
					c.Advisory = true
				case 1:
					_, c.CountOnly = c.Rule.(seawall.Holder) // see TestWhatIsOnlyCountedIsNotRefundedTooMuch
				case 2:
					c.Op = seawall.Peek
				}
				checks = append(checks, c)
			}
			want := slices.Clone(checks)
			expected, err := one.Apply(t.Context(), nil, want)
			require.NoError(t, err)
			got, asked := apart.apply(t, checks...)
			for i := range got {
				require.Equal(t, expected[i].Admitted, got[i].Admitted, "seed %d, step %d, check %d of %v", seed, step, i, checks)
				require.Equal(t, expected[i].Committed, got[i].Committed, "seed %d, step %d, check %d of %v", seed, step, i, checks)
				_, holds := want[i].Lease()
				if givenBack := holds && got[i].Admitted && !got[i].Committed; !givenBack { // it is told as it was before
					require.Equal(t, expected[i].Remaining, got[i].Remaining, "seed %d, step %d, check %d of %v", seed, step, i, checks)
				}
				if !got[i].Admitted {
					denied++
				}
				if l, ok := want[i].Lease(); ok && got[i].Committed {
					heldByOne = append(heldByOne, l)
					l, _ = asked[i].Lease()
					held = append(held, l)
				}
			}
			if rnd.IntN(3) == 0 && len(held) > 0 {
				k := rnd.IntN(len(held))
				require.NoError(t, one.Release(t.Context(), heldByOne[k]))
				require.NoError(t, apart.of(held[k].Key).Release(t.Context(), held[k]))
				held, heldByOne = slices.Delete(held, k, k+1), slices.Delete(heldByOne, k, k+1)
			}
			now.now.Add(rnd.Int64N(int64(10 * time.Second)))
		}
		require.Greater(t, denied, 20)
	}
}

// TestWhatIsOnlyCountedIsNotRefundedTooMuch where it was spent beyond a limit: how much of it was is not known.
func TestWhatIsOnlyCountedIsNotRefundedTooMuch(t *testing.T) {
	now := newClock()
	all := shards{now.store(t), now.store(t)}
	for _, q := range quotas {
		exhausted, peek := spend(t, "a", q, 1), spend(t, "b", q, 1)
		peek.Op = seawall.Peek
		all.apply(t, spend(t, "a", q, 5))
		all.apply(t, spend(t, "b", q, 3))
		for _, c := range []struct{ cost, left int64 }{{1, 2}, {7, 0}} { // the first fits, and is refunded
			counted := spend(t, "b", q, c.cost)
			counted.CountOnly = true
			all.apply(t, counted, exhausted)
			res, _ := all.apply(t, peek)
			assert.Equal(t, c.left, res[0].Remaining, "%v, cost %d", q, c.cost)
		}
	}
}

// TestARequestOfOneKeyIsOneCall with the request as it is.
func TestARequestOfOneKeyIsOneCall(t *testing.T) {
	s := &scripted{}
	checks := []seawall.Check{spend(t, "a", quotas[0], 1), take(t, "a", 3)}
	s.does = func(_ context.Context, dst []seawall.Result, got []seawall.Check) ([]seawall.Result, error) {
		assert.Same(t, &checks[0], &got[0])
		return append(dst, seawall.Result{Limit: 7}, seawall.Result{}), nil
	}
	res, err := split.Apply(t.Context(), func(seawall.Key) seawall.Store { return s }, nil, checks)
	require.NoError(t, err)
	assert.EqualValues(t, 7, res[0].Limit)
	assert.EqualValues(t, 1, s.asked.Load())
}

// scripted is a store that does as a test says.
type scripted struct {
	seawall.Store
	asked atomic.Int64
	does  func(context.Context, []seawall.Result, []seawall.Check) ([]seawall.Result, error)
}

func (s *scripted) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.asked.Add(1)
	return s.does(ctx, dst, checks)
}

var errGone = errors.New("gone")

// TestAStoreThatFailsSpoilsItsOwnChecks and no others, however it fails.
func TestAStoreThatFailsSpoilsItsOwnChecks(t *testing.T) {
	for name, does := range map[string]func(context.Context, []seawall.Result, []seawall.Check) ([]seawall.Result, error){
		"an error": func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
			return dst, errGone
		},
		"a panic": func(context.Context, []seawall.Result, []seawall.Check) ([]seawall.Result, error) { panic(errGone) },
		"too little": func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
			return dst, nil
		},
		"an error, and an answer of its own": func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
			return append(dst, seawall.Result{Admitted: true, Limit: 99}), errGone
		},
	} {
		t.Run(name, func(t *testing.T) {
			well := newClock().store(t)
			all := shards{well, &scripted{does: does}}
			for _, checks := range [][]seawall.Check{
				{spend(t, "b", quotas[0], 2), spend(t, "a", quotas[0], 1)}, // which of them is asked here does not matter
				{spend(t, "a", quotas[0], 1), spend(t, "b", quotas[0], 2)},
			} {
				res, err := split.Apply(t.Context(), all.of, nil, checks)
				require.Error(t, err)
				require.Len(t, res, 2)
				for i := range checks {
					answered := all.of(checks[i].Key) == seawall.Store(well)
					assert.Equal(t, answered, seawall.Answered(err, i))
					assert.True(t, res[i].Admitted)
					assert.Equal(t, answered, res[i].Committed, "what was answered stands")
				}
				assert.False(t, seawall.Undone(err))
			}
			left, _ := all[:1].apply(t, spend(t, "b", quotas[0], 1))
			assert.Zero(t, left[0].Remaining)
		})
	}
}

// TestWhatFailsClosedTakesTheOthersBack since its request is denied.
func TestWhatFailsClosedTakesTheOthersBack(t *testing.T) {
	well := newClock().store(t)
	all := shards{well, &scripted{does: func(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
		return dst, errGone
	}}}
	login := spend(t, "a", quotas[0], 1)
	var err error
	login.Limit, err = seawall.NewLimit(ratelimit.Name, "login", seawall.FailClosed)
	require.NoError(t, err)
	res, err := split.Apply(t.Context(), all.of, nil, []seawall.Check{spend(t, "b", quotas[0], 2), login})
	require.ErrorIs(t, err, errGone)
	assert.False(t, res[0].Committed)
	assert.EqualValues(t, 5, res[0].Remaining)
}

// TestAllStoresAreAskedAtTheSameTime and each gets the wait that there is.
func TestAllStoresAreAskedAtTheSameTime(t *testing.T) {
	meet := make(chan struct{})
	waits := func(ctx context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
		wait, ok := seawall.WaitOf(ctx)
		assert.True(t, ok)
		assert.Equal(t, time.Minute, wait)
		select {
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
			return dst, ctx.Err()
		}
		return append(dst, seawall.Result{Admitted: true}), nil
	}
	all := shards{&scripted{does: waits}, &scripted{does: waits}}
	ctx, stop := seawall.Patient(t.Context(), time.Minute)
	defer stop()
	_, err := split.Apply(ctx, all.of, nil, []seawall.Check{spend(t, "a", quotas[0], 1), spend(t, "b", quotas[0], 1)})
	require.NoError(t, err)
}
