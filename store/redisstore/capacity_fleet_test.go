package redisstore_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/store/redisstore"
)

// tenOf returns ten stores with ten workers each, which all see each other. Of these, so many are closed when the test
// ends.
func tenOf(t *testing.T, server *redistest.Server, every, ttl time.Duration, closed int) []*redisstore.Store {
	t.Helper()
	var all []*redisstore.Store
	for i := range 10 {
		s := tuned(t, connect(t, server), every, ttl, 10, 0)
		if i < closed {
			closeAtEnd(t, s)
		}
		all = append(all, s)
	}
	for _, s := range all {
		sees(t, s, seawall.Fleet{Instances: 10, Capacity: 100, Announced: true})
	}
	return all
}

// sample is what was published at a moment of Redis' clock.
type sample struct {
	at       time.Time
	capacity int64
}

// watch notes what is published until the function that it returns is called. A moment without any is left out.
func watch(t *testing.T, c *redis.Client) (seen func() []sample) {
	t.Helper()
	var all []sample
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for last := false; ; {
			pipe := c.TxPipeline()
			clock, capacity := pipe.Time(t.Context()), pipe.Get(t.Context(), capacityKey)
			_, _ = pipe.Exec(t.Context()) // a capacity that is absent is an error
			if n, err := capacity.Int64(); err == nil {
				all = append(all, sample{clock.Val(), n})
			}
			if last {
				return
			}
			select {
			case <-time.After(3 * time.Millisecond):
			case <-stop:
				last = true
			}
		}
	})
	return func() []sample {
		close(stop)
		watching.Wait()
		return all
	}
}

// shrinks checks that no sample is less than half of another that is younger than a TTL, and returns the capacities
// without repetitions.
func shrinks(t *testing.T, all []sample, ttl time.Duration) (steps []int64) {
	t.Helper()
	for i, now := range all {
		if i == 0 || all[i-1].capacity != now.capacity {
			steps = append(steps, now.capacity)
		}
		for k := i - 1; k >= 0 && now.at.Sub(all[k].at) < ttl; k-- {
			if now.capacity < (all[k].capacity+1)/2 {
				require.Failf(t, "collapsed", "from %d to %d within %v", all[k].capacity, now.capacity, now.at.Sub(all[k].at))
			}
		}
	}
	return steps
}

func TestNineOfTenDie(t *testing.T) {
	t.Parallel()
	const every, ttl = 50 * time.Millisecond, time.Second
	server := redistest.Start(t)
	all := tenOf(t, server, every, ttl, 1)
	seen := watch(t, patient(t, server.URL()))
	var dying sync.WaitGroup
	for _, s := range all[1:] {
		dying.Go(s.Die)
	}
	dying.Wait()
	sees(t, all[0], seawall.Fleet{Instances: 1, Capacity: 10, Announced: true})
	steps := shrinks(t, seen(), ttl)
	t.Log(steps)
	assert.EqualValues(t, 100, steps[0])
	assert.EqualValues(t, 10, steps[len(steps)-1])
	assert.GreaterOrEqual(t, len(steps), 5, "100, 50, 25, 13, 10, or others if not all are missed at once")
	assert.True(t, slices.IsSortedFunc(steps, func(a, b int64) int { return int(b - a) }))
}

func TestNineOfTenLeave(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := tenOf(t, server, 50*time.Millisecond, time.Hour, 10)
	c := connect(t, server)
	for i, s := range all[1:] {
		require.NoError(t, s.Close(short(t, soon)))
		assert.Equal(t, strconv.Itoa(100-10*(i+1)), c.Get(t.Context(), capacityKey).Val(), "at once")
	}
	sees(t, all[0], seawall.Fleet{Instances: 1, Capacity: 10, Announced: true})
	all[0].Join(4)
	sees(t, all[0], seawall.Fleet{Instances: 1, Capacity: 4, Announced: true})
	assert.Zero(t, c.Exists(t.Context(), floorsKey).Val())
}

// TestFrozenRedisDoesNotShrinkTheFleet freezes Redis until it has forgotten every heartbeat, and then also what was
// published.
func TestFrozenRedisDoesNotShrinkTheFleet(t *testing.T) {
	t.Parallel()
	const every, ttl = 50 * time.Millisecond, time.Second
	for name, frozen := range map[string]time.Duration{"past the TTL": 3 * ttl / 2, "past all": 4 * ttl} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			all := tenOf(t, server, every, ttl, 10)
			whole := seawall.Fleet{Instances: 10, Capacity: 100, Announced: true}
			stop := make(chan struct{})
			var watching sync.WaitGroup
			least := make([]int64, len(all))
			for i, s := range all {
				least[i] = 100
				watching.Go(func() {
					for {
						least[i] = min(least[i], s.Fleet().Capacity)
						select {
						case <-time.After(time.Millisecond):
						case <-stop:
							return
						}
					}
				})
			}
			server.Stop()
			time.Sleep(frozen) // how long Redis is frozen
			server.Cont()
			c := patient(t, server.URL())
			seen := watch(t, c)
			again := time.Now()
			require.Eventually(t, func() bool {
				return c.HLen(context.Background(), membersKey).Val() == 10 && c.Get(context.Background(), capacityKey).Val() == "100"
			}, soon, time.Millisecond)
			for _, s := range all {
				sees(t, s, whole)
			}
			t.Logf("all is as it was after %v", time.Since(again))
			close(stop)
			watching.Wait()
			assert.GreaterOrEqual(t, slices.Min(least), int64(50))
			t.Log("Redis: ", shrinks(t, seen(), ttl), ", instances at least: ", least)
		})
	}
}

// TestLostDataAndMostInstances empties Redis and ends all instances but one: what that one knows binds then.
func TestLostDataAndMostInstances(t *testing.T) {
	t.Parallel()
	const every, ttl = 50 * time.Millisecond, time.Second
	server := redistest.Start(t)
	all := tenOf(t, server, every, ttl, 1)
	c := patient(t, server.URL())
	var dying sync.WaitGroup
	for _, s := range all[1:] {
		dying.Go(s.Die)
	}
	dying.Wait()
	require.NoError(t, c.FlushAll(t.Context()).Err())
	seen := watch(t, c)
	sees(t, all[0], seawall.Fleet{Instances: 1, Capacity: 10, Announced: true})
	steps := shrinks(t, seen(), ttl)
	assert.Equal(t, []int64{50, 25, 13, 10}, steps)
}
