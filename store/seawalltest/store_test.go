package seawalltest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/store/seawalltest"
)

func limit(t testing.TB, layer, policy string) *seawall.Limit {
	t.Helper()
	l, err := seawall.NewLimit(layer, policy, seawall.FailLocal)
	require.NoError(t, err)
	return l
}

// rate returns a check that takes no lease; the fake never looks at its rule.
func rate(t testing.TB, policy string) seawall.Check {
	return seawall.Check{Limit: limit(t, "ratelimit", policy), Key: seawall.NewKey("alice"), Cost: 1}
}

// slot returns a check that takes a lease.
func slot(t testing.TB) seawall.Check {
	t.Helper()
	rule, err := concurrency.NewSlots(2, 0)
	require.NoError(t, err)
	return seawall.Check{Limit: limit(t, "concurrency", "in-flight"), Rule: rule, Key: seawall.NewKey("alice"), Cost: 1}
}

func leaseOf(c seawall.Check) seawall.Lease {
	return seawall.Lease{Limit: c.Limit, Rule: c.Rule.(seawall.Holder), Key: c.Key, Cost: c.Cost, ID: c.ID}
}

// apply applies checks, which get their ids, and returns the results.
func apply(t *testing.T, s *seawalltest.Store, checks ...seawall.Check) []seawall.Result {
	t.Helper()
	results, err := s.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	require.Len(t, results, len(checks))
	return results
}

func TestTheZeroStoreAdmitsEverything(t *testing.T) {
	var s seawalltest.Store
	assert.Equal(t, []seawall.Result{{Admitted: true, Committed: true}, {Admitted: true, Committed: true}},
		apply(t, &s, rate(t, "api"), slot(t)))
	assert.Empty(t, apply(t, &s))
}

func TestResultsAreAppended(t *testing.T) {
	var s seawalltest.Store
	before := make([]seawall.Result, 1, 4)
	before[0].Limit = 7
	results, err := s.Apply(t.Context(), before, []seawall.Check{rate(t, "api")})
	require.NoError(t, err)
	assert.Equal(t, []seawall.Result{{Limit: 7}, {Admitted: true, Committed: true}}, results)
	s.Fail(assert.AnError)
	results, err = s.Apply(t.Context(), before, []seawall.Check{rate(t, "api")})
	require.ErrorIs(t, err, assert.AnError)
	assert.Equal(t, before, results, "an error adds nothing")
}

func TestAnswersByLayerAndPolicy(t *testing.T) {
	var s seawalltest.Store
	s.Deny("ratelimit", 3*time.Second)
	s.Answer("ratelimit:login", seawall.Result{Admitted: true, Limit: 5, Remaining: 4, ResetAfter: time.Minute})
	alone := func(c seawall.Check) seawall.Result { return apply(t, &s, c)[0] }
	assert.Equal(t, seawall.Result{RetryAfter: 3 * time.Second}, alone(rate(t, "api")))
	assert.Equal(t, seawall.Result{Admitted: true, Committed: true, Limit: 5, Remaining: 4, ResetAfter: time.Minute},
		alone(rate(t, "login")), "a policy's own answer comes first")
	assert.True(t, alone(slot(t)).Admitted, "another layer")
	s.Answer("ratelimit", seawall.Result{Admitted: true})
	assert.True(t, alone(rate(t, "api")).Admitted, "the last word counts")
	s.Answer("ratelimit", seawall.Result{Committed: true, Last: true})
	assert.Equal(t, seawall.Result{}, alone(rate(t, "api")), "the script does not say what commits")
	s.Answer("ratelimit", seawall.Result{Admitted: true, Committed: true, Last: true})
	peek := rate(t, "api")
	peek.Op = seawall.Peek
	assert.Equal(t, seawall.Result{Admitted: true}, alone(peek))
}

func TestIDs(t *testing.T) {
	var s seawalltest.Store
	own := slot(t)
	own.ID = 2
	seen := map[uint64]bool{}
	for range 3 {
		checks := []seawall.Check{slot(t), own, slot(t), rate(t, "api")}
		_, err := s.Apply(t.Context(), nil, checks)
		require.NoError(t, err)
		assert.Equal(t, uint64(2), checks[1].ID, "an id that is set stays")
		for _, i := range []int{0, 2, 3} {
			assert.NotZero(t, checks[i].ID)
			assert.NotEqual(t, uint64(2), checks[i].ID)
			assert.False(t, seen[checks[i].ID], "%d was given twice", checks[i].ID)
			seen[checks[i].ID] = true
		}
	}
}

func TestIDsOfLeasesAreNotGivenAgain(t *testing.T) {
	var s seawalltest.Store
	own := slot(t)
	own.ID = 1
	apply(t, &s, own)
	checks := []seawall.Check{slot(t)}
	_, err := s.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	assert.NotEqual(t, own.ID, checks[0].ID)
	assert.Len(t, s.Held(), 2)
}

func TestRecordsWhatItIsAsked(t *testing.T) {
	var s seawalltest.Store
	checks := []seawall.Check{rate(t, "api"), slot(t)}
	_, err := s.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	want := []seawall.Check{checks[0], checks[1]}
	checks[0] = seawall.Check{} // it belongs to the caller again
	s.Fail(assert.AnError)
	_, err = s.Apply(t.Context(), nil, checks[1:])
	require.ErrorIs(t, err, assert.AnError)
	assert.Equal(t, [][]seawall.Check{want, want[1:]}, s.Applied(), "with ids, and also what fails")
	s.Applied()[0][0] = seawall.Check{}
	assert.Equal(t, want, s.Applied()[0], "what a test does to its copy stays there")
}

func TestHeldUntilReleased(t *testing.T) {
	var s seawalltest.Store
	checks := []seawall.Check{slot(t), rate(t, "api"), slot(t)}
	_, err := s.Apply(t.Context(), nil, checks)
	require.NoError(t, err)
	first, second := leaseOf(checks[0]), leaseOf(checks[2])
	assert.Equal(t, []seawall.Lease{first, second}, s.Held(), "a rate is no lease")
	for range 2 {
		require.NoError(t, s.Release(t.Context(), first))
		assert.Equal(t, []seawall.Lease{second}, s.Held())
	}
	require.NoError(t, s.Release(t.Context(), second))
	assert.Empty(t, s.Held())
	assert.Equal(t, []seawall.Lease{first, first, second}, s.Released())
}

func TestALeaseTakenAgainIsHeldOnce(t *testing.T) {
	var s seawalltest.Store
	c := slot(t)
	c.ID = 7
	apply(t, &s, c)
	apply(t, &s, c)
	assert.Equal(t, []seawall.Lease{leaseOf(c)}, s.Held())
}

func TestOnlyWhatCommitsIsHeld(t *testing.T) {
	peek, reset, advisory := slot(t), slot(t), slot(t)
	peek.Op, reset.Op, advisory.Advisory = seawall.Peek, seawall.Reset, true
	for name, c := range map[string]struct {
		checks []seawall.Check
		held   int
	}{
		"denied with another": {[]seawall.Check{slot(t), rate(t, "api")}, 0},
		"peek":                {[]seawall.Check{peek}, 0},
		"reset":               {[]seawall.Check{reset}, 0},
		"advisory, denied":    {[]seawall.Check{advisory, rate(t, "api")}, 0},
		"advisory":            {[]seawall.Check{advisory}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var s seawalltest.Store
			s.Deny("ratelimit:api", time.Second)
			apply(t, &s, c.checks...)
			assert.Len(t, s.Held(), c.held)
		})
	}
}

func TestStackReleasesWhatItTook(t *testing.T) {
	layer, err := concurrency.New(concurrency.Config{MaxInFlight: 2})
	require.NoError(t, err)
	for name, fail := range map[string]func(*seawalltest.Store){
		"up":    func(*seawalltest.Store) {},
		"fails": func(s *seawalltest.Store) { s.Fail(assert.AnError) },
		"hangs": func(s *seawalltest.Store) { s.Delay(time.Hour) },
		"panic": func(s *seawalltest.Store) { s.Panic("driver bug") },
	} {
		t.Run(name, func(t *testing.T) {
			var s seawalltest.Store
			stack, err := seawall.New(seawall.Config{Store: &s}, layer)
			require.NoError(t, err)
			fail(&s)
			a := stack.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("alice")})
			assert.False(t, a.Decision().Denied)
			assert.Len(t, s.Held(), 1, "an answer that got lost may have been yes")
			a.Done(t.Context())
			assert.Empty(t, s.Held())
			assert.Len(t, s.Released(), 1)
		})
	}
}

func TestNamesThatNothingCanHavePanic(t *testing.T) {
	var s seawalltest.Store
	var r seawalltest.Recorder
	for _, name := range []string{"", ":", "ratelimit:", ":api", "RateLimit", "ratelimit:api:more", "ratelimit/api", "*"} {
		assert.Panics(t, func() { s.Deny(name, 0) }, "%q", name)
		assert.Panics(t, func() { r.Count(name, seawall.Denied) }, "%q", name)
	}
	assert.PanicsWithValue(t, `seawalltest: "ratelimit:API": want a layer's name, or "layer:policy": `+
		seawall.ValidName("policy", "API").Error(), func() { r.Outcomes("ratelimit:API") })
	assert.NotPanics(t, func() { s.Deny("ratelimit", 0); s.Deny("ratelimit:a-b_1", 0) })
}

// TestStoreIsSafeForConcurrentUse has requests come and go while the script changes.
func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	var s seawalltest.Store
	check := slot(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				if i == 0 {
					s.Deny("concurrency", time.Second)
					s.Fail(assert.AnError)
					s.Delay(1)
					_, _, _ = s.Held(), s.Applied(), s.Released()
					s.Delay(0)
					s.Fail(nil)
					s.Answer("concurrency", seawall.Result{Admitted: true, Last: true})
				}
				checks := []seawall.Check{check}
				_, _ = s.Apply(context.Background(), nil, checks)
				_ = s.Release(context.Background(), leaseOf(checks[0]))
			}
		})
	}
	wg.Wait()
	assert.Empty(t, s.Held())
	assert.Len(t, s.Applied(), 800)
	assert.Len(t, s.Released(), 800)
	ids := map[uint64]bool{}
	for _, call := range s.Applied() {
		ids[call[0].ID] = true
	}
	assert.Len(t, ids, 800, "every lease has an id of its own")
}
