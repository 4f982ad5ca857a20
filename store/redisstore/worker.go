package redisstore

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// group is the calls of one shape that one script call asks for, in the order in which they were queued.
type group struct {
	shape *shape
	mixed bool    // they do not share arguments
	calls []*call // that are not settled yet
	first [1]*call
	cmd   *redis.IntSliceCmd
}

// script is the one that the group runs.
func (g *group) script() script {
	switch {
	case len(g.calls) == 1:
		return g.shape.one
	case g.mixed:
		return g.shape.many()
	}
	return g.shape.alike()
}

// takes tells whether a call fits into the group.
func (g *group) takes(c *call) bool {
	return g.shape == c.shape && g.calls[0].tag == c.tag && len(g.calls) < g.shape.most && (g.mixed || g.shape.agree(g.calls[0], c))
}

// worker executes queued calls. It is used by one goroutine.
type worker struct {
	store  *Store
	buf    [maxTaken]*call
	groups []*group
	cmds   []redis.Cmder
}

// serve executes queued calls until the store is closed and none is left.
func (s *Store) serve() {
	w := &worker{store: s}
	for {
		taken := s.calls.take(w.buf[:0])
		if taken == nil {
			return
		}
		w.execute(taken)
		clear(taken)
	}
}

// group sorts calls: those that share arguments into a group, and those that share them with no other into another.
func (w *worker) group(calls []*call) {
	clear(w.groups)
	w.groups = w.groups[:0]
	for _, c := range calls {
		w.put(c, c.shape.shared == 0 || len(w.groups) >= maxAlike)
	}
	alone := 0
	for _, g := range w.groups {
		if len(g.calls) == 1 && !g.mixed {
			alone++
		}
	}
	if alone < 2 {
		return
	}
	groups := w.groups
	w.groups = nil
	var lone []*call
	for _, g := range groups {
		if len(g.calls) == 1 && !g.mixed {
			lone = append(lone, g.calls[0])
		} else {
			w.groups = append(w.groups, g)
		}
	}
	for _, c := range lone {
		w.put(c, true)
	}
}

// put puts a call into the last group that takes it, or a new one. So calls that share arguments, as those of one key do,
// stay in the order in which they were queued.
func (w *worker) put(c *call, mixed bool) {
	for _, g := range slices.Backward(w.groups) {
		if (mixed || !g.mixed) && g.takes(c) {
			g.calls = append(g.calls, c)
			return
		}
	}
	g := &group{shape: c.shape, mixed: mixed, first: [1]*call{c}}
	g.calls = g.first[:]
	w.groups = append(w.groups, g)
}

// execute sends calls in one round trip, and those whose script Redis does not know in a second. Its context has no
// deadline: the client's socket timeouts bound it. A panic in the client becomes an error of the calls that have no
// answer.
func (w *worker) execute(calls []*call) {
	w.group(calls)
	defer func() {
		if p := recover(); p != nil {
			for _, g := range w.groups {
				w.store.fail(g, panicked(p))
			}
		}
	}()
	unknown := w.sendWithReleases()
	if len(unknown) > 0 {
		unknown = w.send(nil, unknown, true)
	}
	for _, g := range unknown { // Redis does not say so of a text; whatever does is no Redis
		w.store.fail(g, &callError{reason: "script", err: errors.New("NOSCRIPT, in answer to its text")})
	}
}

// sendWithReleases sends the groups, with the queued releases ahead of them. What is on board alights also if the
// client panics.
func (w *worker) sendWithReleases() (unknown []*group) {
	r := w.store.board(context.Background())
	defer func() { w.store.alight(r) }()
	return w.send(r, w.groups, false)
}

// send executes the groups' scripts in one round trip behind what rides ahead, by their text or else by their SHA, and
// settles their calls, save those of groups whose script is unknown, which it returns.
func (w *worker) send(r *ride, groups []*group, byText bool) (unknown []*group) {
	ctx := context.Background()
	defer func() { clear(w.cmds) }()
	w.cmds = w.cmds[:0]
	if r != nil {
		for _, c := range r.cmds {
			w.cmds = append(w.cmds, c)
		}
	}
	for _, g := range groups {
		g.cmd = redis.NewIntSliceCmd(ctx, w.store.command(g, byText)...)
		if w.store.cluster != nil {
			w.cmds = append(w.cmds, once{g.cmd})
		} else {
			w.cmds = append(w.cmds, g.cmd)
		}
	}
	failed := w.store.run(ctx, w.cmds)
	for _, g := range groups {
		reply, err := g.cmd.Result()
		if reply == nil && err == nil { // no connection: go-redis says so only of the pipeline
			err = failed
		}
		switch {
		case err == nil:
			w.store.answer(g, reply)
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			unknown = append(unknown, g)
		default:
			w.store.fail(g, w.store.missed(g.calls[0].keys[0], classify(err)))
		}
	}
	return unknown
}

// command is what Redis is told: the keys and arguments of all requests, and ahead of them what they share.
func (s *Store) command(g *group, byText bool) []any {
	sh, script := g.shape, g.script()
	keys := len(g.calls) * sh.keys
	var fleet, same []bool
	if len(g.calls) > 1 && !g.mixed {
		fleet, same = sh.fleet, sh.same
		keys -= (len(g.calls) - 1) * sh.joint
	}
	if sh.capacity {
		keys++
	}
	args := make([]any, 0, 3+keys+len(g.calls)*sh.args+2)
	if byText {
		args = append(args, "eval", script.text)
	} else {
		args = append(args, "evalsha", script.sha)
	}
	args = append(args, keys)
	args = appendAll(args, fleet, g.calls, func(c *call) []string { return c.keys })
	if sh.capacity {
		args = append(args, s.fleetName("capacity"))
	}
	args = appendAll(args, same, g.calls, func(c *call) []any { return c.args })
	return s.timed(args)
}

// appendAll appends what the calls share, and then what each has of its own.
func appendAll[T any](args []any, shared []bool, calls []*call, of func(*call) []T) []any {
	for i, is := range shared {
		if is {
			args = append(args, of(calls[0])[i])
		}
	}
	for _, c := range calls {
		for i, x := range of(c) {
			if shared == nil || !shared[i] {
				args = append(args, x)
			}
		}
	}
	return args
}

// answer settles the calls of a group with what its script has replied.
func (s *Store) answer(g *group, reply []int64) {
	n := len(g.calls)
	for i := range n {
		c := g.calls[0]
		if n == 1 {
			c.answer, c.err = g.shape.answerOne(reply)
		} else {
			c.answer, c.err = g.shape.answerMany(reply, i, n)
		}
		g.calls = g.calls[1:]
		s.settle(c)
	}
}

// fail settles those calls of a group that are not settled yet.
func (s *Store) fail(g *group, err error) {
	for _, c := range g.calls {
		g.calls = g.calls[1:]
		c.err = err
		s.settle(c)
	}
}

// settle hands a call back to its caller. If that did not wait for it, or does not learn what came of it,
// leases that nobody holds any more are given back.
func (s *Store) settle(c *call) {
	first := c.settled.CompareAndSwap(false, true)
	took := c.err == nil && c.answer.reply[0] > 0 && c.answer.reply[0]&3 != 0 && !first
	if took || unknownOutcome(c.err) {
		for _, l := range c.leases {
			if !s.held(l.ID) {
				s.releases.add(l, nil)
			}
		}
	}
	c.done <- struct{}{}
}
