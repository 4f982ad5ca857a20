package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// call is the question of one request. A worker asks it, so that the request can stop waiting without harm to the
// connection.
type call struct {
	shape *shape
	keys  []string // without the capacity
	args  []any
	tag   string // of its keys, on a cluster

	leases  []seawall.Lease // that it may take
	settled atomic.Bool     // set by whichever of its caller's patience and its execution ends first
	answer  answer
	err     error
	done    chan struct{} // of one; sent to when it is settled, which is the last that a worker does with it
}

// idleCalls are those that nobody uses, with room for what they had.
var idleCalls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

// forget makes a call that was answered ready for another question. One that nobody waited for is not: it may still be
// under way.
func (c *call) forget() {
	clear(c.keys)
	clear(c.args)
	clear(c.leases)
	c.shape, c.keys, c.args, c.leases = nil, c.keys[:0], c.args[:0], c.leases[:0]
	c.tag, c.answer, c.err = "", answer{}, nil
	c.settled.Store(false)
	idleCalls.Put(c)
}

// askMoved is how long a call waits at first whose keys are moving from one master of a cluster to another, twice as long each time
// up to askMovedSlowly, and mostMoved how often, whoever waits for it.
const askMoved, askMovedSlowly, mostMoved = 500 * time.Microsecond, 16 * time.Millisecond, 64

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
		a, err := s.askWhereItIs(ctx, env, s.clock.deadline(sent, grace(ctx, checks)-sent.Sub(began)), checks)
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

// askWhereItIs is askOnce, and again as long as the keys are on their way from one master of a cluster to another.
func (s *Store) askWhereItIs(ctx context.Context, env seawall.Env, deadline int64, checks []seawall.Check) (answer, error) {
	wait := askMoved
	for tries := 0; ; tries++ {
		a, err := s.askOnce(ctx, env, deadline, checks)
		if s.cluster == nil || !moving(err) || tries == mostMoved || !pause(ctx, wait) {
			return a, err
		}
		wait = min(2*wait, askMovedSlowly)
	}
}

func (s *Store) askOnce(ctx context.Context, env seawall.Env, deadline int64, checks []seawall.Check) (answer, error) {
	c, err := s.newCall(env, deadline, checks)
	if err != nil {
		return answer{}, err
	}
	if err := s.calls.add(c); err != nil {
		c.forget()
		return answer{}, err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.settled.CompareAndSwap(false, true) {
			return answer{}, fmt.Errorf("redisstore: waiting for a script: %w", ctx.Err())
		}
		<-c.done
	}
	a, err := c.answer, c.err
	c.forget()
	return a, err
}

// newCall encodes the checks, so that nothing of them is used once ask has returned.
func (s *Store) newCall(env seawall.Env, deadline int64, checks []seawall.Check) (*call, error) {
	c := idleCalls.Get().(*call)
	var buf [8]int
	counts := buf[:0]
	for i := range checks {
		ch := &checks[i]
		c.keys = append(c.keys, s.nameOf(ch.Key, ch.Limit))
		before := len(c.args)
		if ch.Op != seawall.Reset {
			c.args = ch.Rule.Args(c.args, env, ch)
		}
		counts = append(counts, len(c.args)-before)
		if l, ok := ch.Lease(); ok {
			c.leases = append(c.leases, l)
		}
	}
	c.args = append(c.args, deadline)
	if s.cluster != nil {
		c.tag = tagOf(c.keys[0])
	}
	var err error
	if c.shape, err = s.shapes.of(checks, counts); err != nil {
		c.forget()
		return nil, err
	}
	return c, nil
}
