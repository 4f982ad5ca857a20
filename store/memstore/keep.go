package memstore

import "github.com/seawall-go/seawall"

// keep keeps a state that is about to be committed to, and forgets another if it is one too many.
func (s *Store) keep(c *seawall.Check, e *evaluation, now int64, inUse []evaluation) {
	sh := &s.shards[e.shard]
	holder, holds := c.Rule.(seawall.Holder)
	if holds {
		sh.hold(holder, now)
	}
	switch {
	case e.slot != nil && holds:
		sh.follow(e, c.Rule)
		return
	case holds:
		sh.place(e, c.Rule, slots, now, inUse)
		e.cell.fleet = c.Key == s.fleetKey
		return
	case e.slot == nil:
		sh.place(e, c.Rule, open, now, inUse)
	default:
		sh.follow(e, c.Rule)
		if e.slot.spent(sh.newest.Load()); e.slot.fate() == open {
			return
		}
		sh.move(e.slot, open)
	}
	if s.totals[open].Load() > s.maxKeys {
		sh.dropOne(now, inUse)
	}
}

// place takes a slot for a state that has none. Idle slots of holders make room for it, so that they stay few between two
// sweeps, too.
func (sh *shard) place(e *evaluation, r seawall.Rule, f fate, now int64, inUse []evaluation) {
	if other := sh.table.Load().find(e.name); other != nil { // of another kind
		sh.forget(other, inUse)
	}
	if f == slots && sh.counts[slots] >= spareSlots {
		sh.dropSomeIdle(slots, sampledSlots, now, inUse)
	}
	if f == slots && e.word.Word == 0 && e.word.More == nil {
		e.cell = sh.holderCell(r)
		e.state = &e.cell.more
	} else if e.cell = sh.cellOf(r); e.cell.step == nil {
		e.cell.more, e.word = e.word, seawall.State{}
		e.state = &e.cell.more
	}
	e.slot = sh.insert(e.name, e.cell, f)
}

// follow has the state go by r, of its own kind, from now on.
func (sh *shard) follow(e *evaluation, r seawall.Rule) {
	switch {
	case e.cell.is(r):
	case e.cell.step == nil:
		e.cell.rule = r
	default:
		c := sh.cellOf(r)
		if c.step != nil {
			e.slot.cell.Store(c)
			e.cell = c
			return
		}
		f := e.slot.fate()
		sh.drop(e.slot) // whoever takes the word for the state must not find it again
		c.more, e.cell, e.state, e.word = e.word, c, &c.more, seawall.State{}
		e.slot = sh.insert(e.name, c, f)
	}
}

// protect keeps a state that has refused from being forgotten, if there is a place or an idle one has one.
func (s *Store) protect(r seawall.Rule, e *evaluation, now int64, inUse []evaluation) {
	if e.slot == nil {
		return
	}
	sh := &s.shards[e.shard]
	sh.follow(e, r) // by which the caller was told how long it owes
	if e.slot.fate() != open || e.cell.rule.Idle(e.state, now) {
		return
	}
	if s.totals[refused].Load() >= s.maxRefused && !sh.dropSomeIdle(refused, sampled, now, inUse) {
		e.slot.spent(sh.newest.Load()) // no place is left; at least it is not the next to go
		return
	}
	sh.move(e.slot, refused)
}

// reset forgets the state of a name. Slots that are held count again when they are renewed.
func (sh *shard) reset(n name, inUse []evaluation) {
	sl := sh.table.Load().find(n)
	switch {
	case sl == nil:
	case sl.fate() == slots:
		c := sl.cell.Load()
		c.rule.(seawall.Holder).Lapse(&c.more)
	default:
		sh.forget(sl, inUse)
	}
}

// forget drops a state. Checks of the request may be on it, and find it as new.
func (sh *shard) forget(sl *slot, inUse []evaluation) {
	sh.drop(sl)
	for i := range inUse {
		if e := &inUse[i]; e.slot == sl {
			e.slot, e.cell, e.word, e.state = nil, nil, seawall.State{}, &e.word
		}
	}
}
