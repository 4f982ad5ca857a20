package memstore

import (
	"hash/maphash"
	"math"
	"reflect"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// name is what the state of one key of one limit is kept under: 96 bits of hashes, of which nobody knows the seed of the
// first 64. It takes less room than the texts, and keeps none of them. Among 10^6 names two meet in one of 10^17 stores,
// and nobody can choose a key that meets another's, or with whom it shares a shard.
type name struct {
	id    uint64 // not 0
	check uint32
}

// locate returns where a state is kept. The shard is the same for all limits of a key.
func locate(seed maphash.Seed, k seawall.Key, l *seawall.Limit) (shard uint64, n name) {
	of := maphash.String(seed, k.String())
	n.id = max(1, of^l.Hash())
	n.check = uint32((k.Hash() ^ l.Hash()) >> 32)
	return of >> (64 - shardBits), n
}

// fate is what becomes of a state when room is needed.
type fate uint32

const (
	open    fate = iota // it makes room for another open one
	refused             // it has refused since it was last spent from, and is not forgotten until it is idle
	slots               // it is of a Holder; idle ones make room for new ones, others are never forgotten
	fates               // how many there are
)

// Words that are no rule's.
const (
	locked = math.MinInt64 + iota // a request works on the state
	dead                          // it is not kept any more; the place is used again when the table is made anew
	least                         // whatever is less is no rule's
)

// slot is a place for one state, half a cache line: all that a decision about a bucket touches. Between two tables its
// name does not change, so that it can be found without a lock. A state of one word is changed by whoever swaps the word
// from what it was; one of more than that by who holds the shard's lock.
type slot struct {
	id    atomic.Uint64 // 0: nothing was ever here
	word  atomic.Int64
	cell  atomic.Pointer[cell]
	check uint32 // set before id
	marks atomic.Uint32
}

// The marks of a slot are its fate, whether it was spent from since the last sweep, and the number of its shard's newest
// state when it was.
const (
	fateMask  = 3
	recently  = 4
	spentBits = 3
)

func marks(f fate, newest uint32) uint32 { return newest<<spentBits | recently | uint32(f) }

func (sl *slot) fate() fate { return fate(sl.marks.Load() & fateMask) }

// spent notes that the state was spent from, when the shard's newest was that one.
func (sl *slot) spent(newest uint32) {
	if was := sl.marks.Load(); was|fateMask != marks(fateMask, newest) {
		sl.marks.CompareAndSwap(was, marks(fate(was&fateMask), newest))
	}
}

// age is how many states came since it was spent from. It is right also when their numbers began again at 0.
func (sl *slot) age(newest uint32) uint32 {
	return (newest<<spentBits - sl.marks.Load()&^(1<<spentBits-1)) >> spentBits
}

// rests tells whether the state was not spent from since rests was asked last.
func (sl *slot) rests() bool {
	was := sl.marks.Load()
	if was&recently != 0 {
		sl.marks.CompareAndSwap(was, was&^recently)
	}
	return was&recently == 0
}

// kept tells whether there is a state in the slot.
func (sl *slot) kept() bool { return sl.id.Load() != 0 && sl.word.Load() != dead }

// lock takes the word, under the shard's lock.
func (sl *slot) lock() int64 {
	for {
		if word := sl.word.Load(); sl.word.CompareAndSwap(word, locked) {
			return word
		}
	}
}

// unlock puts a word where one was taken, if the slot still is one that is kept.
func (sl *slot) unlock(word int64) { sl.word.CompareAndSwap(locked, word) }

// cell is what a state has besides its word. States of one word share the one of their rule, which does not change.
type cell struct {
	rule seawall.Rule    // of the last commit or refusal
	step seawall.Stepper // the same if its states are one word, or nil
	// If they are not, under the shard's lock, as rule is then:
	more  seawall.State
	fleet bool  // it is of FleetKey
	at    int32 // among its shard's cells of slots
}

// is tells whether the cell's states are words of r.
func (c *cell) is(r seawall.Rule) bool { return c.step != nil && c.rule == r }

// newCell returns a cell for states of r; those of more than a word need one each.
func newCell(r seawall.Rule) *cell {
	c := &cell{rule: r}
	if _, holds := r.(seawall.Holder); !holds && reflect.ValueOf(r).Comparable() {
		c.step, _ = r.(seawall.Stepper)
	}
	return c
}
