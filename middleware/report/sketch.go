package report

import (
	"container/heap"

	"github.com/seawall-go/seawall"
)

// sketch counts callers by Space-Saving: it knows the most frequent ones of any number, in so many places. Not safe for
// concurrent use.
type sketch struct {
	places int
	known  map[seawall.Key]*entry
	order  entries // the least counted first
}

// entry is one place of a sketch.
type entry struct {
	key   seawall.Key
	index int // in the order
	count int64
	error int64 // how much of count may be of who had the place before
	seen
}

// find returns the entry of a caller, nil if there is none.
func (s *sketch) find(k seawall.Key) *entry { return s.known[k] }

// count counts a caller once. It takes the place of the least counted one if all are taken; then gone is whose.
func (s *sketch) count(k seawall.Key) (e *entry, gone seawall.Key) {
	e = s.known[k]
	switch {
	case e != nil:
		e.count++
		heap.Fix(&s.order, e.index)
		return e, gone
	case len(s.order) < s.places:
		e = &entry{key: k, count: 1}
		heap.Push(&s.order, e)
	default:
		e = s.order[0]
		gone = e.key
		delete(s.known, gone)
		*e = entry{key: k, count: e.count + 1, error: e.count}
		heap.Fix(&s.order, 0)
	}
	s.known[k] = e
	return e, gone
}

// unlistedAtMost bounds the count of a caller that has no place.
func (s *sketch) unlistedAtMost() int64 {
	if len(s.order) < s.places {
		return 0
	}
	return s.order[0].count
}

// entries implements heap.Interface.
type entries []*entry

// Len implements heap.Interface.
func (o *entries) Len() int { return len(*o) }

// Less implements heap.Interface.
func (o *entries) Less(i, j int) bool { return (*o)[i].count < (*o)[j].count }

// Swap implements heap.Interface.
func (o *entries) Swap(i, j int) {
	all := *o
	all[i], all[j] = all[j], all[i]
	all[i].index, all[j].index = i, j
}

// Push implements heap.Interface.
func (o *entries) Push(x any) {
	e := x.(*entry)
	e.index = len(*o)
	*o = append(*o, e)
}

// Pop implements heap.Interface.
func (o *entries) Pop() any {
	all := *o
	last := all[len(all)-1]
	*o = all[:len(all)-1]
	return last
}
