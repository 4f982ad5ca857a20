package seawall_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// thorough is an Observer that remembers which of its methods were called.
type thorough struct {
	name  string
	calls *[]string
	mute  bool // has nothing to do after the store was asked
}

func (o thorough) note(what string) { *o.calls = append(*o.calls, o.name+" "+what) }

func (o thorough) Decided(_ context.Context, _ *seawall.Request, e seawall.Event) {
	o.note("decided " + e.Outcome.String())
}

func (o thorough) Checked(_ *seawall.Request, checks []seawall.Check, results []seawall.Result) {
	if len(checks) == len(results) {
		o.note("checked " + checks[0].Limit.Name())
	}
}

func (o thorough) Finished(*seawall.Request, []seawall.Check, []seawall.Result) { o.note("finished") }

func (o thorough) Fallback(l *seawall.Limit, _ seawall.Outcome, reason string) {
	o.note("fallback " + l.Name() + " " + reason)
}

func (o thorough) Asking(context.Context, []seawall.Check) func(time.Duration, error) {
	o.note("asking")
	if o.mute {
		return nil
	}
	return func(time.Duration, error) { o.note("asked") }
}
func (o thorough) Inflight(string, int) { o.note("inflight") }
func (o thorough) Failed(string, error) { o.note("failed") }

func TestObserversTellAllOfThem(t *testing.T) {
	t.Parallel()
	var calls []string
	a, b := thorough{name: "a", calls: &calls}, thorough{name: "b", calls: &calls}
	l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}}})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{}), Observer: seawall.Observers(nil, a, b)}, l)
	require.NoError(t, err)
	s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("x")}).Done(t.Context())
	assert.Equal(t, []string{
		"a asking", "b asking", "a asked", "b asked", "a decided allowed", "b decided allowed",
		"a checked ratelimit:api", "b checked ratelimit:api", "a finished", "b finished",
	}, calls)
	require.NoError(t, s.Close(t.Context()))

	calls = nil
	both := seawall.Observers(a, b)
	limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
	require.NoError(t, err)
	both.Fallback(limit, seawall.Allowed, "timeout")
	both.Inflight("fleetshed", 1)
	both.Failed("release", errors.New("gone"))
	assert.Equal(t, []string{
		"a fallback ratelimit:api timeout", "b fallback ratelimit:api timeout", "a inflight", "b inflight", "a failed", "b failed",
	}, calls)
}

func TestObserversOfNoneOrOne(t *testing.T) {
	t.Parallel()
	var calls []string
	a, mute := thorough{name: "a", calls: &calls}, thorough{name: "m", calls: &calls, mute: true}
	assert.Equal(t, a, seawall.Observers(nil, a, nil), "one is itself")
	assert.Equal(t, seawall.NopObserver{}, seawall.Observers())
	var unset *recorder
	assert.Equal(t, seawall.NopObserver{}, seawall.Observers(unset), "what was not made is nobody")
	l, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1)}}})
	require.NoError(t, err)
	s, err := seawall.New(seawall.Config{Store: memstore.New(memstore.Config{}), Observer: unset}, l)
	require.NoError(t, err)
	for _, denied := range []bool{false, true} {
		assert.Equal(t, denied, s.Admit(t.Context(), &seawall.Request{Key: seawall.NewKey("x")}).Decision().Denied, "and limits go on")
	}
	require.NoError(t, s.Close(t.Context()))
	assert.Nil(t, seawall.Observers(mute, mute).Asking(t.Context(), nil))
	seawall.Observers(mute, a).Asking(t.Context(), nil)(0, nil)
	assert.Equal(t, []string{"m asking", "m asking", "m asking", "a asking", "a asked"}, calls)
}

// TestAnEventSaysWhoAnswered is about the sources that the engine knows; the deny cache says it by itself.
func TestAnEventSaysWhoAnswered(t *testing.T) {
	t.Parallel()
	rule, err := ratelimit.TokenBucket(ratelimit.PerDay(1), 1).Rule()
	require.NoError(t, err)
	for want, e := range map[seawall.Source]seawall.Event{
		seawall.SourceStore:     {Check: &seawall.Check{Rule: rule}},
		seawall.SourceDenyCache: {Check: &seawall.Check{Rule: rule}, Result: seawall.Result{Repeated: true}},
		seawall.SourceLocal:     {Check: &seawall.Check{Rule: rule}, Result: seawall.Result{Fallback: true}},
	} {
		assert.Equal(t, want, e.Source(), want)
	}
	local := seawall.Event{Check: &seawall.Check{}}
	assert.Equal(t, "local", local.Source().String())
	assert.Equal(t, "store", seawall.SourceStore.String())
	assert.Equal(t, "deny cache", seawall.SourceDenyCache.String())
	assert.Equal(t, "unknown", seawall.Source(9).String())
}
