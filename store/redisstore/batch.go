package redisstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// batchCall is one script call for many leases.
type batchCall struct {
	script *redis.Script
	keys   []string
	args   []any

	leases []seawall.Lease // to be released
}

// command is the call, by the script's SHA.
func (c *batchCall) command(ctx context.Context) *redis.Cmd {
	args := append(make([]any, 0, 3+len(c.keys)+len(c.args)), "evalsha", c.script.Hash(), len(c.keys))
	for _, key := range c.keys {
		args = append(args, key)
	}
	return redis.NewCmd(ctx, append(args, c.args...)...)
}

// batchCalls returns the calls that run a section of the leases' rules for all of them: one per script, and on a cluster per key,
// or none would go out while its slot is on its way, one key here and one there.
func (s *Store) batchCalls(section string, leases []seawall.Lease) ([]*batchCall, error) {
	type place struct {
		script *redis.Script
		key    string // on a cluster
	}
	var calls []*batchCall
	at := map[place]*batchCall{}
	env := s.env()
	for _, l := range leases {
		script, err := s.shapes.batch(l.Rule, section)
		if err != nil {
			return nil, err
		}
		p := place{script: script}
		if s.cluster != nil {
			p.key = s.nameOf(l.Key, l.Limit)
		}
		c := at[p]
		if c == nil {
			c = &batchCall{script: script}
			at[p] = c
			calls = append(calls, c)
		}
		if section == releasing {
			c.leases = append(c.leases, l)
			continue
		}
		c.keys = append(c.keys, s.nameOf(l.Key, l.Limit))
		c.args = append(c.args, leaseArgs(env, l)[:2]...)
	}
	for _, c := range calls {
		if section == releasing {
			s.together(c, env)
		} else {
			c.args = append(c.args, s.clock.deadline(s.now(), s.renewWait))
		}
		c.args = s.timed(c.args)
	}
	return calls, nil
}

// leaseArgs are a lease's arguments, of which the first two are its name and its TTL.
func leaseArgs(env seawall.Env, l seawall.Lease) []any {
	return l.Rule.Args(nil, env, &seawall.Check{Limit: l.Limit, Rule: l.Rule, Key: l.Key, Cost: l.Cost, ID: l.ID})
}

// together makes keys and arguments of the leases of a call that releases: those of a key side by side.
func (s *Store) together(c *batchCall, env seawall.Env) {
	type place struct {
		key   seawall.Key
		limit *seawall.Limit
	}
	var places []place
	names := map[place][]any{}
	for _, l := range c.leases {
		p := place{l.Key, l.Limit}
		if names[p] == nil {
			places = append(places, p)
		}
		names[p] = append(names[p], leaseArgs(env, l)[0])
	}
	for _, p := range places {
		key := s.nameOf(p.key, p.limit)
		for some := range slices.Chunk(names[p], mostTogether) {
			c.keys = append(c.keys, key)
			c.args = append(append(c.args, len(some)), some...)
		}
	}
}

// runBatch runs a section of the leases' rules for all of them, and returns how many of them Redis had lost. An error is of all.
func (s *Store) runBatch(ctx context.Context, section string, leases []seawall.Lease) (lost int64, err error) {
	defer caught(&err)
	calls, err := s.batchCalls(section, leases)
	if err != nil {
		return 0, err
	}
	sent := s.now()
	for _, reply := range s.runAll(ctx, calls) {
		answer, err := reply.Result()
		if err != nil {
			s.lookAnew(err)
			return lost, classify(err)
		}
		switch answer := answer.(type) {
		case []any:
			return lost, s.ranLate(sent, answer)
		case int64:
			lost += max(0, answer)
		}
	}
	return lost, nil
}

// runAll runs the calls, several in one round trip, and returns their replies.
func (s *Store) runAll(ctx context.Context, calls []*batchCall) []*redis.Cmd {
	replies, cmds := make([]*redis.Cmd, len(calls)), make([]redis.Cmder, len(calls))
	for i, c := range calls {
		replies[i] = c.command(ctx)
		cmds[i] = replies[i]
	}
	err := s.run(ctx, cmds)
	for i, c := range calls {
		switch r := replies[i]; {
		case redis.HasErrorPrefix(r.Err(), "NOSCRIPT"):
			replies[i] = c.script.Eval(ctx, s.client, c.keys, c.args...)
		case r.Err() == nil && r.Val() == nil: // without a connection, go-redis says so only of a pipeline
			r.SetErr(err)
		}
	}
	return replies
}

// run executes commands in one round trip. A pipeline of one would only cost more.
func (s *Store) run(ctx context.Context, cmds []redis.Cmder) error {
	if len(cmds) == 1 {
		return s.client.Process(ctx, cmds[0])
	}
	pipe := s.client.Pipeline()
	for _, c := range cmds {
		_ = pipe.Process(ctx, c) // queues it
	}
	_, err := pipe.Exec(ctx)
	return err
}

// ranLate learns the time from a script that says it ran too late, and returns an error that says so.
func (s *Store) ranLate(sent time.Time, reply []any) error {
	if len(reply) == 3 {
		sec, _ := reply[1].(int64)
		usec, _ := reply[2].(int64)
		s.clock.learn(sent, s.now(), nanos([]int64{sec, usec}))
	}
	return &callError{reason: "timeout", err: errors.New("the script ran too late"), unsent: true}
}

// ride is a batch of releases that goes out ahead of calls, in the same round trip: a request of this
// instance finds free what its predecessors here have given back.
type ride struct {
	batch []release
	calls []*batchCall
	cmds  []*redis.Cmd
}

// board makes commands of the queued releases, unless they are few: then the requests are few too, no cap is
// near, and they had better wait for company. None goes while leases are renewed, which must not be overtaken, and none
// to another master of a cluster.
func (s *Store) board(ctx context.Context) *ride {
	if !s.releases.many() || s.fit() != nil || !s.renewals.TryRLock() {
		return nil
	}
	own, others := s.sorted(s.releases.take())
	s.releases.putBack(others)
	r := &ride{batch: own}
	defer func() {
		if p := recover(); p != nil { // in a rule
			s.alight(r)
			panic(p)
		}
	}()
	calls, err := s.batchCalls(releasing, leasesOf(r.batch))
	if err != nil || len(calls) == 0 {
		s.alight(r)
		return nil
	}
	for _, c := range calls {
		r.cmds = append(r.cmds, c.command(ctx))
	}
	r.calls = calls
	return r
}

// alight settles the releases once the commands were executed; what did not go out is queued again, and goes
// out on its own.
func (s *Store) alight(r *ride) {
	if r == nil {
		return
	}
	s.renewals.RUnlock()
	switch {
	case len(r.calls) == 0:
		s.releases.putBack(r.batch)
	case s.settleReleases(r.batch, r.calls, r.cmds) == nil:
		s.learnRefusal(nil)
	}
}

func leasesOf(batch []release) []seawall.Lease {
	leases := make([]seawall.Lease, len(batch))
	for i := range batch {
		leases[i] = batch[i].lease
	}
	return leases
}
