package httpcontract

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/internal/fixture"
)

// patience bounds waits for what happens soon.
const patience = 20 * time.Second

func slots(t testing.TB, n, longLived int64) *concurrency.Limiter {
	t.Helper()
	l, err := concurrency.New(concurrency.Config{MaxInFlight: n, MaxLongLived: longLived})
	require.NoError(t, err)
	return l
}

// recorded is a stack with plenty for everybody, and what its layer sees.
func recorded(t testing.TB) (*seawall.Stack, *record) {
	t.Helper()
	rec := newRecord()
	return fixture.Stack(t, seawall.Config{Store: fixture.Memory(t, nil), Observer: rec}, fixture.Rate(t, fixture.Policy("api", 1_000_000))), rec
}

// caller is who asks where it does not matter who.
func caller() seawall.Key { return seawall.NewKey("caller") }

func ok(w http.ResponseWriter, _ *http.Request) error {
	_, err := w.Write([]byte("ok"))
	return err
}

// one are the routes GET, HEAD and POST of a path, which answer "ok".
func one(path string) []Route { return handled(path, ok) }

func handled(path string, h Handler) []Route {
	return []Route{{http.MethodGet, path, h}, {http.MethodHead, path, h}, {http.MethodPost, path, h}}
}

// behind is an app whose GET, HEAD and POST / answer "ok", behind a stack that all ask as one caller.
func (a Adapter) behind(t *testing.T, s *seawall.Stack) *api {
	t.Helper()
	return a.serve(t, App{Routes: one("/"), Guards: []Guard{{Stack: s, Identify: fixture.AsCaller}}})
}

// record is an Observer that keeps what it is told.
type record struct {
	seawall.NopObserver
	mu   sync.Mutex
	all  []seen
	held map[string]int
}

// seen is what a layer saw of a request.
type seen struct {
	route                    string
	tier                     seawall.Tier
	key                      seawall.Key
	longLived, authenticated bool
}

func newRecord() *record { return &record{held: map[string]int{}} }

func (r *record) Decided(_ context.Context, q *seawall.Request, _ seawall.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, seen{q.Route, q.Tier, q.Key, q.LongLived, q.Authenticated})
}

func (r *record) Inflight(layer string, delta int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[layer] += delta
}

// take returns what was seen since it was last called.
func (r *record) take() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// last returns the only one that was seen since.
func (r *record) last(t *testing.T) seen {
	t.Helper()
	all := r.take()
	require.Len(t, all, 1)
	return all[0]
}

// slots is how much is held, in all layers.
func (r *record) slots() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, held := range r.held {
		n += held
	}
	return n
}

// free waits until nothing is held: a client may have its answer a moment before.
func (r *record) free(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return r.slots() == 0 }, patience, time.Millisecond, "something is still held")
}

// counting is a store that keeps what it is asked.
type counting struct {
	seawall.Store
	mu      sync.Mutex
	asked   int
	buckets map[string]bool
}

func counted(s seawall.Store) *counting { return &counting{Store: s, buckets: map[string]bool{}} }

func (s *counting) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	s.mu.Lock()
	s.asked++
	for i := range checks {
		s.buckets[checks[i].Limit.Name()+" "+checks[i].Key.String()] = true
	}
	s.mu.Unlock()
	return s.Store.Apply(ctx, dst, checks)
}

// told returns how often it was asked, and about how many buckets.
func (s *counting) told() (asked, buckets int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, len(s.buckets)
}

// broken is a store that fails.
type broken struct {
	fail func(ctx context.Context) error
}

func (s broken) Apply(ctx context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	return dst, s.fail(ctx)
}

func (s broken) Release(ctx context.Context, _ ...seawall.Lease) error { return s.fail(ctx) }

func (s broken) Probe(ctx context.Context) error { return s.fail(ctx) }
