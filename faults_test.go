package seawall_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// TestAPanickingPlanFollowsTheFailurePolicies has an application's function panic for logins only.
func TestAPanickingPlanFollowsTheFailurePolicies(t *testing.T) {
	store, seen := memstore.New(memstore.Config{}), &recorder{}
	t.Cleanup(func() { assert.NoError(t, store.Close(context.Background())) })
	login := func(r *seawall.Request) bool { return r.Route == "/login" }
	build := func(onFailure seawall.Failure) *seawall.Stack {
		rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
			{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 10)},
			{
				Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 10), Match: login, OnFailure: onFailure,
				Key: func(r *seawall.Request) seawall.Key { return r.More[0] },
			},
		}})
		require.NoError(t, err)
		slots, err := concurrency.New(concurrency.Config{MaxInFlight: 2})
		require.NoError(t, err)
		s, err := seawall.New(seawall.Config{Store: store, Observer: seen}, rate, slots)
		require.NoError(t, err)
		return s
	}
	ask := func(s *seawall.Stack, route string) seawall.Decision {
		a := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("caller"), Route: route})
		defer a.Done(t.Context())
		return a.Decision()
	}

	s := build(seawall.FailClosed)
	d := ask(s, "/login")
	assert.True(t, d.Denied)
	assert.Equal(t, "login", d.Policy)
	assert.Equal(t, seawall.CauseUnavailable, d.Cause)
	assert.Equal(t, []string{"ratelimit:login enforce denied", "concurrency:in-flight enforce skipped"}, seen.take())
	assert.Equal(t, []string{
		"ratelimit:api allowed panic", "ratelimit:login denied panic", "concurrency:in-flight allowed panic",
	}, seen.fallbacks)
	assert.Equal(t, []string{"plan of ratelimit"}, seen.failed)
	assert.False(t, ask(s, "/other").Denied)
	assert.False(t, ask(build(seawall.FailOpen), "/login").Denied)
}

// TestASecondPassIsANewQuestion has a middleware outside ours try a request again.
func TestASecondPassIsANewQuestion(t *testing.T) {
	f := setUp(t)
	first := &seawall.Request{Key: seawall.NewKey("caller"), Cost: 3}
	a := f.Admit(t.Context(), first)
	assert.False(t, a.Decision().Denied)
	a.Done(t.Context())
	again := &seawall.Request{Key: seawall.NewKey("caller"), Cost: 3}
	again.Continue(first)
	b := f.Admit(t.Context(), again)
	defer b.Done(t.Context())
	assert.True(t, b.Decision().Denied)
	assert.Equal(t, 2, f.store.applies)
}

// spanning is an observer that checks that every question ends.
type spanning struct {
	recorder
	open int
}

func (o *spanning) Asking(context.Context, []seawall.Check) func(time.Duration, error) {
	o.open++
	return func(time.Duration, error) { o.open-- }
}

func TestEveryQuestionEnds(t *testing.T) {
	f, seen := setUp(t), &spanning{}
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 2})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: f.store, Observer: seen}, slots)
	require.NoError(t, err)
	for _, fail := range []func(context.Context) error{nil, func(context.Context) error { panic("driver bug") }} {
		f.store.fail = fail
		a := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("caller")})
		assert.False(t, a.Decision().Denied)
		a.Done(t.Context())
		assert.Zero(t, seen.open)
	}
}

// TestAPanickingLocalLayerGuardsNothingAndBreaksNothing has the worker shedder panic: the others still decide.
func TestAPanickingLocalLayerGuardsNothingAndBreaksNothing(t *testing.T) {
	f := setUp(t)
	f.worker.panics = true
	assert.False(t, f.admit(t, &seawall.Request{Route: "/login"}).Decision().Denied)
	d := f.admit(t, &seawall.Request{Route: "/login"}).Decision()
	assert.True(t, d.Denied, "login has a bucket of one")
	assert.Equal(t, seawall.CauseQuota, d.Cause)
	assert.Equal(t, []string{"verdict of workershed", "verdict of workershed"}, f.seen.failed)
	f.store.fail = func(context.Context) error { panic("driver bug") }
	assert.Equal(t, seawall.CauseUnavailable, f.admit(t, &seawall.Request{Route: "/login"}).Decision().Cause)
}

// panicky are modes whose gates panic.
type panicky struct{}

func (panicky) Gate(string, string) seawall.Gate {
	return func(*seawall.Request) seawall.Mode { panic("flag bug") }
}

func TestAPanickingGateEnforces(t *testing.T) {
	f := setUp(t)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: f.store, Modes: panicky{}}, slots)
	require.NoError(t, err)
	a := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("caller")})
	defer a.Done(t.Context())
	assert.False(t, a.Decision().Denied)
	b := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("caller")})
	defer b.Done(t.Context())
	assert.True(t, b.Decision().Denied)
}

// TestBehindAnAdvisoryRefusalTheEnforcedPolicyIsCounted has a log-only layer refuse in front of a layer with
// a log-only policy, which refuses too, and an enforced one, which admits.
func TestBehindAnAdvisoryRefusalTheEnforcedPolicyIsCounted(t *testing.T) {
	store, seen := memstore.New(memstore.Config{}), &recorder{}
	t.Cleanup(func() { assert.NoError(t, store.Close(context.Background())) })
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "new", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}, {Name: "old", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 100)},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{
		Store: store, Observer: seen, Modes: seawall.Fixed{"concurrency": seawall.LogOnly, "ratelimit:new": seawall.LogOnly},
	}, slots, rate)
	require.NoError(t, err)
	for range 2 {
		a := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("caller")})
		defer a.Done(t.Context())
	}
	assert.Equal(t, []string{"concurrency:in-flight log-only would_deny", "ratelimit:old enforce allowed"}, seen.take()[2:])
}

func TestNewRefusesNilLayers(t *testing.T) {
	_, err := seawall.New(seawall.Config{}, (*ratelimit.Limiter)(nil))
	assert.ErrorContains(t, err, "nil *ratelimit.Limiter")
}

// another is a local layer beside the worker shedder, with faults of its own.
type another struct {
	*switchLayer
	leaves, causes bool // panics
}

func (l *another) Name() string { return "another" }

func (l *another) Cause() seawall.Cause {
	if l.causes {
		panic("limiter bug")
	}
	return l.switchLayer.Cause()
}

func (l *another) Leave(t seawall.Ticket) {
	l.switchLayer.Leave(t)
	if l.leaves {
		panic("limiter bug")
	}
}

func anotherLayer(t *testing.T) *another {
	t.Helper()
	limit, err := seawall.NewLimit("another", "a", seawall.FailOpen)
	require.NoError(t, err)
	return &another{switchLayer: &switchLayer{limit: limit}}
}

// TestALayerThatPanicsWhenItIsLeftKeepsNoOther has one of two local layers panic when a request leaves it.
func TestALayerThatPanicsWhenItIsLeftKeepsNoOther(t *testing.T) {
	faulty, worker, seen := anotherLayer(t), newSwitch(t), &recorder{}
	faulty.leaves = true
	s, err := seawall.New(seawall.Config{Observer: seen}, faulty, worker)
	require.NoError(t, err)
	a := s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("caller")})
	assert.Equal(t, 1, worker.inside)
	a.Done(t.Context())
	assert.Zero(t, worker.inside)
	assert.Equal(t, map[string]int{"another": 0, "workershed": 0}, seen.inflight)
	assert.Equal(t, []string{"leave"}, seen.failed)
}

// TestALayerThatRefusesLateAndPanicsAdmits has a local layer refuse at the last moment, and panic when it is asked why.
func TestALayerThatRefusesLateAndPanicsAdmits(t *testing.T) {
	faulty, seen := anotherLayer(t), &recorder{}
	faulty.full, faulty.causes = true, true
	s, err := seawall.New(seawall.Config{Observer: seen}, faulty)
	require.NoError(t, err)
	var a *seawall.Admission
	require.NotPanics(t, func() { a = s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("caller")}) })
	assert.False(t, a.Decision().Denied)
	a.Done(t.Context())
	assert.Zero(t, faulty.inside)
	assert.NotEmpty(t, seen.failed)
}
