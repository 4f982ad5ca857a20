package memstore

import "github.com/seawall-go/seawall"

// step decides about a single check of a state of one word that is kept, without a lock: whoever swaps the word has
// decided about what it was. It tells whether it did; all else is for evaluate.
func (s *Store) step(dst []seawall.Result, c *seawall.Check) ([]seawall.Result, bool) {
	shard, n := locate(s.seed, c.Key, c.Limit)
	sh := &s.shards[shard]
	sl := sh.table.Load().find(n)
	if sl == nil {
		return dst, false
	}
	known := sl.cell.Load()
	if known == nil || !known.is(c.Rule) {
		return dst, false
	}
	for {
		word := sl.word.Load()
		if word < least {
			return dst, false
		}
		now := s.nanos() // behind the word: time does not step back between two decisions on a key
		next, spent, ok := known.step.Step(word, now, c)
		admitted := ok || c.CountOnly
		if admitted != (sl.fate() == open) {
			return dst, false // its fate changes
		}
		if admitted {
			next = spent
		}
		if next != word && !sl.word.CompareAndSwap(word, next) {
			continue
		}
		if admitted {
			sl.spent(sh.newest.Load())
		}
		if c.Timed {
			c.At = now
		}
		dst = append(dst, seawall.Result{})
		known.step.Tell(&dst[len(dst)-1], word, now, admitted, c)
		return dst, true
	}
}
