package seawall_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// switchLayer is a local layer that answers as it is told.
type switchLayer struct {
	limit   *seawall.Limit
	refuse  bool
	full    bool // when the others have admitted
	inside  int
	panics  bool
	entered int
	begun   int
}

func newSwitch(t *testing.T) *switchLayer {
	l, err := seawall.NewLimit("workershed", "utilization", seawall.FailOpen)
	require.NoError(t, err)
	return &switchLayer{limit: l}
}

func (l *switchLayer) Name() string             { return "workershed" }
func (l *switchLayer) Cause() seawall.Cause     { return seawall.CauseCapacity }
func (l *switchLayer) Limits() []*seawall.Limit { return []*seawall.Limit{l.limit} }
func (l *switchLayer) Plan(dst []seawall.Check, _ *seawall.Request) []seawall.Check {
	return dst
}

func (l *switchLayer) Enter(_ *seawall.Request, m seawall.Mode) (seawall.Result, seawall.Ticket) {
	l.entered++
	if l.panics {
		panic("limiter bug")
	}
	if l.refuse {
		if m == seawall.Enforce {
			return seawall.Result{RetryAfter: 3 * time.Second}, 0
		}
		l.inside++
		return seawall.Result{RetryAfter: 3 * time.Second}, 1
	}
	l.inside++
	return seawall.Result{Admitted: true}, 1
}

func (l *switchLayer) Begin(t seawall.Ticket, _ bool) (seawall.Result, seawall.Ticket) {
	l.begun++
	if l.full {
		l.inside--
		return seawall.Result{RetryAfter: 3 * time.Second}, 0
	}
	return seawall.Result{Admitted: true}, t
}

func (l *switchLayer) Leave(seawall.Ticket) { l.inside-- }

// counted is a store that counts, and fails when told to.
type counted struct {
	seawall.Store
	applies  int
	released int
	fail     func(ctx context.Context) error
}

func (s *counted) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.applies++
	if s.fail != nil {
		if err := s.fail(ctx); err != nil {
			return dst, err
		}
	}
	return s.Store.Apply(ctx, dst, checks)
}

func (s *counted) Release(ctx context.Context, leases ...seawall.Lease) error {
	s.released += len(leases)
	return s.Store.Release(ctx, leases...)
}

// recorder is an Observer that remembers.
type recorder struct {
	seawall.NopObserver
	events    []string
	fallbacks []string
	failed    []string
	inflight  map[string]int
	panics    bool
}

func (o *recorder) Decided(_ context.Context, _ *seawall.Request, e seawall.Event) {
	if o.panics {
		panic("observer bug")
	}
	o.events = append(o.events, e.Layer+":"+e.Policy+" "+e.Mode.String()+" "+e.Outcome.String())
}

func (o *recorder) Fallback(l *seawall.Limit, outcome seawall.Outcome, reason string) {
	o.fallbacks = append(o.fallbacks, l.Name()+" "+outcome.String()+" "+reason)
}

func (o *recorder) Inflight(layer string, delta int) {
	if o.inflight == nil {
		o.inflight = map[string]int{}
	}
	o.inflight[layer] += delta
}

func (o *recorder) Failed(what string, _ error) { o.failed = append(o.failed, what) }

func (o *recorder) take() []string {
	e := o.events
	o.events = nil
	return e
}

// fixture is a stack of all four layers: a bucket of 3, 2 in flight per caller, a fleet of 5 workers of
// which 1 is reserved, and a login policy that fails closed.
type fixture struct {
	*seawall.Stack
	store  *counted
	seen   *recorder
	worker *switchLayer
	modes  seawall.Fixed
}

type byName struct{ modes seawall.Fixed }

// Gate reads the modes at every request, so that tests can change them.
func (m byName) Gate(layer, policy string) seawall.Gate {
	name := layer
	if policy != "" {
		name += ":" + policy
	}
	return func(*seawall.Request) seawall.Mode { return m.modes[name] }
}

func setUp(t *testing.T) *fixture {
	t.Helper()
	mem := memstore.New(memstore.Config{})
	f := &fixture{store: &counted{Store: mem}, seen: &recorder{}, worker: newSwitch(t), modes: seawall.Fixed{}}
	rate, err := ratelimit.New(ratelimit.Config{Policies: []ratelimit.Policy{
		{Name: "api", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 3), Match: func(r *seawall.Request) bool { return r.Route != "/login" }},
		{
			Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 1), Match: func(r *seawall.Request) bool { return r.Route == "/login" },
			OnFailure: seawall.FailClosed,
		},
	}})
	require.NoError(t, err)
	slots, err := concurrency.New(concurrency.Config{MaxInFlight: 2})
	require.NoError(t, err)
	fleet, err := fleetshed.New(fleetshed.Config{Workers: 5, Reserve: 0.2})
	require.NoError(t, err)
	f.Stack, err = seawall.New(seawall.Config{
		Store: f.store, Observer: f.seen, Modes: byName{f.modes}, WaitClosed: 20 * time.Millisecond,
	}, rate, slots, fleet, f.worker)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Zero(t, f.worker.inside, "tickets not given back")
		for layer, n := range f.seen.inflight {
			assert.Zero(t, n, "in flight of %s", layer)
		}
		assert.NoError(t, mem.Close(context.Background()))
	})
	return f
}

func (f *fixture) admit(t *testing.T, r *seawall.Request) *seawall.Admission {
	t.Helper()
	if r.Key.IsZero() {
		r.Key = seawall.NewKey("caller")
	}
	a := f.Admit(context.Background(), r)
	t.Cleanup(func() { a.Done(context.Background()) })
	return a
}
