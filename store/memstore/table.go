package memstore

import "math/bits"

// table is a shard's places, found by linear probing from the name's own. There is always one that was never used.
type table struct{ slots []slot }

// newTable returns a table with room for n states.
func newTable(n int) *table { return &table{places(placesFor(n))} }

// margin is what lies before the places of tables that are neither small nor large: Go puts eight bytes of its own there,
// and without it every second slot would lie on two cache lines.
type margin [56]byte

// places returns so many, a power of two, at a multiple of their size.
func places(n int) []slot {
	switch n {
	case 1 << 5:
		return new(struct {
			_     margin
			slots [1 << 5]slot
		}).slots[:]
	case 1 << 6:
		return new(struct {
			_     margin
			slots [1 << 6]slot
		}).slots[:]
	case 1 << 7:
		return new(struct {
			_     margin
			slots [1 << 7]slot
		}).slots[:]
	case 1 << 8:
		return new(struct {
			_     margin
			slots [1 << 8]slot
		}).slots[:]
	case 1 << 9:
		return new(struct {
			_     margin
			slots [1 << 9]slot
		}).slots[:]
	}
	return make([]slot, n)
}

// placesFor is in how many places n states take at most five of eight: a power of two, at least 8.
func placesFor(n int) int { return max(8, 1<<bits.Len(uint(max(0, n*8/5-1)))) }

// full tells whether n places are too many of it, used once or still: seven of ten.
func (t *table) full(n int) bool { return 10*n > 7*len(t.slots) }

// find returns the slot of a name, or nil. It needs no lock.
func (t *table) find(n name) *slot {
	places := t.slots
	for i := n.id; ; i++ {
		sl := &places[i&uint64(len(places)-1)]
		switch sl.id.Load() {
		case 0:
			return nil
		case n.id:
			if sl.check == n.check && sl.word.Load() != dead {
				return sl
			}
		}
	}
}

// insert takes a place for a state that has none, under the shard's lock.
func (t *table) insert(n name, word int64, c *cell, marks uint32) *slot {
	for i := n.id; ; i++ {
		sl := &t.slots[i&uint64(len(t.slots)-1)]
		if sl.id.Load() != 0 {
			continue
		}
		sl.check = n.check
		sl.word.Store(word)
		sl.cell.Store(c)
		sl.marks.Store(marks)
		sl.id.Store(n.id)
		return sl
	}
}
