package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goroutines is how many ask at the same time in process, and strike how often before they look at the time.
const goroutines, strike = 2, 64

// The limits of deciding in process: one number that everybody changes, and what no limiter per key can do without.
const (
	atomicAdd   = "atomic add"
	lookUpClock = "map look-up and clock"
)

func limitsInMemory() []inMemory {
	return []inMemory{
		{atomicAdd, func(testing.TB, quota, []string) func() ask {
			var n atomic.Int64
			return func() ask { return func(uint32) bool { return n.Add(1) > 0 } }
		}},
		{lookUpClock, func(_ testing.TB, _ quota, keys []string) func() ask {
			at, began := make(map[string]time.Duration, len(keys)), time.Now()
			for _, k := range keys {
				at[k] = -1
			}
			return func() ask { return func(i uint32) bool { return time.Since(began) > at[keys[i]] } }
		}},
	}
}

// inProcess is about the lines that are decided in process.
func (b *bench) inProcess(t *testing.T) {
	for _, c := range inMemories() {
		limits(t, c)
	}
	all := slices.Concat(inMemories(), limitsInMemory())
	few := b.decisions(t, all, b.pace.keys)
	var peers []string
	for _, c := range inMemories()[1:] {
		peers = append(peers, c.name)
	}
	for _, c := range all {
		b.rec.Everybody = append(b.rec.Everybody, Row{c.name, few.of(c.name, cost), few.of(c.name, "allocs").Median, few.of(c.name, "bytes").Median})
	}
	many := b.decisions(t, []inMemory{all[0], all[1], all[2], all[len(all)-2], all[len(all)-1]}, b.pace.many)
	for _, l := range []struct {
		name  string
		s     series
		peers []string
	}{{"decision-10k", few, peers}, {"decision-1m", many, peers[:2]}} {
		ratio := l.s.ratio(cost, ours, sethvargo)
		b.line(Line{
			Name: l.name, Ours: l.s.of(ours, cost), Peer: l.s.best(cost, false, l.peers...),
			Limit: l.s.other(lookUpClock, cost), Ratio: &ratio,
		})
		b.line(Line{
			Name: l.name + "-allocs", Ours: l.s.of(ours, "allocs"), Peer: l.s.best("allocs", false, l.peers...),
		})
	}
}

// limits asserts that a candidate limits, each key for itself.
func limits(t *testing.T, c inMemory) {
	t.Helper()
	ask := c.build(t, five, names(2))()
	for n := range 5 {
		require.True(t, ask(0), "%s: request %d of 5", c.name, n+1)
	}
	for range 3 {
		require.False(t, ask(0), "%s: the sixth request of a key that may make five", c.name)
	}
	require.True(t, ask(1), "%s: another key has its own five", c.name)
}

// decisions measures the candidates with so many keys, all of which they have met before.
func (b *bench) decisions(t *testing.T, all []inMemory, keys int) series {
	t.Helper()
	texts, order := names(keys), inTurn(keys)
	var subjects []subject
	once := map[string]figures{}
	for _, c := range all {
		before := heap()
		asks := c.build(t, inexhaustible, texts)
		first := asks()
		for _, i := range shuffled(keys) {
			require.True(t, first(i), c.name)
		}
		bytes := float64(heap()-before) / float64(keys)
		i := uint32(0)
		allocs := allocations(min(keys, 5000), func() {
			first(i)
			i = (i + 1) % uint32(keys)
		})
		once[c.name] = figures{"allocs": allocs, "bytes": max(0, bytes)}
		subjects = append(subjects, subject{c.name, func(d time.Duration) figures {
			ns, refused := together(d, goroutines, strike, order, asks)
			assert.Zero(t, refused, "%s: nobody is over the limit", c.name)
			return figures{cost: ns}
		}})
	}
	s := interleave(b.rnd, b.pace.rounds, b.pace.round, subjects...)
	for name, f := range once {
		for i := range s[name] {
			s[name][i]["allocs"], s[name][i]["bytes"] = f["allocs"], f["bytes"]
		}
	}
	return s
}

// names are the keys of as many callers, all different.
func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("customer-%08d", i)
	}
	return all
}

// heap is what is live on it.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers and pools let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// together has n goroutines ask for a while, about keys in the given order, and returns the wall time of an ask over all
// of them, in ns. Whether the time is over is looked at once in a strike of asks.
func together(d time.Duration, n, strike int, order []uint32, asks func() ask) (ns float64, refused int64) {
	var asked, no atomic.Int64
	var over atomic.Bool
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for g := range n {
		ready.Add(1)
		done.Go(func() {
			ask := asks()
			at := g * len(order) / n
			ready.Done()
			<-start
			count, bad := 0, 0
			for !over.Load() {
				for range strike {
					if !ask(order[at]) {
						bad++
					}
					if at++; at == len(order) {
						at = 0
					}
				}
				count += strike
			}
			asked.Add(int64(count))
			no.Add(int64(bad))
		})
	}
	ready.Wait()
	timer := time.AfterFunc(d, func() { over.Store(true) })
	defer timer.Stop()
	began := time.Now()
	close(start)
	done.Wait()
	return float64(time.Since(began).Nanoseconds()) / float64(asked.Load()), no.Load()
}

// inTurn are the numbers below n. Keys are taken in the order in which their texts lie in memory, since a server has just read
// the one that it asks about; what limiters keep of them lies in another one, in which they came first.
func inTurn(n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}

// shuffled are the numbers below n in an order without pattern, so that every key has its turn.
func shuffled(n int) []uint32 {
	order := make([]uint32, n)
	for i, k := range rand.New(rand.NewPCG(1, 7)).Perm(n) {
		order[i] = uint32(k)
	}
	return order
}
