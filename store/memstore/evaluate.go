package memstore

import (
	"math/bits"

	"github.com/seawall-go/seawall"
)

// place is where the state of a check is kept.
type place struct {
	shard uint64
	name  name
}

// evaluation is one check of a request that holds the locks of its shards.
type evaluation struct {
	place
	rule  seawall.Rule
	same  *evaluation    // an earlier one on the same state, which has the next four
	slot  *slot          // nil: nothing of the rule's kind is kept
	cell  *cell          // of slot
	state *seawall.State // that is kept, or word
	word  seawall.State  // if it is one word, or new
	seen  seawall.Observation
	ok    bool
}

// evaluate is the atomic step for any checks. It holds the locks of their shards, and those words that are states of
// theirs.
func (s *Store) evaluate(dst []seawall.Result, checks []seawall.Check) []seawall.Result {
	var buf [8]place
	places, locks := buf[:0], uint64(0)
	for i := range checks {
		shard, n := locate(s.seed, checks[i].Key, checks[i].Limit)
		places, locks = append(places, place{shard, n}), locks|1<<shard
	}
	if locks == 0 {
		return dst
	}
	s.lock(locks)
	first := &s.shards[bits.TrailingZeros64(locks)]
	if cap(first.evaluated) < len(checks) {
		first.evaluated = make([]evaluation, 0, max(8, len(checks)))
	}
	evaluated := first.evaluated[:len(checks)]
	for i := range evaluated {
		evaluated[i] = evaluation{place: places[i], rule: checks[i].Rule}
	}
	defer s.settle(locks, evaluated)
	for rest := locks; rest != 0; rest &= rest - 1 {
		s.shards[bits.TrailingZeros64(rest)].reserve(len(checks))
	}
	for i := range checks {
		s.shards[places[i].shard].find(&evaluated[i], evaluated[:i])
	}
	return s.decide(dst, checks, evaluated)
}

// lock takes the locks of the shards in order.
func (s *Store) lock(locks uint64) {
	for ; locks != 0; locks &= locks - 1 {
		s.shards[bits.TrailingZeros64(locks)].mu.Lock()
	}
}

// settle gives back the words and the locks.
func (s *Store) settle(locks uint64, evaluated []evaluation) {
	for i := range evaluated {
		if e := &evaluated[i]; e.slot != nil {
			e.slot.unlock(e.word.Word)
			e.slot = nil // its table is kept no longer than the shard has it
		}
	}
	for ; locks != 0; locks &= locks - 1 {
		s.shards[bits.TrailingZeros64(locks)].mu.Unlock()
	}
}

// find finds the state of a check, a new one if there is none or it is another kind of rule's. What was found for an
// earlier check of the request is the same.
func (sh *shard) find(e *evaluation, before []evaluation) {
	for i := range before {
		if b := &before[i]; b.place == e.place && b.same == nil && b.rule.Kind() == e.rule.Kind() {
			e.same = b
			return
		}
	}
	e.state = &e.word
	sl := sh.table.Load().find(e.name)
	if sl == nil {
		return
	}
	c := sl.cell.Load()
	if !c.is(e.rule) && c.rule.Kind() != e.rule.Kind() {
		return
	}
	e.slot, e.cell = sl, c
	if c.step != nil {
		e.word.Word = sl.lock()
	} else {
		e.state = &c.more
	}
}

// root is the evaluation that has the state.
func (e *evaluation) root() *evaluation {
	if e.same != nil {
		return e.same
	}
	return e
}

// decide runs the rules.
func (s *Store) decide(dst []seawall.Result, checks []seawall.Check, evaluated []evaluation) []seawall.Result {
	env := s.env() // when nobody else can decide: time does not step back between two decisions on a key
	enforced, all := true, true
	for i := range checks {
		c, e := &checks[i], &evaluated[i]
		sh := &s.shards[e.shard]
		s.catchUp(sh, env)
		if c.ID == 0 {
			c.ID = sh.number(e.shard)
		}
		if c.Op <= seawall.Peek {
			e.seen, e.ok = c.Rule.Check(e.root().state, env, c)
		}
		if c.Op == seawall.Spend {
			e.ok = e.ok || c.CountOnly
			all = all && e.ok
			enforced = enforced && (e.ok || c.Advisory)
		}
	}
	for i := range checks {
		c, e := &checks[i], &evaluated[i]
		if c.Timed && c.Op != seawall.Refund {
			c.At = env.Now
		}
		if c.Op > seawall.Peek {
			dst = append(dst, s.undo(c, e.root(), env, evaluated))
			continue
		}
		committed := c.Op == seawall.Spend && (all || enforced && !c.Advisory)
		switch {
		case committed:
			s.keep(c, e.root(), env.Now, evaluated)
			c.Rule.Commit(e.root().state, env, c)
		case !e.ok:
			s.protect(c.Rule, e.root(), env.Now, evaluated)
		}
		dst = append(dst, c.Rule.Result(e.seen, e.ok, committed, env, c))
	}
	return dst
}

// undo refunds or resets.
func (s *Store) undo(c *seawall.Check, e *evaluation, env seawall.Env, inUse []evaluation) seawall.Result {
	if c.Op == seawall.Reset {
		s.shards[e.shard].reset(e.name, inUse)
	} else if r, ok := c.Rule.(seawall.Refunder); ok && e.slot != nil {
		r.Refund(e.state, env, c)
	}
	return seawall.Result{Admitted: true, Committed: true}
}
