package seawall_test

import (
	"context"
	"testing"

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
			{Name: "api", Rate: ratelimit.PerSecond(1), Burst: 10},
			{
				Name: "login", Rate: ratelimit.PerSecond(1), Burst: 10, Match: login, OnFailure: onFailure,
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

func (o *spanning) Asking(context.Context, []seawall.Check) func(error) {
	o.open++
	return func(error) { o.open-- }
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
