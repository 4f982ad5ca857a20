package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// errBusy is what a call gets when too many are under way.
var errBusy = &callError{reason: "busy", err: errors.New("too many calls are under way")}

// call is one script call. It runs on a goroutine of its own, so that its caller can stop waiting without
// harm to the connection.
type call struct {
	shape *shape
	keys  []string
	args  []any
	width int // of the reply

	leases  []seawall.Lease // that it may take
	settled atomic.Bool     // set by whichever of the caller and the call comes first
	answer  answer
	err     error
	done    chan struct{}
}

// ask evaluates the checks on Redis, and returns when ctx is done at the latest.
func (s *Store) ask(ctx context.Context, env seawall.Env, checks []seawall.Check) (answer, error) {
	c, err := s.newCall(env, checks)
	if err != nil {
		return nil, err
	}
	select {
	case s.calls <- struct{}{}:
	default:
		return nil, errBusy
	}
	go s.run(c)
	select {
	case <-c.done:
		return c.answer, c.err
	case <-ctx.Done():
		if c.settled.CompareAndSwap(false, true) {
			return nil, fmt.Errorf("redisstore: waiting for a script: %w", ctx.Err())
		}
		<-c.done
		return c.answer, c.err
	}
}

// newCall encodes the checks, so that nothing of them is used once ask has returned.
func (s *Store) newCall(env seawall.Env, checks []seawall.Check) (*call, error) {
	c := &call{width: 1 + 2*len(checks), done: make(chan struct{})}
	var buf [8]int
	counts := buf[:0]
	c.keys = make([]string, 0, len(checks)+1)
	c.args = make([]any, 0, 6*len(checks)+2)
	for i := range checks {
		ch := &checks[i]
		c.keys = append(c.keys, s.nameOf(ch.Key, ch.Limit))
		c.args = append(c.args, modeOf(ch))
		before := len(c.args)
		c.args = ch.Rule.Args(c.args, env, ch)
		counts = append(counts, len(c.args)-before)
		if l, ok := leaseOf(ch); ok {
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
	c.args = s.timed(c.args)
	return c, nil
}

// run executes the call. Its context has no deadline: the client's socket timeouts bound it. A panic in the
// client becomes an error.
func (s *Store) run(c *call) {
	defer func() {
		if p := recover(); p != nil {
			c.err = &callError{reason: "panic", err: fmt.Errorf("panic: %v", p)}
		}
		<-s.calls
		first := c.settled.CompareAndSwap(false, true)
		if !first || unknownOutcome(c.err) {
			s.abandoned(c)
		}
		close(c.done)
	}()
	reply, err := c.shape.script.Run(context.Background(), s.client, c.keys, c.args...).Int64Slice()
	switch {
	case err != nil:
		c.err = classify(err)
	case len(reply) != c.width:
		c.err = &callError{reason: "script", err: fmt.Errorf("the reply has %d numbers; want %d", len(reply), c.width)}
	default:
		c.answer = reply
	}
}

// abandoned gives back the leases of a call nobody waits for any more, or whose outcome is not known.
func (s *Store) abandoned(c *call) {
	if c.err == nil && c.answer[0]&3 == 0 || c.err != nil && !unknownOutcome(c.err) {
		return
	}
	for _, l := range c.leases {
		s.releases.add(l, nil)
	}
}
