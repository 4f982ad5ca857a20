package memstore

import "math/rand/v2"

// sampled is how many states are looked at to find one to forget. Where open ones are few among others, which is so only if
// MaxKeys is small, all places of a shard may have to be passed to find them.
const sampled = 8

// sample calls look with states of one fate, from a random place on, until it returns false or there are no more. Names
// are hashes, so neighbours have nothing in common. A state that the request itself works on is left out.
func (sh *shard) sample(f fate, places int, inUse []evaluation, look func(sl *slot) bool) {
	t := sh.table.Load()
	places = min(places, len(t.slots))
	at := rand.Uint64() //nolint:gosec // no secret
	for i := range uint64(places) {
		sl := &t.slots[(at+i)&uint64(len(t.slots)-1)]
		if sl.kept() && sl.fate() == f && !uses(inUse, sl) && !look(sl) {
			return
		}
	}
}

// dropSomeIdle forgets the idle ones of so many, and tells whether there were any. Where such states are rare, it looks at
// fewer: some cache lines are enough for one that a sweep will find.
func (sh *shard) dropSomeIdle(f fate, sample int, now int64, inUse []evaluation) (found bool) {
	sh.sample(f, 8*sampled, inUse, func(sl *slot) bool {
		found = sh.dropIdle(sl, now) || found
		sample--
		return sample > 0
	})
	return found
}

// dropOne forgets an open state that is idle, of a sample, or else the one that was not spent from for longest.
func (sh *shard) dropOne(now int64, inUse []evaluation) {
	var oldest *slot
	age, looked := int64(-1), 0
	newest := sh.newest.Load()
	sh.sample(open, len(sh.table.Load().slots), inUse, func(sl *slot) bool {
		if sh.dropIdle(sl, now) {
			oldest = nil
			return false
		}
		if a := int64(sl.age(newest)); a > age {
			oldest, age = sl, a
		}
		looked++
		return looked < sampled
	})
	if oldest != nil {
		sh.drop(oldest)
	}
}

// uses tells whether the request that is being evaluated works on the state, so that it must not be forgotten now.
func uses(inUse []evaluation, sl *slot) bool {
	for i := range inUse {
		if inUse[i].slot == sl {
			return true
		}
	}
	return false
}
