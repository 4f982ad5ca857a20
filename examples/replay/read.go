package main

import (
	"context"
	"errors"
	"io"

	"github.com/seawall-go/seawall/examples/replay/accesslog"
)

// replay reads the logs and has the player decide about what they hold.
type replay struct {
	o       *options
	callers *callers
	routes  *routes
	player  *player
	flight  inFlight
	logs    []*log
	seq     int64
	late    int64
	stopped bool
}

func newReplay(o *options) (r *replay, err error) {
	r = &replay{o: o, callers: newCallers(o.identity)}
	if r.routes, err = newRoutes(o.routes); err != nil {
		return nil, err
	}
	r.player, err = newPlayer(o.policies, o.inFlight, o.tick, r.callers, r.routes)
	return r, err
}

// log is one that is being read.
type log struct {
	*accesslog.Log
	name  string
	entry accesslog.Entry
	order *reorder
	ended bool
	next  request // the next one in order
	ready bool    // there is one
}

// read takes the next request out of the log.
func (r *replay) read(l *log, q *request) bool {
	if !l.Next(&l.entry) {
		return false
	}
	r.seq++
	e := &l.entry
	*q = request{start: e.Start, took: int64(e.Took), seq: r.seq, caller: r.callers.of(e), route: r.routes.of(e.Method, e.Path)}
	return true
}

// run replays all logs, until ctx is done.
func (r *replay) run(ctx context.Context) error {
	if r.o.order == sorted {
		return r.sorted(ctx)
	}
	return r.inFileOrder(ctx)
}

// often is after how many requests it is looked whether ctx is done.
const often = 1024

func (r *replay) halted(ctx context.Context) bool {
	if r.seq%often == often-1 && ctx.Err() != nil { // not at once: what has been read counts
		r.stopped = true
	}
	return r.stopped
}

// inFileOrder replays log after log as they are. What is in flight is counted by the requests' own times all the same.
func (r *replay) inFileOrder(ctx context.Context) error {
	order := newReorder(r.o.window)
	var q request
	for _, l := range r.logs {
		for r.read(l, &q) {
			if err := r.player.play(&q); err != nil {
				return err
			}
			if q.took >= 0 {
				order.push(q)
				r.fly(order, false)
			}
			if r.halted(ctx) {
				break
			}
		}
	}
	r.fly(order, true)
	r.late = order.late
	return nil
}

func (r *replay) fly(order *reorder, end bool) {
	for q, ok := order.pop(end); ok; q, ok = order.pop(end) {
		r.flight.add(&q)
	}
}

// sorted replays all logs at the same time, each put in order.
func (r *replay) sorted(ctx context.Context) error {
	for _, l := range r.logs {
		r.advance(ctx, l)
	}
	for {
		var first *log
		for _, l := range r.logs {
			if l.ready && (first == nil || l.next.before(&first.next)) {
				first = l
			}
		}
		if first == nil {
			break
		}
		if err := r.player.play(&first.next); err != nil {
			return err
		}
		r.flight.add(&first.next)
		r.advance(ctx, first)
	}
	for _, l := range r.logs {
		r.late += l.order.late
	}
	return nil
}

// advance finds the log's next request in order.
func (r *replay) advance(ctx context.Context, l *log) {
	var q request
	for {
		if l.next, l.ready = l.order.pop(l.ended); l.ready || l.ended {
			return
		}
		if r.halted(ctx) || !r.read(l, &q) {
			l.ended = true
			continue
		}
		l.order.push(q)
	}
}

// open opens all logs. Those that cannot be opened are left out and named.
func (r *replay) open(ctx context.Context, stdin io.Reader) error {
	var failed []error
	for _, name := range r.o.logs {
		if name == "-" {
			stdin = interruptible(ctx, stdin)
		}
		l, err := accesslog.Open(name, stdin, accesslog.Options{
			Format: r.o.format, Field: r.o.identity.field, Private: r.o.identity.private(), Done: ctx.Done(),
		})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		r.logs = append(r.logs, &log{Log: l, name: name, order: newReorder(r.o.window)})
	}
	return errors.Join(failed...)
}

func (r *replay) close() {
	for _, l := range r.logs {
		_ = l.Close() // it was only read
	}
	_ = r.player.close() // which has nothing in the background
}

// result is what is known so far, and what was wrong with logs.
func (r *replay) result() (*result, error) {
	res := r.player.result(r.o, &r.flight)
	res.Late, res.Stopped = r.late, r.stopped
	var failed []error
	for _, l := range r.logs {
		bad, first := l.Bad()
		told := logResult{Name: l.name, Format: l.Format(), Lines: l.Lines(), Bad: bad}
		for _, b := range first {
			told.First = append(told.First, badLine{b.Number, b.Text, b.Why})
		}
		if err := l.Err(); err != nil && !r.stopped {
			told.Error = err.Error()
			failed = append(failed, err)
		}
		res.BadLines += bad
		res.Logs = append(res.Logs, told)
	}
	return res, errors.Join(failed...)
}
