package seawall_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneQuestionPerRequest(t *testing.T) {
	f := setUp(t)
	a := f.admit(t, &seawall.Request{})
	assert.False(t, a.Decision().Denied)
	assert.Equal(t, 1, f.store.applies)
	assert.Equal(t, []string{
		"workershed:utilization enforce allowed", "ratelimit:api enforce allowed",
		"concurrency:in-flight enforce allowed", "fleetshed:ordinary enforce allowed",
	}, f.seen.take())
	assert.Equal(t, map[string]int{"workershed": 1, "concurrency": 1, "fleetshed": 1}, f.seen.inflight)
	a.Done(context.Background())
	a.Done(context.Background())
	assert.Equal(t, 2, f.store.released, "each lease once")
}

func TestALocalRefusalAsksNobody(t *testing.T) {
	f := setUp(t)
	f.worker.refuse = true
	d := f.admit(t, &seawall.Request{}).Decision()
	assert.Equal(t, seawall.Decision{
		Denied: true, Layer: "workershed", Policy: "utilization", Cause: seawall.CauseCapacity, RetryAfter: 3 * time.Second,
	}, d)
	assert.Zero(t, f.store.applies)
	assert.Equal(t, []string{
		"workershed:utilization enforce denied", "ratelimit:api enforce skipped",
		"concurrency:in-flight enforce skipped", "fleetshed:ordinary enforce skipped",
	}, f.seen.take())
}

func TestTheFirstRefusalIsNamedAndTheLongestWaitIsSent(t *testing.T) {
	f := setUp(t)
	for range 2 {
		f.admit(t, &seawall.Request{})
	}
	f.admit(t, &seawall.Request{Key: seawall.NewKey("other")}).Done(context.Background())
	f.seen.take()
	d := f.admit(t, &seawall.Request{}).Decision() // a third in flight; the bucket would still admit it
	assert.Equal(t, "concurrency", d.Layer)
	assert.Equal(t, seawall.CauseQuota, d.Cause)
	assert.Equal(t, []string{
		"workershed:utilization enforce allowed", "ratelimit:api enforce allowed",
		"concurrency:in-flight enforce denied", "fleetshed:ordinary enforce skipped",
	}, f.seen.take())
	d = f.admit(t, &seawall.Request{Cost: 2}).Decision() // both refuse: one token and no slot are left
	assert.Equal(t, "ratelimit", d.Layer)
	assert.Greater(t, d.RetryAfter, 23*time.Hour)
	d = f.admit(t, &seawall.Request{Cost: 4}).Decision()
	assert.Equal(t, seawall.Never, d.RetryAfter)
}

func TestModes(t *testing.T) {
	type want struct {
		denied string   // layer
		events []string // without the worker shedder's first
	}
	// The caller has one of two slots left and no token.
	for name, c := range map[string]struct {
		modes seawall.Fixed
		want
	}{
		"all enforced": {seawall.Fixed{}, want{"ratelimit", []string{
			"ratelimit:api enforce denied", "concurrency:in-flight enforce skipped", "fleetshed:ordinary enforce skipped",
		}}},
		"all log-only": {
			seawall.Fixed{"ratelimit": seawall.LogOnly, "concurrency": seawall.LogOnly, "fleetshed": seawall.LogOnly},
			want{"", []string{
				"ratelimit:api log-only would_deny", "concurrency:in-flight log-only skipped", "fleetshed:ordinary log-only skipped",
			}},
		},
		"one log-only": {seawall.Fixed{"ratelimit": seawall.LogOnly}, want{"", []string{
			"ratelimit:api log-only would_deny", "concurrency:in-flight enforce allowed", "fleetshed:ordinary enforce allowed",
		}}},
		"one policy log-only": {seawall.Fixed{"ratelimit:api": seawall.LogOnly}, want{"", []string{
			"ratelimit:api log-only would_deny", "concurrency:in-flight enforce allowed", "fleetshed:ordinary enforce allowed",
		}}},
		"an enforced policy in a log-only layer": {
			seawall.Fixed{"ratelimit": seawall.LogOnly, "ratelimit:api": seawall.Enforce, "fleetshed": seawall.LogOnly},
			want{"", []string{
				"ratelimit:api log-only would_deny", "concurrency:in-flight enforce allowed", "fleetshed:ordinary log-only skipped",
			}},
		},
		"one off":        {seawall.Fixed{"ratelimit": seawall.Off}, want{"", []string{"concurrency:in-flight enforce allowed", "fleetshed:ordinary enforce allowed"}}},
		"one policy off": {seawall.Fixed{"ratelimit:api": seawall.Off}, want{"", []string{"concurrency:in-flight enforce allowed", "fleetshed:ordinary enforce allowed"}}},
		"all off":        {seawall.Fixed{"ratelimit": seawall.Off, "concurrency": seawall.Off, "fleetshed": seawall.Off}, want{"", nil}},
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			for range 2 {
				f.admit(t, &seawall.Request{}).Done(context.Background())
			}
			f.admit(t, &seawall.Request{})
			f.seen.take()
			maps.Copy(f.modes, c.modes)
			before := f.store.applies
			d := f.admit(t, &seawall.Request{}).Decision()
			assert.Equal(t, c.denied, d.Layer)
			assert.Equal(t, append([]string{"workershed:utilization enforce allowed"}, c.events...), f.seen.take())
			asked := 1
			if c.events == nil {
				asked = 0
			}
			assert.Equal(t, asked, f.store.applies-before)
		})
	}
}

func TestAnAdvisoryAndAnEnforcedRefusalAreBothCounted(t *testing.T) {
	f := setUp(t)
	f.modes["ratelimit"] = seawall.LogOnly
	for range 2 {
		f.admit(t, &seawall.Request{})
	}
	f.admit(t, &seawall.Request{Key: seawall.NewKey("caller"), Cost: 1}).Done(context.Background())
	f.seen.take()
	d := f.admit(t, &seawall.Request{Cost: 3}).Decision()
	assert.Equal(t, "concurrency", d.Layer)
	assert.GreaterOrEqual(t, d.RetryAfter, time.Second)
	assert.Less(t, d.RetryAfter, time.Minute, "an advisory wait is not sent")
	assert.Equal(t, []string{
		"workershed:utilization enforce allowed", "ratelimit:api log-only would_deny",
		"concurrency:in-flight enforce denied", "fleetshed:ordinary enforce skipped",
	}, f.seen.take())
}

func TestBehindALocalLogOnlyRefusalAdvisoryStateStands(t *testing.T) {
	f := setUp(t)
	f.worker.refuse = true
	f.modes["workershed"], f.modes["ratelimit"] = seawall.LogOnly, seawall.LogOnly
	for range 5 {
		a := f.admit(t, &seawall.Request{})
		require.False(t, a.Decision().Denied)
		a.Done(context.Background())
	}
	assert.Equal(t, []string{
		"workershed:utilization log-only would_deny", "ratelimit:api log-only skipped",
		"concurrency:in-flight enforce allowed", "fleetshed:ordinary enforce allowed",
	}, f.seen.take()[:4])
	f.worker.refuse = false
	a := f.admit(t, &seawall.Request{})
	assert.Equal(t, int64(2), a.Results()[1].Remaining, "only the first request that everything admits spends")
}

func TestAFailingStoreAdmitsExceptWhereItMustNot(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		fail   func(context.Context) error
		reason string
	}{
		"error": {func(context.Context) error { return errors.New("no route to host") }, "error"},
		"hang":  {hang, "timeout"},
		"panic": {func(context.Context) error { panic("driver bug") }, "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			f.store.fail = c.fail
			assert.False(t, f.admit(t, &seawall.Request{}).Decision().Denied)
			assert.Equal(t, []string{
				"ratelimit:api allowed " + c.reason, "concurrency:in-flight allowed " + c.reason,
				"fleetshed:ordinary allowed " + c.reason,
			}, f.seen.fallbacks)
			f.seen.fallbacks, f.seen.events = nil, nil
			d := f.admit(t, &seawall.Request{Route: "/login"}).Decision()
			assert.Equal(t, seawall.Decision{
				Denied: true, Layer: "ratelimit", Policy: "login", Cause: seawall.CauseUnavailable, RetryAfter: time.Second,
			}, d)
			assert.Equal(t, "ratelimit:login denied "+c.reason, f.seen.fallbacks[0])
			assert.Equal(t, "ratelimit:login enforce denied", f.seen.take()[1])
			f.modes["ratelimit"] = seawall.LogOnly
			assert.False(t, f.admit(t, &seawall.Request{Route: "/login"}).Decision().Denied, "log-only wins over failing closed")
			assert.Equal(t, "ratelimit:login log-only would_deny", f.seen.take()[1])
			f.modes["ratelimit"] = seawall.Off
			assert.False(t, f.admit(t, &seawall.Request{Route: "/login"}).Decision().Denied, "off wins over failing closed")
		})
	}
}

func TestABlipIsNoOutageForWhatFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setUp(t)
		f.store.fail = func(ctx context.Context) error {
			select {
			case <-time.After(10 * time.Millisecond): // longer than Wait, shorter than WaitClosed
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		assert.False(t, f.admit(t, &seawall.Request{Route: "/login"}).Decision().Denied)
		assert.Empty(t, f.seen.fallbacks)
		assert.False(t, f.admit(t, &seawall.Request{}).Decision().Denied)
		assert.Contains(t, f.seen.fallbacks, "ratelimit:api allowed timeout")
	})
}

func TestAClientThatHangsUpIsDecidedAllTheSame(t *testing.T) {
	f := setUp(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for i := range 5 {
		a := f.Admit(ctx, &seawall.Request{Key: seawall.NewKey("caller")})
		assert.Equal(t, i >= 3, a.Decision().Denied, "request %d", i)
		a.Done(ctx)
	}
	assert.Empty(t, f.seen.fallbacks)
	assert.Equal(t, 6, f.store.released)
}

func TestPanicsOfAnObserverReachNobody(t *testing.T) {
	f := setUp(t)
	f.seen.panics = true
	a := f.admit(t, &seawall.Request{})
	assert.False(t, a.Decision().Denied)
	assert.Equal(t, []string{"observer"}, f.seen.failed)
	f.seen.panics = false
}

// whenLetGo is an Observer that does something when all that a request held is said to be given back.
type whenLetGo struct {
	seawall.NopObserver
	held int
	does func()
}

func (o *whenLetGo) Inflight(_ string, delta int) {
	if o.held += delta; delta < 0 && o.held == 0 && o.does != nil {
		does := o.does
		o.does = nil
		does()
	}
}

// TestWhatIsSaidToBeGivenBackIs there for the next request: the lease of a layer's last slot, too.
func TestWhatIsSaidToBeGivenBackIs(t *testing.T) {
	f, seen := setUp(t), &whenLetGo{}
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: f.store, Observer: seen}, slots)
	require.NoError(t, err)
	request := &seawall.Request{Key: seawall.NewKey("alone")}
	asked := false
	seen.does = func() {
		a := s.Admit(t.Context(), request)
		asked = true
		assert.False(t, a.Decision().Denied)
		a.Done(t.Context())
	}
	a := s.Admit(t.Context(), request)
	require.False(t, a.Decision().Denied)
	a.Done(t.Context())
	assert.True(t, asked)
}

func TestTheSameLimitMetTwiceIsEvaluatedOnce(t *testing.T) {
	f := setUp(t)
	first := &seawall.Request{Key: seawall.NewKey("caller")}
	a := f.Admit(context.Background(), first)
	again := &seawall.Request{Key: seawall.NewKey("caller")}
	again.Continue(first)
	b := f.Admit(context.Background(), again)
	assert.Equal(t, 1, f.store.applies)
	assert.Equal(t, 1, f.worker.entered)
	assert.False(t, b.Decision().Denied)
	b.Done(context.Background())
	assert.Zero(t, f.store.released, "the second holds nothing")
	a.Done(context.Background())
	assert.Equal(t, 2, f.store.released)
}

func TestCriticalRequestsAreNeverRefusedByTheFleet(t *testing.T) {
	f := setUp(t)
	who := func(i int) seawall.Key { return seawall.NewKey("caller", string(rune('a'+i))) }
	for i := range 4 {
		require.False(t, f.admit(t, &seawall.Request{Key: who(i)}).Decision().Denied)
	}
	d := f.admit(t, &seawall.Request{Key: who(4)}).Decision()
	assert.Equal(t, "fleetshed", d.Layer)
	assert.Equal(t, seawall.CauseCapacity, d.Cause)
	for i := range 10 {
		assert.False(t, f.admit(t, &seawall.Request{Key: who(5 + i), Tier: seawall.Critical}).Decision().Denied)
	}
	assert.True(t, f.admit(t, &seawall.Request{Key: who(20), Tier: seawall.TestMode}).Decision().Denied)
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	worker := newSwitch(t)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 2})
	require.NoError(t, err)
	for want, build := range map[string]func() (*seawall.Stack, error){
		"at least one layer": func() (*seawall.Stack, error) { return seawall.New(seawall.Config{}) },
		"layer 1 is nil":     func() (*seawall.Stack, error) { return seawall.New(seawall.Config{}, worker, nil) },
		`"workershed" is in the stack twice`: func() (*seawall.Stack, error) {
			return seawall.New(seawall.Config{}, worker, worker)
		},
		`layer "concurrency" needs Config.Store`: func() (*seawall.Stack, error) { return seawall.New(seawall.Config{}, worker, slots) },
		"Wait is -1ns":                           func() (*seawall.Stack, error) { return seawall.New(seawall.Config{Wait: -1}, worker) },
		"WaitClosed is -1ns":                     func() (*seawall.Stack, error) { return seawall.New(seawall.Config{WaitClosed: -1}, worker) },
	} {
		_, err := build()
		assert.ErrorContains(t, err, want)
	}
}
