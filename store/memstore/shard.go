package memstore

import (
	"sync"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

const (
	shardBits = 6
	// shards is as many as a word has bits.
	shards = 1 << shardBits
	// maxRefused is how many refused states are kept beside MaxKeys.
	maxRefused = 100_000
	// spareSlots is how many states of slots, held or not, a shard keeps without looking for idle ones, so
	// that callers who come again and again cost no allocations.
	spareSlots = 64
	// sampledSlots is how many are looked at for each new one, so that about a third is idle at most.
	sampledSlots = 3
	// spareCells is how many of those are used again that it finds.
	spareCells = 8
	// sharedCells is how many cells a shard knows to be shared by new states: the rules in use should not be more.
	sharedCells = 32
)

// shard is a part of the keys. What decisions without the lock read is on a cache line of its own.
type shard struct {
	table  atomic.Pointer[table]
	newest atomic.Uint32 // numbers the states that came, to tell which was not spent from for longest
	_      [48]byte

	mu     sync.Mutex
	used   int // places of the table that are not empty
	counts [fates]int
	totals *[fates]atomic.Int64 // of all shards
	holds  []*cell              // of all states of slots
	cells  [sharedCells]*cell
	oldest int     // of cells
	spare  []*cell // of idle states of holders, for new ones of the kind
	lastID uint64
	due    int64 // when leases are to be renewed, in nanoseconds; there are none that want it before

	evaluated []evaluation  // of the request that holds this lock, if it is the first of its locks
	looked    seawall.State // of one word that is asked about
	_         [64]byte
}

// reserve sees to it that n more states have a place. Slots that were found before are not those of the shard any more.
func (sh *shard) reserve(n int) {
	if t := sh.table.Load(); t.full(sh.used + n) {
		sh.remake(t, n)
	}
}

// remake makes the table anew, with room for n more states. Whoever still works on the old one without a lock finds all
// its words dead, and looks again.
func (sh *shard) remake(old *table, n int) {
	sh.used = sh.kept()
	next := newTable(sh.used + n)
	for i := range old.slots {
		sl := &old.slots[i]
		if sl.kept() {
			next.insert(name{sl.id.Load(), sl.check}, sl.word.Swap(dead), sl.cell.Load(), sl.marks.Load())
		}
	}
	sh.table.Store(next)
}

// shrink makes the table anew if few of its places are in use.
func (sh *shard) shrink() {
	if t := sh.table.Load(); len(t.slots) > 4*placesFor(sh.kept()) {
		sh.remake(t, 0)
	}
}

// kept is how many states there are.
func (sh *shard) kept() (n int) {
	for _, of := range sh.counts {
		n += of
	}
	return n
}

// dropIdle forgets a state if it equals that of a key never seen, and tells whether it did: not if it is spent from
// at this moment.
func (sh *shard) dropIdle(sl *slot, now int64) bool {
	word, c := sl.word.Load(), sl.cell.Load()
	if !sh.idle(c, word, now) || !sl.word.CompareAndSwap(word, dead) {
		return false
	}
	if sl.fate() == slots && len(sh.spare) < spareCells {
		sh.spare = append(sh.spare, c)
	}
	sh.drop(sl)
	return true
}

// idle asks the rule. A state whose rule panics, on whosever behalf, is not idle.
func (sh *shard) idle(c *cell, word, now int64) (idle bool) {
	defer func() {
		if recover() != nil {
			idle = false
		}
	}()
	if c.step == nil {
		return c.rule.Idle(&c.more, now)
	}
	sh.looked.Word = word
	return c.rule.Idle(&sh.looked, now)
}

// insert takes a place, which was reserved, for a new state on which a request works.
func (sh *shard) insert(n name, c *cell, f fate) *slot {
	sh.used++
	sh.count(f, 1)
	if f == slots {
		c.at = int32(len(sh.holds))
		sh.holds = append(sh.holds, c)
	}
	return sh.table.Load().insert(n, locked, c, marks(f, sh.newest.Add(1)))
}

// count counts states of a fate, in this shard and in all.
func (sh *shard) count(f fate, more int) {
	sh.counts[f] += more
	sh.totals[f].Add(int64(more))
}

// move changes the fate of a state.
func (sh *shard) move(sl *slot, to fate) {
	sh.count(sl.fate(), -1)
	sh.count(to, 1)
	sl.marks.Store(marks(to, sh.newest.Load()))
}

// drop forgets a state.
func (sh *shard) drop(sl *slot) {
	f := sl.fate()
	if f == slots {
		sh.dropHold(sl.cell.Load())
	}
	sl.word.Store(dead)
	sl.cell.Store(nil)
	sh.count(f, -1)
}

// dropHold takes a cell out of those of slots.
func (sh *shard) dropHold(c *cell) {
	last := len(sh.holds) - 1
	moved := sh.holds[last]
	sh.holds[c.at], moved.at = moved, c.at
	sh.holds[last] = nil
	sh.holds = sh.holds[:last]
}

// holderCell returns a cell for a new state of slots: one of an idle state of the kind, if there is one, which equals it.
func (sh *shard) holderCell(r seawall.Rule) *cell {
	last := len(sh.spare) - 1
	if last < 0 {
		return newCell(r)
	}
	c := sh.spare[last]
	sh.spare[last] = nil
	sh.spare = sh.spare[:last]
	if c.rule.Kind() != r.Kind() {
		return newCell(r)
	}
	c.rule = r
	return c
}

// cellOf returns a cell for a new state of r, a shared one if that will do.
func (sh *shard) cellOf(r seawall.Rule) *cell {
	for _, known := range sh.cells {
		if known != nil && known.is(r) {
			return known
		}
	}
	c := newCell(r)
	if c.step != nil {
		sh.cells[sh.oldest] = c
		sh.oldest = (sh.oldest + 1) % sharedCells
	}
	return c
}
