package memstore_test

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/race"
	"github.com/seawall-go/seawall/store/memstore"
)

// heap is how much memory is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestI5Flood lets 100,000 callers be refused and 1,000,000 others come after them.
func TestI5Flood(t *testing.T) {
	refused, others, maxKeys := 100_000, 1_000_000, 0
	if race.Detector {
		refused, others, maxKeys = 20_000, 100_000, 10_000
		t.Log("fewer callers, and memory is not measured: the race detector takes time, and memory of its own")
	}
	before := heap()
	s, _ := small(t, maxKeys)
	c := perDay(t, "api", 1)
	for i := range refused {
		k := numbered("refused-", i)
		first, _ := ask(t, s, c, k)
		second, _ := ask(t, s, c, k)
		if !first.Admitted || second.Admitted {
			t.Fatal("the first is to be admitted and the second refused", first, second)
		}
	}
	begin := time.Now()
	for i := range others {
		if r, _ := ask(t, s, c, numbered("other-", i)); !r.Admitted {
			t.Fatal("another caller is refused")
		}
	}
	took, grown := time.Since(begin), heap()-before
	for i := range refused {
		if r, _ := ask(t, s, c, numbered("refused-", i)); r.Admitted {
			t.Fatal("a refused caller was forgotten")
		}
	}
	assert.Equal(t, memstore.Counts{Refused: refused, Open: s.MaxKeys()}, s.Counts())
	t.Logf("%v per new caller, the heap grew by %.1f MB", took/time.Duration(others), float64(grown)/1e6)
	if !race.Detector {
		assert.LessOrEqual(t, grown, int64(64_000_000))
	}
}

func TestHeldSlotsAreNeverForgotten(t *testing.T) {
	s, _ := small(t, 1_000)
	slot, rate := slotsOf(t, 1), perDay(t, "api", 2)
	const holders, others = 6_000, 20_000
	var held []seawall.Lease
	for i := range holders {
		r, l := ask(t, s, slot, numbered("holder-", i))
		require.True(t, r.Committed)
		held = append(held, l)
	}
	for i := range others {
		_, l := ask(t, s, slot, numbered("other-", i))
		require.NoError(t, s.Release(t.Context(), l))
		ask(t, s, rate, numbered("other-", i))
	}
	assert.Less(t, s.Counts().Slots, 2*holders, "those that are idle again went")
	assert.Equal(t, s.Recount(), s.Counts())
	for i := range holders {
		if r, _ := ask(t, s, slot, numbered("holder-", i)); r.Admitted {
			t.Fatal("a held slot was forgotten")
		}
	}
	require.NoError(t, s.Release(t.Context(), held...))
	s.Sweep()
	assert.Zero(t, s.Counts().Slots)
	assert.InDelta(t, 1_000, s.Counts().Open, memstore.Shards)
}

func TestIdleSlotsMakeRoomBetweenSweeps(t *testing.T) {
	s, _ := small(t, 0)
	c := slotsOf(t, 1)
	for i := range 50_000 {
		r, l := ask(t, s, c, numbered("", i))
		require.True(t, r.Committed)
		require.NoError(t, s.Release(t.Context(), l))
	}
	assert.LessOrEqual(t, s.Counts().Slots, memstore.SpareSlots)
}

// TestKeysByHashSpread chooses keys by what everybody can compute.
func TestKeysByHashSpread(t *testing.T) {
	s, _ := small(t, 0)
	seen := map[uint64]int{}
	for i, n := 0, 0; n < 1_000; i++ {
		if k := numbered("", i); k.Hash()%64 == 0 {
			seen[s.ShardOf(k)]++
			n++
		}
	}
	assert.Greater(t, len(seen), 50)
}

// counting counts how often the store asks whether a state is idle.
type counting struct {
	seawall.Rule
	asked *atomic.Int64
}

func (c counting) Idle(s *seawall.State, now int64) bool {
	c.asked.Add(1)
	return c.Rule.Idle(s, now)
}

// TestOneShardFull knows the seeds, and has all callers in one shard, many of them refused.
func TestOneShardFull(t *testing.T) {
	s, _ := small(t, 500)
	c := perDay(t, "api", 1)
	var asked atomic.Int64
	c.Rule = counting{c.Rule, &asked}
	next := 0
	key := func() seawall.Key {
		for {
			next++
			if k := numbered("", next); s.ShardOf(k) == 0 {
				return k
			}
		}
	}
	var refused []seawall.Key
	for range 2_000 {
		k := key()
		ask(t, s, c, k)
		ask(t, s, c, k)
		refused = append(refused, k)
	}
	for range 3_000 {
		before := asked.Load()
		ask(t, s, c, key())
		require.LessOrEqual(t, asked.Load()-before, int64(memstore.Sampled))
	}
	assert.Equal(t, memstore.Counts{Refused: 2_000, Open: 500}, s.Counts())
	for _, k := range refused {
		before := asked.Load()
		r, _ := ask(t, s, c, k)
		require.False(t, r.Admitted)
		require.LessOrEqual(t, asked.Load()-before, int64(memstore.Sampled+1))
	}
}

// TestAFloodLeavesNoTables lets many callers come and their states become idle.
func TestAFloodLeavesNoTables(t *testing.T) {
	if race.Detector {
		t.Skip("memory is not measured: the race detector takes some of its own")
	}
	s, advance := small(t, 200_000)
	c := perDay(t, "api", 1)
	before := heap()
	for i := range 200_000 {
		ask(t, s, c, numbered("", i))
	}
	full := heap() - before
	advance(24 * time.Hour)
	s.Sweep()
	require.Zero(t, s.Counts())
	left := heap() - before
	t.Logf("%.1f MB, of which %.1f MB are left", float64(full)/1e6, float64(left)/1e6)
	assert.Less(t, left, full/10)
	runtime.KeepAlive(s)
}

// TestManyRulesShareTheirCells has new callers asked about more rules than a few: a state of one word takes its slot, and
// nothing else.
func TestManyRulesShareTheirCells(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	s, _ := small(t, 64)
	var checks []seawall.Check
	for i := range 12 {
		checks = append(checks, perDay(t, "policy-"+strconv.Itoa(i), 1_000))
	}
	keys := make([]seawall.Key, 30_000)
	for i := range keys {
		keys[i] = numbered("", i)
	}
	results := make([]seawall.Result, 0, len(checks))
	i := 0
	come := func() {
		for j := range checks {
			checks[j].Key, checks[j].ID = keys[i], 0
		}
		i++
		if _, err := s.Apply(t.Context(), results, checks); err != nil {
			t.Fatal(err)
		}
	}
	for range 10_000 {
		come()
	}
	assert.Less(t, testing.AllocsPerRun(10_000, come), 3.0, "some tables, but no cells")
}
