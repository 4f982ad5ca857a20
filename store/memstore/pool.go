package memstore

import "sync/atomic"

// sampled is how many states are looked at to find one to forget. It bounds what a new state costs, whatever
// is kept already.
const sampled = 8

// pool is one shard's part of the states that share a fate. It is sampled by iterating over the map, which
// begins at a random place.
type pool struct {
	states map[name]*state
	total  *atomic.Int64 // of all shards
}

func newPool(total *atomic.Int64) pool { return pool{map[name]*state{}, total} }

// put keeps st, in place of what had its name, and returns the new total.
func (p *pool) put(n name, st *state) (total int64) {
	before := len(p.states)
	p.states[n] = st
	return p.total.Add(int64(len(p.states) - before))
}

// drop forgets what has the name, if anything has.
func (p *pool) drop(n name) {
	before := len(p.states)
	delete(p.states, n)
	if len(p.states) < before {
		p.total.Add(-1)
	}
}

// dropIdle forgets the idle ones of so many, and tells whether there were any.
func (p *pool) dropIdle(sample int, now int64, inUse []evaluation) (found bool) {
	for n, st := range p.states {
		if sample--; sample < 0 {
			break
		}
		if !uses(inUse, st) && st.idle(now) {
			p.drop(n)
			found = true
		}
	}
	return found
}

// dropOne forgets an idle one of a sample or, if there is none, the one that was not spent from for longest.
// commits is the number of the shard's last commit.
func (p *pool) dropOne(now int64, commits uint32, inUse []evaluation) {
	var oldest name
	age, looked := int64(-1), 0
	for n, st := range p.states {
		if uses(inUse, st) {
			continue // there are few
		}
		if st.idle(now) {
			p.drop(n)
			return
		}
		if a := int64(commits - st.spent); a > age { // right also when the numbers began again at 0
			oldest, age = n, a
		}
		if looked++; looked == sampled {
			break
		}
	}
	if age >= 0 {
		p.drop(oldest)
	}
}

// uses tells whether the request that is being evaluated works on st, so that it must not be forgotten now.
func uses(inUse []evaluation, st *state) bool {
	for i := range inUse {
		if inUse[i].state == st {
			return true
		}
	}
	return false
}
