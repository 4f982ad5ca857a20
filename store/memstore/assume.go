package memstore

import "github.com/seawall-go/seawall"

// Assume has so much remain of the check's limit, or all of it if that is less, whatever was spent here before. It is
// for a store that stands in for another one, which has told so. Of the check only Rule, Limit and Key are used.
func (s *Store) Assume(c seawall.Check, remaining int64) {
	shard, n := locate(s.seed, c.Key, c.Limit)
	sh := &s.shards[shard]
	sh.mu.Lock()
	sh.evaluated = append(sh.evaluated[:0], evaluation{place: place{shard, n}, rule: c.Rule})
	evaluated := sh.evaluated
	e := &evaluated[0]
	defer s.settle(1<<shard, evaluated)
	e.state = &e.word
	env := s.env()
	sh.reserve(1)
	sh.reset(n, evaluated)
	c.Cost = 1
	seen, ok := c.Rule.Check(e.state, env, &c)
	c.Cost = c.Rule.Result(seen, ok, false, env, &c).Remaining - max(0, remaining)
	if c.Cost <= 0 {
		return
	}
	s.keep(&c, e, env.Now, evaluated)
	c.Rule.Commit(e.state, env, &c)
}
