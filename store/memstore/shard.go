package memstore

import (
	"sync"

	"github.com/seawall-go/seawall"
)

const (
	// shards is as many as a word has bits.
	shards = 64
	// maxRefused is how many refused states are kept beside MaxKeys.
	maxRefused = 100_000
	// spareSlots is how many states of slots, held or not, a shard keeps without looking for idle ones, so
	// that callers who come again and again cost no allocations.
	spareSlots = 64
	// sampledSlots is how many are looked at for each new one, so that about a third is idle at most.
	sampledSlots = 3
)

// shard is a part of the keys, with the states of each fate.
type shard struct {
	mu sync.Mutex
	// slots are of rules that are Holders. Idle ones make room for new ones, others are never forgotten:
	// there are no more than requests in flight.
	slots pool
	// refused have refused since they were last spent from. They are not forgotten until they are idle.
	refused pool
	// open are all others. They make room for each other.
	open pool
	// commits numbers the commits to what is now open, to tell which is oldest.
	commits uint32
}

// find returns the state of a check, a new one if there is none or it is another kind of rule's.
func (sh *shard) find(n name, r seawall.Rule) *state {
	var st *state
	if _, ok := r.(seawall.Holder); ok {
		st = sh.slots.states[n]
	} else if st = sh.open.states[n]; st == nil {
		st = sh.refused.states[n]
	}
	if st == nil || st.rule.Kind() != r.Kind() {
		return &state{}
	}
	return st
}

// keep keeps a state that was committed to, and forgets another if it is one too many.
func (s *Store) keep(r seawall.Rule, e *evaluation, now int64, inUse []evaluation) {
	sh, st := &s.shards[e.shard], e.state
	known := st.rule != nil
	st.rule = r
	if _, ok := r.(seawall.Holder); ok {
		if !known {
			sh.keepSlots(e.name, st, now, inUse)
		}
		return
	}
	sh.commits++
	st.spent = sh.commits
	if known && !st.refused {
		return
	}
	st.refused = false
	sh.refused.drop(e.name)
	if sh.open.put(e.name, st) > s.maxKeys {
		sh.open.dropOne(now, sh.commits, inUse)
	}
}

// keepSlots keeps a new state of slots, and sees to it that idle ones stay few between two sweeps, too.
func (sh *shard) keepSlots(n name, st *state, now int64, inUse []evaluation) {
	if len(sh.slots.states) >= spareSlots {
		sh.slots.dropIdle(sampledSlots, now, inUse)
	}
	sh.slots.put(n, st)
}

// protect keeps a state that has refused from being forgotten, if there is a place or an idle one has one.
func (s *Store) protect(r seawall.Rule, e *evaluation, now int64, inUse []evaluation) {
	sh, st := &s.shards[e.shard], e.state
	if st.rule == nil {
		return
	}
	st.rule = r // by which the caller was told how long it owes
	if st.refused {
		return
	}
	if _, ok := st.rule.(seawall.Holder); ok || st.idle(now) {
		return
	}
	if sh.refused.put(e.name, st) > s.maxRefused && !sh.refused.dropIdle(sampled, now, inUse) {
		sh.refused.drop(e.name)
		sh.commits++
		st.spent = sh.commits // no place is left; at least it is not the next to go
		return
	}
	st.refused = true
	sh.open.drop(e.name)
}

// reset forgets the state of a check.
func (sh *shard) reset(r seawall.Rule, e *evaluation) {
	if _, ok := r.(seawall.Holder); ok {
		sh.slots.drop(e.name)
	} else {
		sh.open.drop(e.name)
		sh.refused.drop(e.name)
	}
	*e.state = state{} // another check of the request may be on it, and finds it as new
}
