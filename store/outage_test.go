package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// remote plays a shared store as one instance of several sees it: it can fail, be slow, panic, and counts what it
// is asked.
type remote struct {
	*memstore.Store
	mu      sync.Mutex
	fleet   seawall.Fleet
	err     error
	slow    time.Duration        // how long it takes to answer
	latency func() time.Duration // the same, if it differs
	panics  bool
	asked   int
	probed  int
	claimed []seawall.Lease
}

func (r *remote) set(f func(r *remote)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}

// answers waits as it is told and returns the error.
func (r *remote) answers(ctx context.Context) error {
	r.mu.Lock()
	slow, err, panics := r.slow, r.err, r.panics
	if r.latency != nil {
		slow = r.latency()
	}
	r.mu.Unlock()
	if panics {
		panic("bug in the store")
	}
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (r *remote) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	r.set(func(r *remote) { r.asked++ })
	if err := r.answers(ctx); err != nil {
		return dst, err
	}
	return r.Store.Apply(ctx, dst, checks)
}

func (r *remote) Probe(ctx context.Context) error {
	r.set(func(r *remote) { r.probed++ })
	return r.answers(ctx)
}

func (r *remote) Claim(leases ...seawall.Lease) {
	r.set(func(r *remote) { r.claimed = append(r.claimed, leases...) })
}

func (r *remote) Fleet() seawall.Fleet {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fleet
}

func (r *remote) calls() (asked, probed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, r.probed
}

// instance is a Failover of a remote, in virtual time.
type instance struct {
	*store.Failover
	*remote
	stack *seawall.Stack
	log   *said
}

// said is what was logged.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (i *instance) Open() bool { return i.Failover.Open() }

// start starts an instance with the layers; n of them share, and this is the i-th.
func start(t *testing.T, i, n int64, layers ...seawall.Layer) *instance {
	t.Helper()
	in := &instance{log: &said{}, remote: &remote{
		Store: memstore.New(memstore.Config{}),
		fleet: seawall.Fleet{Instances: n, Index: i, Announced: true},
	}}
	var err error
	in.Failover, err = store.NewFailover(store.FailoverConfig{
		Shared: in.remote, Local: memstore.New(memstore.Config{}), Logger: slog.New(slog.NewTextHandler(in.log, nil)),
	})
	require.NoError(t, err)
	in.stack, err = seawall.New(seawall.Config{Store: in.Failover}, layers...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, in.stack.Close(context.Background())) })
	return in
}

func rates(t *testing.T, policies ...ratelimit.Policy) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Policies: policies})
	require.NoError(t, err)
	return l
}

// ask decides about a request that is over at once.
func (i *instance) ask(r *seawall.Request) (seawall.Decision, []seawall.Result) {
	a := i.stack.Admit(context.Background(), r)
	results := slices.Clone(a.Results())
	a.Done(context.Background())
	return a.Decision(), results
}

func by(who string) *seawall.Request { return &seawall.Request{Key: seawall.NewKey(who)} }

func api(q ratelimit.Quota) ratelimit.Policy { return ratelimit.Policy{Name: "api", Quota: q} }

// TestTenInstancesShareALimitWithoutRedis spreads a caller's requests evenly over ten instances for a minute.
func TestTenInstancesShareALimitWithoutRedis(t *testing.T) {
	const instances, seconds = 10, 60
	for name, c := range map[string]struct {
		quota ratelimit.Quota
		limit int // in that time
	}{
		"bucket":               {ratelimit.TokenBucket(ratelimit.PerSecond(10), 20), 20 + 10*seconds},
		"odd bucket":           {ratelimit.TokenBucket(ratelimit.PerSecond(7), 13), 13 + 7*seconds},
		"log":                  {ratelimit.SlidingLog(25, 10*time.Second), 25 * seconds / 10},
		"counter":              {ratelimit.SlidingCounter(25, 10*time.Second), 25 * (seconds/10 + 1)},
		"window":               {ratelimit.FixedWindow(33, ratelimit.Every(10*time.Second)), 33 * (seconds/10 + 1)},
		"smaller than a fleet": {ratelimit.FixedWindow(3, ratelimit.Every(time.Hour)), 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			fleet := make([]*instance, instances)
			for i := range fleet {
				fleet[i] = start(t, int64(i), instances, rates(t, api(c.quota)))
				fleet[i].set(func(r *remote) { r.err = because("refused") })
			}
			admitted := 0
			for n := range seconds * 100 { // a hundred a second
				if d, _ := fleet[n%instances].ask(by("a")); !d.Denied {
					admitted++
				}
				time.Sleep(10 * time.Millisecond)
			}
			assert.LessOrEqual(t, float64(admitted), 1.0*float64(c.limit), name)
			if name != "counter" { // whose shares are too small to be spent to the last
				assert.GreaterOrEqual(t, float64(admitted), 0.8*float64(c.limit), name)
			}
			for _, in := range fleet {
				assert.True(t, in.Open(), name)
			}
		})
	}
}

type because string

func (b because) Error() string  { return "because of " + string(b) }
func (b because) Reason() string { return string(b) }

// TestSharesStartFromWhatWasLeft has others spend before the shared store goes: what they left is shared.
func TestSharesStartFromWhatWasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, q := range map[string]ratelimit.Quota{
			"bucket":  ratelimit.TokenBucket(ratelimit.PerDay(1), 100),
			"log":     ratelimit.SlidingLog(100, 24*time.Hour),
			"counter": ratelimit.SlidingCounter(100, 24*time.Hour),
			"window":  ratelimit.FixedWindow(100, ratelimit.Monthly(1)),
		} {
			in := start(t, 1, 4, rates(t, api(q)))
			others := func(n int) {
				rule, err := q.Rule()
				require.NoError(t, err)
				limit, err := seawall.NewLimit(ratelimit.Name, "api", seawall.FailLocal)
				require.NoError(t, err)
				_, err = in.Store.Apply(t.Context(), nil, []seawall.Check{{Limit: limit, Rule: rule, Key: seawall.NewKey("a"), Cost: int64(n)}})
				require.NoError(t, err)
			}
			others(39)
			in.ask(by("a")) // of which the last answer tells: 60 are left
			in.set(func(r *remote) { r.err = because("refused") })
			admitted := 0
			for range 100 {
				if d, _ := in.ask(by("a")); !d.Denied {
					admitted++
				}
			}
			assert.Equal(t, 15, admitted, name)
			fresh := 0
			for range 100 {
				if d, _ := in.ask(by("b")); !d.Denied {
					fresh++
				}
			}
			assert.Equal(t, 25, fresh, "%s: of a caller who has spent nothing", name)
		}
	})
}

// TestAChangedFleetForgetsItsOldShares: what an instance counted alone is not too much for its share of two.
func TestAChangedFleetForgetsItsOldShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 1, rates(t, api(ratelimit.FixedWindow(100, ratelimit.Monthly(1)))))
		for range 60 {
			in.ask(by("a"))
		}
		in.set(func(r *remote) { r.fleet.Instances = 2 })
		in.ask(by("a"))
		in.set(func(r *remote) { r.err = because("refused") })
		admitted := 0
		for range 100 {
			if d, _ := in.ask(by("a")); !d.Denied {
				admitted++
			}
		}
		assert.Contains(t, []int{19, 20}, admitted, "half of 39")
	})
}

func TestACostThatNoShareHoldsTakesAllOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, q := range map[string]ratelimit.Quota{
			"bucket": ratelimit.TokenBucket(ratelimit.PerHour(10), 10),
			"window": ratelimit.FixedWindow(10, ratelimit.Monthly(1)),
			"log":    ratelimit.SlidingLog(10, time.Hour), "counter": ratelimit.SlidingCounter(10, time.Hour),
		} {
			in := start(t, 0, 5, rates(t, api(q)))
			in.set(func(r *remote) { r.err = because("refused") })
			d, _ := in.ask(&seawall.Request{Key: seawall.NewKey("a"), Cost: 7})
			assert.False(t, d.Denied, name)
			d, _ = in.ask(by("a"))
			assert.True(t, d.Denied, name)
			assert.Positive(t, d.RetryAfter, name)
			d, _ = in.ask(&seawall.Request{Key: seawall.NewKey("b"), Cost: 11})
			assert.True(t, d.Denied, name)
			assert.Equal(t, seawall.Never, d.RetryAfter, "%s: it does not fit the limit either", name)
		}
	})
}

func TestWithoutAShareACallerIsToldToTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admitted := 0
		for i := range int64(10) {
			in := start(t, i, 10, rates(t, api(ratelimit.FixedWindow(3, ratelimit.Monthly(1)))))
			in.set(func(r *remote) { r.err = because("refused") })
			d, _ := in.ask(by("a"))
			if !d.Denied {
				admitted++
				continue
			}
			assert.Equal(t, time.Second, d.RetryAfter)
			assert.Equal(t, seawall.CauseQuota, d.Cause)
		}
		assert.Equal(t, 3, admitted)
	})
}

func TestBeforeAnyContactTheExpectedInstancesShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remote{Store: memstore.New(memstore.Config{}), err: because("refused"), fleet: seawall.Fleet{Instances: 1}}
		f, err := store.NewFailover(store.FailoverConfig{Shared: r, Local: memstore.New(memstore.Config{}), ExpectedInstances: 4})
		require.NoError(t, err)
		stack, err := seawall.New(seawall.Config{Store: f}, rates(t, api(ratelimit.TokenBucket(ratelimit.PerDay(1), 100))))
		require.NoError(t, err)
		defer stack.Close(context.Background())
		in := &instance{Failover: f, remote: r, stack: stack}
		admitted := 0
		for range 100 {
			if d, _ := in.ask(by("a")); !d.Denied {
				admitted++
			}
		}
		assert.Equal(t, 25, admitted)
		r.set(func(r *remote) { r.fleet.Announced = true }) // it is alone after all
		for range 200 {
			if d, _ := in.ask(by("b")); !d.Denied {
				admitted++
			}
		}
		assert.Equal(t, 125, admitted)
	})
}

// TestPolicies has the shared store fail in every way, and every policy meet it.
func TestPolicies(t *testing.T) {
	for name, breaks := range map[string]func(r *remote){
		"timeout": func(r *remote) { r.slow = time.Hour },
		"refused": func(r *remote) { r.err = because("refused") },
		"panic":   func(r *remote) { r.panics = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			policy := func(name string, f seawall.Failure) ratelimit.Policy {
				return ratelimit.Policy{
					Name: name, Quota: ratelimit.TokenBucket(ratelimit.PerDay(1), 4), OnFailure: f,
					Match: func(r *seawall.Request) bool { return r.Route == name },
				}
			}
			in := start(t, 0, 2, rates(t, policy("local", seawall.FailLocal), policy("open", seawall.FailOpen), policy("closed", seawall.FailClosed)))
			in.set(breaks)
			for range 2 { // with the breaker closed, and open
				admitted := map[string]int{}
				for range 30 {
					for _, route := range []string{"local", "open", "closed"} {
						began := time.Now()
						d, results := in.ask(&seawall.Request{Key: seawall.NewKey("a"), Route: route})
						assert.LessOrEqual(t, time.Since(began), seawall.DefaultWaitClosed)
						require.Len(t, results, 1)
						assert.True(t, results[0].Fallback)
						if !d.Denied {
							admitted[route]++
						}
						time.Sleep(time.Millisecond)
						if route == "closed" {
							assert.Equal(t, seawall.CauseUnavailable, d.Cause)
							assert.Equal(t, time.Second, d.RetryAfter)
						}
					}
				}
				assert.Equal(t, 30, admitted["open"], name)
				assert.Zero(t, admitted["closed"], name)
				assert.LessOrEqual(t, admitted["local"], 2, name)
			}
			assert.Equal(t, name != "panic", in.Open(), "%s: a bug in it does not give up the store for everybody", name)
		})
	}
}

// TestWhatIsGivenUpIsNotAsked counts what reaches the shared store while the breaker is open: a probe every 250 to
// 750 ms, which is one question as long as it fails; and when it is well, it is asked again within a second.
func TestWhatIsGivenUpIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 1, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1000))))
		for range 10 {
			in.ask(by("a"))
		}
		in.set(func(r *remote) { r.err = because("readonly") })
		for !in.Open() {
			in.ask(by("a"))
			time.Sleep(10 * time.Millisecond)
		}
		asked, probed := in.calls()
		began := time.Now()
		for time.Since(began) < 10*time.Second {
			in.ask(by("a"))
			time.Sleep(10 * time.Millisecond)
		}
		askedNow, probedNow := in.calls()
		assert.Equal(t, asked, askedNow)
		assert.Greater(t, probedNow-probed, 10)
		assert.Less(t, probedNow-probed, 40)

		in.set(func(r *remote) { r.err = nil })
		began = time.Now()
		for in.Open() {
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		assert.LessOrEqual(t, time.Since(began), time.Second)
		_, results := in.ask(by("a"))
		assert.False(t, results[0].Fallback)
		lines := strings.Split(strings.TrimSpace(in.log.String()), "\n")
		require.Len(t, lines, 3, in.log.String())
		assert.Contains(t, lines[0], "by this instance's shares")
		assert.Contains(t, lines[0], "reason=readonly")
		assert.Contains(t, lines[1], "fail closed refuse")
		assert.Contains(t, lines[2], "asked again")
	})
}

// TestABlipIsNoOutageForLogins has a store that answers after 20 ms: too late for most, but what fails closed waits,
// and is not given up with the rest.
func TestABlipIsNoOutageForLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := ratelimit.Policy{
			Name: "login", Quota: ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1000), OnFailure: seawall.FailClosed,
			Match: func(r *seawall.Request) bool { return r.Route == "login" },
		}
		in := start(t, 0, 1, rates(t, closed, api(ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1000))))
		in.set(func(r *remote) { r.slow = 20 * time.Millisecond })
		for range 1000 {
			in.ask(by("a"))
			d, _ := in.ask(&seawall.Request{Key: seawall.NewKey("a"), Route: "login"})
			require.False(t, d.Denied)
			time.Sleep(time.Millisecond)
		}
		require.True(t, in.Open(), "too slow for all others")
		in.set(func(r *remote) { r.slow = time.Hour })
		time.Sleep(5 * time.Second)
		began := time.Now()
		d, _ := in.ask(&seawall.Request{Key: seawall.NewKey("a"), Route: "login"})
		assert.True(t, d.Denied)
		assert.Zero(t, time.Since(began), "a probe has found out that it is gone; no login had to wait for that")
		in.set(func(r *remote) { r.slow = 0 })
		time.Sleep(2 * time.Second)
		assert.False(t, in.Open())
	})
}

// TestABrownOutDoesNotFlap has a store that answers after 1 to 7 ms, as 4 ± 3, for a minute.
func TestABrownOutDoesNotFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 1, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1000))))
		began, changes, was := time.Now(), 0, false
		for n := 0; time.Since(began) < time.Minute; n++ {
			in.set(func(r *remote) { r.slow = time.Duration(1+n*5%7) * time.Millisecond })
			d, _ := in.ask(by("a"))
			assert.False(t, d.Denied)
			if in.Open() != was {
				was = !was
				changes++
			}
			time.Sleep(2 * time.Millisecond)
		}
		assert.LessOrEqual(t, changes, 2)
	})
}

// TestSlotsGrantedWhileGivenUpAreClaimed tells the shared store of what it was not asked about.
func TestSlotsGrantedWhileGivenUpAreClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, err := concurrency.New(concurrency.Config{MaxInFlight: 4})
		require.NoError(t, err)
		in := start(t, 0, 2, slots)
		in.set(func(r *remote) { r.err = because("refused") })
		for !in.Open() {
			in.ask(by("a"))
			time.Sleep(10 * time.Millisecond)
		}
		require.Empty(t, in.claimed, "what it was asked about it knows by itself")
		var held []*seawall.Admission
		for range 3 {
			held = append(held, in.stack.Admit(t.Context(), by("a")))
		}
		assert.Len(t, in.claimed, 2, "a share of two; the third was refused")
		for _, a := range held {
			a.Done(t.Context())
		}
		a := in.stack.Admit(t.Context(), by("a"))
		assert.False(t, a.Decision().Denied, "they came back")
		a.Done(t.Context())
	})
}

// TestCloseDoesNotWaitForWhatHangs closes while the shared store hangs.
func TestCloseDoesNotWaitForWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 1, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(1000), 1000))))
		in.set(func(r *remote) { r.slow = time.Hour })
		for !in.Open() {
			in.ask(by("a"))
		}
		time.Sleep(400 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		assert.NoError(t, in.Close(ctx))
		assert.Less(t, time.Since(began), time.Second)
	})
}

func TestFailoverConfigErrorsNameFieldAndValue(t *testing.T) {
	ok := func() store.FailoverConfig {
		return store.FailoverConfig{Shared: memstore.New(memstore.Config{}), Local: memstore.New(memstore.Config{})}
	}
	for want, spoil := range map[string]func(c *store.FailoverConfig){
		"Shared and Local are required": func(c *store.FailoverConfig) { c.Local = nil },
		"no seawall.Prober":             func(c *store.FailoverConfig) { c.Shared = struct{ seawall.Store }{c.Shared} },
		"ExpectedInstances is -1":       func(c *store.FailoverConfig) { c.ExpectedInstances = -1 },
		"ExpectedInstances is 10000000": func(c *store.FailoverConfig) { c.ExpectedInstances = 10_000_000 },
	} {
		c := ok()
		for _, s := range []seawall.Store{c.Shared, c.Local} {
			t.Cleanup(func() { _ = s.(interface{ Close(context.Context) error }).Close(context.Background()) })
		}
		spoil(&c)
		_, err := store.NewFailover(c)
		assert.ErrorContains(t, err, want)
	}
}

// TestAnOddAnswerIsAnError has a shared store that answers too few checks.
func TestAnOddAnswerIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 1, rates(t, api(ratelimit.TokenBucket(ratelimit.PerDay(1), 3))))
		f, err := store.NewFailover(store.FailoverConfig{Shared: silent{in.remote}, Local: memstore.New(memstore.Config{})})
		require.NoError(t, err)
		defer f.Close(context.Background())
		limit, err := seawall.NewLimit("ratelimit", "api", seawall.FailLocal)
		require.NoError(t, err)
		rule, err := ratelimit.TokenBucket(ratelimit.PerDay(1), 3).Rule()
		require.NoError(t, err)
		results, err := f.Apply(t.Context(), nil, []seawall.Check{{Limit: limit, Rule: rule, Key: seawall.NewKey("a"), Cost: 1}})
		assert.ErrorContains(t, err, "answered 0 of 1 checks")
		require.Len(t, results, 1)
		assert.True(t, results[0].Committed && results[0].Fallback)
	})
}

type silent struct{ *remote }

func (silent) Apply(_ context.Context, dst []seawall.Result, _ []seawall.Check) ([]seawall.Result, error) {
	return dst, nil
}
