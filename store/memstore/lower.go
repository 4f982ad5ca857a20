package memstore

import (
	"reflect"

	"github.com/seawall-go/seawall"
)

// Lower has at most Cost of each check, which may be zero, remain of its limit: what is more is spent. It is for a
// store that stands in for another one, and learns from that how much was spent elsewhere. What was counted by
// another rule than the check's, as by an earlier share of the limit, is forgotten. Of a check only Rule, Limit, Key
// and Cost are used; each is a step of its own.
func (s *Store) Lower(checks []seawall.Check) {
	for i := range checks {
		s.lower(checks[i])
	}
}

func (s *Store) lower(c seawall.Check) {
	shard, n := s.seeds.locate(c.Key, c.Limit)
	sh := &s.shards[shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	env := s.env()
	e := evaluation{shard: shard, name: n, state: sh.find(n, c.Rule)}
	if old := e.state.rule; old != nil && !same(old, c.Rule) {
		sh.reset(c.Rule, &e)
	}
	most := c.Cost
	c.Cost = 1
	seen, ok := c.Rule.Check(&e.state.State, env, &c)
	c.Cost = c.Rule.Result(seen, ok, false, env, &c).Remaining - most
	if c.Cost <= 0 {
		return
	}
	c.Rule.Commit(&e.state.State, env, &c)
	s.keep(c.Rule, &e, env.Now, []evaluation{e})
}

// same tells whether two rules are one.
func same(a, b seawall.Rule) bool { return reflect.TypeOf(a).Comparable() && a == b }
