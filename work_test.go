package seawall_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/internal/race"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/workershed"
)

// plenty is a stack of all four layers that refuses nobody, on the store if there is one, otherwise in memory.
func plenty(t testing.TB, store seawall.Store, o seawall.Observer) *seawall.Stack {
	t.Helper()
	if store == nil {
		store = memstore.New(memstore.Config{Now: time.Now})
	}
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1_000_000), 1_000_000_000)},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1000})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 10_000})
	require.NoError(t, err)
	worker, err := workershed.New(workershed.Config{Workers: 10_000})
	require.NoError(t, err)
	require.NoError(t, worker.Close())
	s, err := seawall.New(seawall.Config{Store: store, Observer: o}, rate, slots, fleet, worker)
	require.NoError(t, err)
	return s
}

func TestADecisionCostsOneAllocation(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	s, ctx := plenty(t, nil, nil), context.Background()
	var r *seawall.Request
	key := seawall.NewKey("caller")
	assert.Equal(t, 2.0, testing.AllocsPerRun(2000, func() {
		r = &seawall.Request{Key: key}
		s.Admit(ctx, r).Done(ctx)
	}), "the request and the Admission")
	var both *struct {
		seawall.Admission
		r seawall.Request
	}
	assert.Equal(t, 1.0, testing.AllocsPerRun(2000, func() {
		both = new(struct {
			seawall.Admission
			r seawall.Request
		})
		both.r.Key = key
		s.AdmitTo(ctx, &both.Admission, &both.r)
		both.Done(ctx)
	}), "both in one")
}

// keysOf are the callers of all checks, which must be one.
func keysOf(a *seawall.Admission) (keys []string) {
	for _, c := range a.Checks() {
		if c.Key != seawall.FleetKey() {
			keys = append(keys, c.Key.String())
		}
	}
	return keys
}

func TestWhatADecisionWasMadeWithIsGoneWithDone(t *testing.T) {
	s, ctx := plenty(t, nil, nil), t.Context()
	ask := func(name string) *seawall.Admission {
		return s.Admit(ctx, &seawall.Request{Key: seawall.NewKey(name)})
	}
	for range 100 {
		a := ask("a")
		a.Done(ctx)
		var twice sync.WaitGroup
		for range 3 {
			twice.Go(func() { a.Done(ctx) })
		}
		twice.Wait()
		assert.Nil(t, a.Checks())
		assert.Nil(t, a.Results())
		assert.False(t, a.Decision().Denied)
		all := []*seawall.Admission{ask("b"), ask("c"), ask("d")} // as if a had been given back more than once
		for i, name := range []string{"b", "c", "d"} {
			k := seawall.NewKey(name).String()
			assert.Equal(t, []string{k, k, k}, keysOf(all[i]))
		}
		for _, a := range all {
			a.Done(ctx)
		}
	}
}

// TestAnAdmissionMayEndElsewhere is about connections that others go on with, and close.
func TestAnAdmissionMayEndElsewhere(t *testing.T) {
	store := memstore.New(memstore.Config{Now: time.Now})
	s, ctx := plenty(t, store, nil), t.Context()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			key := seawall.NewKey(strconv.Itoa(i))
			for range 300 {
				a := s.Admit(ctx, &seawall.Request{Key: key})
				a.Return()
				all.Go(func() {
					assert.Equal(t, []string{key.String(), key.String(), key.String()}, keysOf(a))
					a.Done(ctx)
				})
			}
		})
	}
	all.Wait()
	assert.Zero(t, store.Fleet().Used)
}

// keeping is a store that goes on with what it was given when it has returned an error, or panicked.
type keeping struct {
	seawall.Store
	late *sync.WaitGroup
	goOn chan struct{}
}

func (s *keeping) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	n, err := strconv.Atoi(checks[0].Key.String()[2:3])
	if err != nil || n%3 == 0 {
		return s.Store.Apply(ctx, dst, checks)
	}
	goOn := s.goOn
	s.late.Go(func() {
		<-goOn
		for i := range checks {
			checks[i].Key, checks[i].ID = seawall.NewKey("late"), 7
		}
		_ = append(dst, make([]seawall.Result, len(checks))...)
	})
	if n%3 == 1 {
		panic("store bug")
	}
	return dst, errors.New("too late")
}

func TestWhatAStoreMayGoOnWithIsNotUsedAgain(t *testing.T) {
	var late sync.WaitGroup
	store := &keeping{Store: memstore.New(memstore.Config{Now: time.Now}), late: &late}
	s, ctx := plenty(t, store, nil), t.Context()
	for i := range 300 {
		store.goOn = make(chan struct{})
		key := seawall.NewKey(strconv.Itoa(i % 10))
		a := s.Admit(ctx, &seawall.Request{Key: key})
		if i%10%3 == 0 {
			assert.Equal(t, []string{key.String(), key.String(), key.String()}, keysOf(a))
		}
		a.Done(ctx)
		close(store.goOn)
	}
	late.Wait()
}

// remembering is an observer that keeps all requests.
type remembering struct {
	seawall.NopObserver
	all []*seawall.Request
}

func (o *remembering) Finished(r *seawall.Request, _ []seawall.Check, _ []seawall.Result) {
	o.all = append(o.all, r)
}

func TestARequestMayBeKept(t *testing.T) {
	seen := &remembering{}
	s, ctx := plenty(t, nil, seen), t.Context()
	for i := range 100 {
		s.Admit(ctx, &seawall.Request{Key: seawall.NewKey(strconv.Itoa(i))}).Done(ctx)
	}
	for i, r := range seen.all {
		assert.Equal(t, seawall.NewKey(strconv.Itoa(i)), r.Key)
	}
}

// TestARequestMayBeContinuedWhenItIsDone is about handlers that outlive a timeout outside of them, with a middleware inside.
func TestARequestMayBeContinuedWhenItIsDone(t *testing.T) {
	s, ctx := plenty(t, nil, nil), t.Context()
	var late sync.WaitGroup
	for range 300 {
		outer := &seawall.Request{Key: seawall.NewKey("a")}
		a := s.Admit(ctx, outer)
		late.Go(func() {
			inner := &seawall.Request{Key: seawall.NewKey("a")}
			inner.Continue(outer)
			b := s.Admit(ctx, inner)
			assert.Contains(t, []int{0, 1, 2, 3, 4}, len(b.Checks()))
			b.Done(ctx)
		})
		a.Done(ctx)
	}
	late.Wait()
}

// TestARequestMayMeetMoreWhileItIsContinued has it meet more limits than it has room for at first, while a handler that
// outlives a timeout goes on with it inside.
func TestARequestMayMeetMoreWhileItIsContinued(t *testing.T) {
	s, ctx := plenty(t, nil, nil), t.Context()
	stackOf := func(policy string) *seawall.Stack {
		rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: policy, Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1_000_000), 1_000_000_000)},
		}})
		require.NoError(t, err)
		s, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{Now: time.Now})}, rate)
		require.NoError(t, err)
		return s
	}
	more, inside := stackOf("more"), stackOf("inside")
	var late sync.WaitGroup
	for range 100 {
		outer := &seawall.Request{Key: seawall.NewKey("a")}
		a := s.Admit(ctx, outer)
		late.Go(func() {
			inner := &seawall.Request{Key: seawall.NewKey("a")}
			inner.Continue(outer)
			inside.Admit(ctx, inner).Done(ctx)
		})
		b := more.Admit(ctx, outer)
		assert.Len(t, b.Checks(), 1)
		b.Done(ctx)
		a.Done(ctx)
	}
	late.Wait()
}

// TestManyLimitsAreMetOnce has more of them than a request has room for at first.
func TestManyLimitsAreMetOnce(t *testing.T) {
	var policies []ratelimit.Policy
	for i := range 11 {
		policies = append(policies, ratelimit.Policy{Name: fmt.Sprintf("p%d", i), Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 9)})
	}
	rate, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{Now: time.Now})}, rate)
	require.NoError(t, err)
	ctx := t.Context()
	request := func() *seawall.Request { return &seawall.Request{Key: seawall.NewKey("a")} }
	first, second, third := request(), request(), request()
	a := s.Admit(ctx, first)
	assert.Len(t, a.Checks(), 11)
	second.Continue(first)
	b := s.Admit(ctx, second)
	assert.Empty(t, b.Checks())
	third.Continue(second)
	assert.Empty(t, s.Admit(ctx, third).Checks())
	b.Done(ctx)
	a.Done(ctx)
	again := s.Admit(ctx, third)
	assert.Len(t, again.Checks(), 11, "nobody has met them any more")
	again.Done(ctx)
	assert.Len(t, s.Admit(ctx, third).Checks(), 11)
}
