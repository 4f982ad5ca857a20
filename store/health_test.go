package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
)

// These tests ask when a shared store is given up, and when it is asked again. Latencies are drawn with a fixed seed.

func plenty(name string, f seawall.Failure) ratelimit.Policy {
	return ratelimit.Policy{
		Name: name, Quota: ratelimit.TokenBucket(ratelimit.PerSecond(100_000), 100_000), OnFailure: f,
		Match: func(r *seawall.Request) bool { return (r.Route == "login") == (name == "login") },
	}
}

func login() *seawall.Request { return &seawall.Request{Key: seawall.NewKey("a"), Route: "login"} }

// nowAndThen returns latencies: the usual one, and one in so many hundred the odd one.
func nowAndThen(usual, odd time.Duration, percent int) func() time.Duration {
	rnd := rand.New(rand.NewPCG(1, 2))
	return func() time.Duration {
		if rnd.IntN(100) < percent {
			return odd
		}
		return usual
	}
}

// breaks has the shared store fail until it is given up.
func (i *instance) breaks() {
	i.set(func(r *remote) { r.err = because("refused") })
	for !i.Open() {
		i.ask(by("a"))
		time.Sleep(5 * time.Millisecond)
	}
	i.set(func(r *remote) { r.err = nil })
}

// TestOthersImpatienceIsNoOutageOfLogins has a store that is too slow for most, and now and then for logins, too: those
// alone are refused.
func TestOthersImpatienceIsNoOutageOfLogins(t *testing.T) {
	for _, others := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			in := start(t, 0, 1, rates(t, plenty("login", seawall.FailClosed), plenty("api", seawall.FailLocal)))
			in.set(func(r *remote) { r.latency = nowAndThen(20*time.Millisecond, 150*time.Millisecond, 1) })
			denied, began := 0, time.Now()
			for time.Since(began) < 3*time.Minute {
				if others {
					in.ask(by("a"))
				}
				if d, _ := in.ask(login()); d.Denied {
					denied++
				}
				time.Sleep(50 * time.Millisecond)
			}
			assert.Less(t, denied, 75, "of 2,500 or so; others: %v", others)
		})
	}
}

// TestAStoreThatIsWellIsAskedAgain has one that is late now and then, which opens no breaker, and short outages one after
// the other.
func TestAStoreThatIsWellIsAskedAgain(t *testing.T) {
	for _, percent := range []int{2, 5, 10} {
		synctest.Test(t, func(t *testing.T) {
			in := start(t, 0, 1, rates(t, plenty("api", seawall.FailLocal)))
			in.set(func(r *remote) { r.latency = nowAndThen(2*time.Millisecond, 7*time.Millisecond, percent) })
			began := time.Now()
			for time.Since(began) < time.Minute {
				in.ask(by("a"))
				require.False(t, in.Open())
				time.Sleep(5 * time.Millisecond)
			}
			for n := range 7 {
				in.breaks()
				began = time.Now()
				for in.Open() {
					time.Sleep(10 * time.Millisecond)
				}
				assert.Less(t, time.Since(began), 15*time.Second, "%d %% late, outage %d", percent, n)
			}
		})
	}
}

// TestAProbeIsAsPatientAsTheStack has stacks that wait longer than by default, also longer than for what fails closed.
func TestAProbeIsAsPatientAsTheStack(t *testing.T) {
	for wait, latency := range map[time.Duration]time.Duration{50 * time.Millisecond: 10 * time.Millisecond, 200 * time.Millisecond: 150 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			in := start(t, 0, 1, rates(t, plenty("api", seawall.FailLocal)))
			stack, err := seawall.New(seawall.Config{Store: in.Failover, Wait: wait}, rates(t, plenty("api", seawall.FailLocal)))
			require.NoError(t, err)
			in.stack = stack
			in.set(func(r *remote) { r.slow = latency })
			for range 100 {
				_, results := in.ask(by("a"))
				require.False(t, results[0].Fallback)
			}
			in.breaks()
			time.Sleep(5 * time.Second)
			assert.False(t, in.Open())
		})
	}
}

// TestOneWhoIsPatientDoesNotSpeakForAll has a job that waits as long as it takes for a store that is too slow for
// requests: the breaker opens all the same.
func TestOneWhoIsPatientDoesNotSpeakForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layer := rates(t, plenty("api", seawall.FailLocal))
		in := start(t, 0, 1, layer)
		in.set(func(r *remote) { r.slow = 20 * time.Millisecond })
		job, err := ratelimit.NewBudget(in.Failover, layer)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				_, _ = job.Allow(context.Background(), by("job"))
				time.Sleep(10 * time.Millisecond)
			}
		}()
		late, began := 0, time.Now()
		for time.Since(began) < time.Minute {
			was := time.Now()
			in.ask(by("a"))
			if time.Since(was) > 0 {
				late++
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		assert.Less(t, late, 100, "waited for nothing")
		time.Sleep(time.Second)
	})
}

// TestOneWhoHasNoTimeDoesNotSpeakForAll has callers whose own deadlines are over.
func TestOneWhoHasNoTimeDoesNotSpeakForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layer := rates(t, plenty("api", seawall.FailLocal))
		in := start(t, 0, 1, layer)
		in.set(func(r *remote) { r.slow = time.Millisecond })
		job, err := ratelimit.NewBudget(in.Failover, layer)
		require.NoError(t, err)
		for _, patience := range []time.Duration{-time.Second, 100 * time.Microsecond} {
			for range 20 {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				_, err := job.Peek(ctx, by("job"))
				require.Error(t, err)
				cancel()
				time.Sleep(10 * time.Millisecond)
			}
		}
		assert.False(t, in.Open())
	})
}

// TestAReasonIsThatOfNow has a store that is gone at first, and loads then.
func TestAReasonIsThatOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 1, rates(t, plenty("api", seawall.FailLocal)))
		in.set(func(r *remote) { r.err = because("refused") })
		for !in.Open() {
			in.ask(by("a"))
			time.Sleep(5 * time.Millisecond)
		}
		in.set(func(r *remote) { r.err = because("loading") })
		time.Sleep(time.Second)
		checks := rates(t, plenty("api", seawall.FailLocal)).Plan(nil, by("a"))
		_, err := in.Failover.Apply(t.Context(), nil, checks)
		assert.Equal(t, "loading", seawall.Reason(err))
	})
}

func TestCloseBlamesWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remote{Store: memstore.New(memstore.Config{})}
		f, err := store.NewFailover(store.FailoverConfig{Shared: hanging{r}, Local: memstore.New(memstore.Config{})})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = f.Close(ctx)
		assert.EqualError(t, err, "it hangs")
		assert.NoError(t, r.Close(t.Context()))
	})
}

type hanging struct{ *remote }

func (hanging) Close(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("it hangs")
}
