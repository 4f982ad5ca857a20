package store_test

import (
	"context"
	"math/rand/v2"
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

// These tests ask how near a decision without the shared store comes to what that would have said.

// late is a shared store that executes what it was sent although its caller has given up meanwhile.
type late struct{ *remote }

func (l late) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	type answer struct {
		results []seawall.Result
		err     error
	}
	mine := append([]seawall.Check(nil), checks...)
	out := make(chan answer, 1)
	latency := l.latency()
	go func() {
		time.Sleep(latency)
		results, err := l.Store.Apply(context.Background(), nil, mine)
		out <- answer{results, err}
	}()
	select {
	case a := <-out:
		return append(dst, a.results...), a.err
	case <-ctx.Done():
		return dst, ctx.Err()
	}
}

// TestNoTokenIsSpentForTheDenied has a brown-out of 4 ± 3 ms, and a caller who asks for ten times the limit: whose
// requests are refused here had better wait for what the shared store says, or their tokens are lost.
func TestNoTokenIsSpentForTheDenied(t *testing.T) {
	for _, n := range []int64{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			r := &remote{
				Store: memstore.New(memstore.Config{}), fleet: seawall.Fleet{Instances: n, Announced: true},
				latency: func() time.Duration { return time.Millisecond + time.Duration(rnd.Int64N(int64(6*time.Millisecond))) },
			}
			f, err := store.NewFailover(store.FailoverConfig{Shared: late{r}, Local: memstore.New(memstore.Config{})})
			require.NoError(t, err)
			stack, err := seawall.New(seawall.Config{Store: f}, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(10), 10))))
			require.NoError(t, err)
			in := &instance{Failover: f, remote: r, stack: stack}
			admitted, began := 0, time.Now()
			for time.Since(began) < time.Minute {
				if d, _ := in.ask(by("a")); !d.Denied {
					admitted++
				}
				time.Sleep(8 * time.Millisecond)
			}
			time.Sleep(time.Second)
			require.NoError(t, stack.Close(context.Background()))
			assert.InEpsilon(t, 610, admitted, 0.05, "%d instances", n)
		})
	}
}

// TestAnExhaustedCallerOfTodayIsNotOneOfTomorrow has the shared store's clock be 200 ms behind this instance's.
func TestAnExhaustedCallerOfTodayIsNotOneOfTomorrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which begins at midnight
		in := start(t, 0, 1, rates(t, api(ratelimit.FixedWindow(100, ratelimit.Every(10*time.Minute)))))
		require.NoError(t, in.Store.Close(t.Context()))
		in.Store = memstore.New(memstore.Config{Now: func() time.Time { return time.Now().Add(-200 * time.Millisecond) }})
		time.Sleep(time.Minute)
		for range 101 {
			in.ask(by("a"))
		}
		time.Sleep(9*time.Minute - time.Second)
		for range 40 { // over the boundary
			in.ask(by("a"))
			time.Sleep(50 * time.Millisecond)
		}
		in.set(func(r *remote) { r.err = because("refused") })
		time.Sleep(8 * time.Minute)
		d, _ := in.ask(by("a"))
		assert.False(t, d.Denied)
	})
}

func TestWhatWasGivenBackIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layer := rates(t, api(ratelimit.FixedWindow(100, ratelimit.Monthly(1))))
		in := start(t, 0, 1, layer)
		budget, err := ratelimit.NewBudget(in.Failover, layer)
		require.NoError(t, err)
		spent, err := budget.Allow(t.Context(), &seawall.Request{Key: seawall.NewKey("a"), Cost: 100})
		require.NoError(t, err)
		require.True(t, spent.Admitted)
		require.NoError(t, budget.Refund(t.Context(), spent))
		in.set(func(r *remote) { r.err = because("refused") })
		d, _ := in.ask(by("a"))
		assert.False(t, d.Denied)
	})
}

// TestALogGivesBackInTime has most of a log's requests be a window old when the shared store goes.
func TestALogGivesBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 1, rates(t, api(ratelimit.SlidingLog(100, time.Hour))))
		for range 98 {
			in.ask(by("a"))
		}
		time.Sleep(59 * time.Minute)
		for _, n := range []int64{2, 1} { // a deploy
			in.set(func(r *remote) { r.fleet.Instances = n })
			in.ask(by("a"))
		}
		time.Sleep(2 * time.Minute)
		_, results := in.ask(by("a"))
		require.EqualValues(t, 97, results[0].Remaining)
		in.set(func(r *remote) { r.err = because("refused") })
		admitted := 0
		for range 200 {
			if d, _ := in.ask(by("a")); !d.Denied {
				admitted++
			}
		}
		assert.Equal(t, 97, admitted)
	})
}

// TestWhatComesBackMeanwhileCounts waits between the last answer and the outage.
func TestWhatComesBackMeanwhileCounts(t *testing.T) {
	for waited, want := range map[time.Duration]int{0: 0, 550 * time.Millisecond: 5, time.Second: 10, time.Minute: 20} {
		synctest.Test(t, func(t *testing.T) {
			in := start(t, 0, 1, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(10), 20))))
			for range 21 {
				in.ask(by("a"))
			}
			in.set(func(r *remote) { r.err = because("refused") })
			time.Sleep(waited)
			admitted := 0
			for range 40 {
				if d, _ := in.ask(by("a")); !d.Denied {
					admitted++
				}
			}
			assert.Equal(t, want, admitted, "%v", waited)
		})
	}
}

// TestABlockedCallerSpendsNothing of the other limits that its requests would meet, also without the shared store.
func TestABlockedCallerSpendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := ratelimit.Policy{Name: "account", Quota: ratelimit.FixedWindow(10, ratelimit.Daily())}
		address := ratelimit.Policy{
			Name: "address", Quota: ratelimit.FixedWindow(10, ratelimit.Daily()),
			Key: func(r *seawall.Request) seawall.Key { return seawall.NewKey(r.Route) },
			Plan: func(r *seawall.Request) string {
				if r.Route == "bad" {
					return ratelimit.PlanBlock
				}
				return ""
			},
		}
		for _, down := range []bool{false, true} {
			in := start(t, 0, 1, rates(t, account, address))
			if down {
				in.set(func(r *remote) { r.err = because("refused") })
			}
			for range 10 {
				d, _ := in.ask(&seawall.Request{Key: seawall.NewKey("victim"), Route: "bad"})
				require.True(t, d.Denied)
			}
			d, _ := in.ask(&seawall.Request{Key: seawall.NewKey("victim"), Route: "good"})
			assert.False(t, d.Denied, "down: %v", down)
		}
	})
}

// TestAnIDThatIsSetIsKept tries again with the same checks, after an error that may have taken the slot, which is
// released for that reason.
func TestAnIDThatIsSetIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, err := concurrency.New(concurrency.Config{MaxInFlight: 1})
		require.NoError(t, err)
		in := start(t, 0, 1, slots)
		checks := slots.Plan(nil, by("a"))
		in.set(func(r *remote) { r.err = because("timeout") })
		_, err = in.Failover.Apply(t.Context(), nil, checks)
		require.Error(t, err)
		first := checks[0].ID
		require.NoError(t, in.Release(t.Context(), seawall.Lease{
			Limit: checks[0].Limit, Rule: checks[0].Rule.(seawall.Holder), Key: checks[0].Key, ID: first,
		}))
		in.set(func(r *remote) { r.err = nil })
		results, err := in.Failover.Apply(t.Context(), nil, checks)
		require.NoError(t, err)
		assert.Equal(t, first, checks[0].ID)
		assert.True(t, results[0].Committed)
	})
}

// TestSlotsThatFailOpenAreClaimed, since they are held, whatever the shared store would have said.
func TestSlotsThatFailOpenAreClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, err := concurrency.New(concurrency.Config{MaxInFlight: 2, OnFailure: seawall.FailOpen})
		require.NoError(t, err)
		in := start(t, 0, 1, slots)
		in.set(func(r *remote) { r.err = because("refused") })
		for !in.Open() {
			in.ask(by("a"))
			time.Sleep(10 * time.Millisecond)
		}
		var held []*seawall.Admission
		for range 4 {
			held = append(held, in.stack.Admit(t.Context(), by("a")))
		}
		assert.Len(t, in.claimed, 4)
		for _, a := range held {
			a.Done(t.Context())
		}
	})
}

// TestSlotsAgreeInTheEnd has everything fail in turns; then nothing is held that nobody holds.
func TestSlotsAgreeInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, err := concurrency.New(concurrency.Config{MaxInFlight: 6})
		require.NoError(t, err)
		in := start(t, 0, 2, slots, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(50), 10))))
		ended := make(chan struct{})
		for g := range 12 {
			go func() {
				for n := range 300 {
					a := in.stack.Admit(context.Background(), by("a"))
					time.Sleep(time.Duration((n*13+g*7)%30) * time.Millisecond)
					a.Done(context.Background())
				}
				ended <- struct{}{}
			}()
		}
		for i := range 40 {
			time.Sleep(70 * time.Millisecond)
			in.set(func(r *remote) {
				r.err, r.slow, r.panics = nil, 0, i%4 == 3
				switch i % 4 {
				case 1:
					r.err = because("refused")
				case 2:
					r.slow = 7 * time.Millisecond
				}
			})
		}
		in.set(func(r *remote) { r.err, r.slow, r.panics = nil, 0, false })
		for range 12 {
			<-ended
		}
		time.Sleep(30 * time.Second)
		in.set(func(r *remote) { r.err = because("refused") })
		held := 0
		for range 10 {
			if a := in.stack.Admit(context.Background(), by("a")); a.Results()[0].Committed {
				held++
			}
		}
		assert.Equal(t, 3, held, "half of six")
	})
}

// odd is a rule of a comparable type whose values are not.
type odd struct {
	seawall.Sharer
	more any
}

func TestARuleThatCannotBeComparedIsNoPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := start(t, 0, 2, rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(1), 1))))
		checks := rates(t, api(ratelimit.TokenBucket(ratelimit.PerSecond(1), 1))).Plan(nil, by("a"))
		checks[0].Rule = odd{checks[0].Rule.(seawall.Sharer), []int{1}}
		for _, err := range []error{nil, because("refused")} {
			in.set(func(r *remote) { r.err = err })
			assert.NotPanics(t, func() { _, _ = in.Failover.Apply(t.Context(), nil, checks) })
		}
	})
}
