package memstore

import (
	"context"
	"math"
	"time"

	"github.com/seawall-go/seawall"
)

// number returns one for a check that this store does not know.
func (sh *shard) number(shard uint64) uint64 {
	sh.lastID++
	return sh.lastID<<shardBits | shard
}

// hold remembers that leases of a rule are to be renewed.
func (sh *shard) hold(r seawall.Holder, now int64) { sh.due = min(sh.due, now+int64(r.TTL()/3)) }

// Release implements seawall.Store. The leases are free when it returns.
func (s *Store) Release(_ context.Context, leases ...seawall.Lease) error {
	for i := range leases {
		l := &leases[i]
		shard, n := locate(s.seed, l.Key, l.Limit)
		s.shards[shard].release(n, l)
	}
	return nil
}

func (sh *shard) release(n name, l *seawall.Lease) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sl := sh.table.Load().find(n); sl != nil && sl.fate() == slots {
		l.Rule.Release(&sl.cell.Load().more, l.ID)
	}
}

// Renew makes the leases last that are held for long, as the store does by itself: it is this process that holds them.
func (s *Store) Renew() {
	for i := range s.shards {
		s.shards[i].renew(s)
	}
}

func (sh *shard) renew(s *Store) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.renewDue(s.env())
}

// renewDue renews the leases that are due.
func (sh *shard) renewDue(env seawall.Env) {
	if sh.due > env.Now {
		return
	}
	due := int64(math.MaxInt64)
	for _, c := range sh.holds {
		due = min(due, c.renew(env))
	}
	sh.due = due
}

// renew renews what is held. Where the rule panics, nothing of it is due: its requests will tell.
func (c *cell) renew(env seawall.Env) (due int64) {
	defer func() {
		if recover() != nil {
			due = math.MaxInt64
		}
	}()
	return c.rule.(seawall.Holder).Renew(&c.more, env)
}

// catchUp renews leases that the store has not come to in time, because the process stood still: what is held does not look
// free to the first requests afterwards.
func (s *Store) catchUp(sh *shard, env seawall.Env) {
	if sh.due < env.Now-int64(renewEvery) && s.now == nil {
		sh.renewDue(env)
	}
}

// Fleet implements seawall.Member: a fleet of one.
func (s *Store) Fleet() seawall.Fleet {
	shard, _ := locate(s.seed, s.fleetKey, &seawall.Limit{})
	sh := &s.shards[shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	env, used := s.env(), int64(0)
	s.catchUp(sh, env)
	for _, c := range sh.holds {
		if c.fleet {
			used += c.rule.(seawall.Holder).Held(&c.more, env)
		}
	}
	return seawall.Fleet{Instances: 1, Capacity: s.workers.Load(), Used: used, Announced: true}
}

// Join implements seawall.Member.
func (s *Store) Join(workers int64) { s.workers.Store(workers) }

// nanos is the time by the store's clock, in nanoseconds since the epoch.
func (s *Store) nanos() int64 {
	if s.now != nil {
		return s.now().UnixNano()
	}
	return s.epoch + int64(time.Since(s.began))
}

func (s *Store) env() seawall.Env {
	return seawall.Env{Now: s.nanos(), Capacity: s.workers.Load()}
}
