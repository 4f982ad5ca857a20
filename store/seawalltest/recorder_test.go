package seawalltest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/seawalltest"
)

func TestZeroRecorder(t *testing.T) {
	var r seawalltest.Recorder
	assert.Empty(t, r.Events())
	assert.Empty(t, r.Outcomes("ratelimit"))
	assert.Zero(t, r.Count("ratelimit", seawall.Allowed))
	assert.Empty(t, r.Fallbacks())
	assert.Empty(t, r.Failures())
}

func TestRecorderAnswersByLayerAndPolicy(t *testing.T) {
	var r seawalltest.Recorder
	for _, e := range []seawall.Event{
		{Layer: "ratelimit", Policy: "api", Outcome: seawall.Allowed},
		{Layer: "concurrency", Policy: "api", Outcome: seawall.Denied},
		{Layer: "ratelimit", Policy: "login", Outcome: seawall.Denied},
		{Layer: "ratelimit", Policy: "api", Outcome: seawall.WouldDeny},
		{Layer: "ratelimit", Policy: "api", Outcome: seawall.Denied},
	} {
		r.Decided(t.Context(), &seawall.Request{}, e)
	}
	assert.Equal(t, []string{"allowed", "denied", "would_deny", "denied"}, r.Outcomes("ratelimit"))
	assert.Equal(t, []string{"allowed", "would_deny", "denied"}, r.Outcomes("ratelimit:api"))
	assert.Equal(t, 2, r.Count("ratelimit", seawall.Denied))
	assert.Equal(t, 1, r.Count("ratelimit:api", seawall.Denied))
	assert.Zero(t, r.Count("ratelimit", seawall.Skipped))
	assert.Len(t, r.Events(), 5)
	r.Events()[0].Layer = "changed"
	assert.Equal(t, "ratelimit", r.Events()[0].Layer, "what a test does to its copy stays there")
	r.Reset()
	assert.Empty(t, r.Events())
}

func TestRecordedEventsKeepTheirChecks(t *testing.T) {
	var r seawalltest.Recorder
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}}})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: &seawalltest.Store{}, Observer: &r}, rate)
	require.NoError(t, err)
	keys := []seawall.Key{seawall.NewKey("a"), seawall.NewKey("b"), seawall.NewKey("c")}
	for _, k := range keys {
		s.Admit(t.Context(), &seawall.Request{Key: k}).Done(t.Context())
	}
	for i, e := range r.Events() {
		assert.Equal(t, keys[i], e.Check.Key)
		assert.Equal(t, "ratelimit:api", e.Limit.Name())
	}
}

// panicky is a layer whose Plan panics when told.
type panicky struct {
	seawall.Layer
	panics bool
}

func (p *panicky) Plan(dst []seawall.Check, r *seawall.Request) []seawall.Check {
	if p.panics {
		panic("limiter bug")
	}
	return p.Layer.Plan(dst, r)
}

func TestRecorderSeesWhatAStackDoes(t *testing.T) {
	rates, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1), 1), OnFailure: seawall.FailClosed},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
	require.NoError(t, err)
	var s seawalltest.Store
	var seen seawalltest.Recorder
	breaks := &panicky{Layer: slots}
	stack, err := seawall.New(seawall.Config{
		Store: &s, Observer: &seen, Modes: seawall.Fixed{"concurrency": seawall.LogOnly},
	}, rates, breaks)
	require.NoError(t, err)
	admit := func() {
		a := stack.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("alice")})
		a.Done(t.Context())
	}

	s.Answer("ratelimit:api", seawall.Result{Admitted: true, Limit: 5, Remaining: 2})
	s.Deny("concurrency", time.Second)
	admit()
	events := seen.Events()
	require.Len(t, events, 2)
	assert.Equal(t, int64(2), events[0].Result.Remaining)
	assert.Equal(t, seawall.Allowed, events[0].Outcome)
	assert.Equal(t, seawall.WouldDeny, events[1].Outcome)
	assert.Equal(t, seawall.LogOnly, events[1].Mode)
	assert.Empty(t, seen.Fallbacks())

	s.Panic("driver bug")
	admit()
	assert.Equal(t, []seawalltest.Fallback{
		{Name: "ratelimit:api", Outcome: seawall.Denied, Reason: "panic"},
		{Name: "concurrency:in-flight", Outcome: seawall.Allowed, Reason: "panic"},
	}, seen.Fallbacks())
	assert.Empty(t, seen.Failures(), "a store that panics is a store that fails")

	breaks.panics = true
	admit()
	require.Len(t, seen.Failures(), 1)
	assert.ErrorContains(t, seen.Failures()[0], "plan of concurrency: seawall: panic: limiter bug")
	seen.Reset()
	assert.Empty(t, seen.Failures())
	assert.Empty(t, seen.Fallbacks())
	assert.Empty(t, s.Held())
}

func TestFailuresKeepTheirCause(t *testing.T) {
	var r seawalltest.Recorder
	r.Failed("release", assert.AnError)
	require.Len(t, r.Failures(), 1)
	assert.ErrorIs(t, r.Failures()[0], assert.AnError)
	assert.True(t, strings.HasPrefix(r.Failures()[0].Error(), "release: "))
}

func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	var r seawalltest.Recorder
	l := limit(t, "ratelimit", "api")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				r.Decided(t.Context(), nil, seawall.Event{Layer: "ratelimit", Policy: "api"})
				r.Fallback(l, seawall.Allowed, "error")
				r.Failed("release", assert.AnError)
				_, _, _ = r.Events(), r.Fallbacks(), r.Failures()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 800, r.Count("ratelimit:api", seawall.Allowed))
	assert.Len(t, r.Fallbacks(), 800)
	assert.Len(t, r.Failures(), 800)
}
