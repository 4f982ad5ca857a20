package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// call is one script call. A worker executes it, so that its caller can stop waiting without harm to the
// connection.
type call struct {
	shape *shape
	keys  []string
	args  []any

	leases  []seawall.Lease // that it may take
	settled atomic.Bool     // set by whichever of its caller's patience and its execution ends first
	reply   []int64
	err     error
	done    chan struct{}
}

// asks is how often a script is asked that turns down the time that it was asked for.
const asks = 3

// ask evaluates the checks on Redis, and returns when ctx is done at the latest. A script that runs too late, or
// turns down the guess of its clock that its arguments were made for, has changed nothing; it is asked once more by
// the clock that it gave, as long as there is patience. So it is if Redis' clock is not known yet.
func (s *Store) ask(ctx context.Context, env seawall.Env, checks []seawall.Check) (answer, error) {
	if err := ctx.Err(); err != nil { // nothing is sent
		return answer{}, &callError{reason: "timeout", err: err, unsent: true}
	}
	began := s.now()
	for range asks {
		sent := s.now()
		a, err := s.askOnce(ctx, env, s.clock.deadline(sent, grace(ctx, checks)-sent.Sub(began)), checks)
		if err != nil {
			return answer{}, err
		}
		at, missed := a.missed()
		if !missed {
			return a, nil
		}
		s.clock.learn(sent, s.now(), at)
		env.Now = at
		if err := ctx.Err(); err != nil {
			return answer{}, &callError{reason: "timeout", err: fmt.Errorf("the script ran too late: %w", err), unsent: true}
		}
	}
	return answer{}, &callError{reason: "timeout", err: errors.New("the script ran too late, each time"), unsent: true}
}

func (s *Store) askOnce(ctx context.Context, env seawall.Env, deadline int64, checks []seawall.Check) (answer, error) {
	c, err := s.newCall(env, deadline, checks)
	if err != nil {
		return answer{}, err
	}
	if err := s.calls.add(c); err != nil {
		return answer{}, err
	}
	select {
	case <-c.done:
		return answer{c.reply, c.shape}, c.err
	case <-ctx.Done():
		if c.settled.CompareAndSwap(false, true) {
			return answer{}, fmt.Errorf("redisstore: waiting for a script: %w", ctx.Err())
		}
		<-c.done
		return answer{c.reply, c.shape}, c.err
	}
}

// newCall encodes the checks, so that nothing of them is used once ask has returned.
func (s *Store) newCall(env seawall.Env, deadline int64, checks []seawall.Check) (*call, error) {
	c := &call{done: make(chan struct{})}
	var buf [8]int
	counts := buf[:0]
	c.keys = make([]string, 0, len(checks)+1)
	c.args = make([]any, 0, 6*len(checks)+2)
	for i := range checks {
		ch := &checks[i]
		c.keys = append(c.keys, s.nameOf(ch.Key, ch.Limit))
		c.args = append(c.args, modeOf(ch))
		before := len(c.args)
		if ch.Op != seawall.Reset {
			c.args = ch.Rule.Args(c.args, env, ch)
		}
		counts = append(counts, len(c.args)-before)
		if l, ok := ch.Lease(); ok {
			c.leases = append(c.leases, l)
		}
	}
	var err error
	if c.shape, err = s.shapes.of(checks, counts); err != nil {
		return nil, err
	}
	if c.shape.capacity {
		c.keys = append(c.keys, s.fleetName("capacity"))
	}
	c.args = s.timed(append(c.args, deadline))
	return c, nil
}

// serve is a worker: it executes queued calls until the store is closed and none is left.
func (s *Store) serve() {
	var buf [maxPipeline]*call
	for {
		batch := s.calls.take(buf[:0])
		if batch == nil {
			return
		}
		s.execute(batch)
	}
}

// execute sends a batch in one round trip, and the calls whose script Redis does not know in a second. Its
// context has no deadline: the client's socket timeouts bound it. A panic in the client becomes an error of
// the calls that have no answer.
func (s *Store) execute(batch []*call) {
	defer func() {
		if p := recover(); p != nil {
			for _, c := range batch {
				if c.reply == nil && c.err == nil {
					c.err = panicked(p)
					s.settle(c)
				}
			}
		}
	}()
	unknown := s.sendWithReleases(batch)
	if len(unknown) > 0 {
		unknown = s.send(s.client.Pipeline(), unknown, redis.Pipeliner.Eval, func(c *call) string { return c.shape.text })
	}
	for _, c := range unknown { // Redis does not say so of a text; whatever does is no Redis
		c.err = &callError{reason: "script", err: errors.New("NOSCRIPT, in answer to its text")}
		s.settle(c)
	}
}

// sendWithReleases sends the calls, with the queued releases ahead of them. What is on board alights also if the
// client panics.
func (s *Store) sendWithReleases(batch []*call) (unknown []*call) {
	pipe := s.client.Pipeline()
	var r *ride
	defer func() { s.alight(r) }()
	r = s.board(context.Background(), pipe)
	return s.send(pipe, batch, redis.Pipeliner.EvalSha, func(c *call) string { return c.shape.script.Hash() })
}

// eval is Pipeliner.EvalSha or Pipeliner.Eval.
type eval func(p redis.Pipeliner, ctx context.Context, script string, keys []string, args ...any) *redis.Cmd

// send executes the calls in one pipeline and settles them, save those whose script is unknown, which it
// returns.
func (s *Store) send(pipe redis.Pipeliner, batch []*call, how eval, script func(*call) string) (unknown []*call) {
	ctx := context.Background()
	cmds := make([]*redis.Cmd, len(batch))
	for i, c := range batch {
		cmds[i] = how(pipe, ctx, script(c), c.keys, c.args...)
	}
	_, failed := pipe.Exec(ctx)
	for i, c := range batch {
		reply, err := cmds[i].Int64Slice()
		if cmds[i].Val() == nil && cmds[i].Err() == nil { // no connection: go-redis says so only of the pipeline
			err = failed
		}
		switch {
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			unknown = append(unknown, c)
			continue
		case err != nil:
			c.err = classify(err)
		default:
			if c.err = c.shape.accepts(reply); c.err == nil {
				c.reply = reply
			}
		}
		s.settle(c)
	}
	return unknown
}

// settle hands a call back to its caller. If that did not wait for it, or does not learn what came of it,
// leases that nobody holds any more are given back.
func (s *Store) settle(c *call) {
	first := c.settled.CompareAndSwap(false, true)
	took := c.err == nil && c.reply[0] > 0 && c.reply[0]&3 != 0 && !first
	if took || unknownOutcome(c.err) {
		for _, l := range c.leases {
			if !s.ledger.Holds(l.ID) {
				s.releases.add(l, nil)
			}
		}
	}
	close(c.done)
}
