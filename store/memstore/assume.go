package memstore

import "github.com/seawall-go/seawall"

// Assume has so much remain of the check's limit, or all of it if that is less, whatever was spent here before. It is
// for a store that stands in for another one, which has told so. Of the check only Rule, Limit and Key are used.
func (s *Store) Assume(c seawall.Check, remaining int64) {
	shard, n := s.seeds.locate(c.Key, c.Limit)
	sh := &s.shards[shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	env := s.env()
	e := evaluation{shard: shard, name: n, state: sh.find(n, c.Rule)}
	sh.reset(c.Rule, &e)
	c.Cost = 1
	seen, ok := c.Rule.Check(&e.state.State, env, &c)
	c.Cost = c.Rule.Result(seen, ok, false, env, &c).Remaining - max(0, remaining)
	if c.Cost <= 0 {
		return
	}
	c.Rule.Commit(&e.state.State, env, &c)
	s.keep(c.Rule, &e, env.Now, []evaluation{e})
}
