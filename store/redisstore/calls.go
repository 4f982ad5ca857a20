package redisstore

import (
	"errors"
	"sync"
)

const (
	// workers is how many round trips with calls an instance has under way: one is being prepared while the other is
	// being answered. More make the calls smaller, which cost Redis more then.
	workers = 2
	// maxTaken is how many queued calls a worker sends in one round trip.
	maxTaken = maxRequests
	// maxAlike is up to how many groups of calls are opened for those that share arguments.
	maxAlike = 8
	// maxQueued bounds the calls that wait for a worker; behind a frozen Redis their callers give up after
	// milliseconds, and what nobody waits for is dropped before it is sent.
	maxQueued = 4096
)

// Errors of calls that never reached Redis.
var (
	errBusy   = &callError{reason: "busy", err: errors.New("too many calls are waiting"), unsent: true}
	errClosed = &callError{reason: "error", err: errors.New("the store is closed"), unsent: true}
)

// calls is the queue between requests and workers.
type calls struct {
	mu     sync.Mutex
	some   sync.Cond
	queue  []*call
	closed bool
}

func (q *calls) init() { q.some.L = &q.mu }

func (q *calls) add(c *call) error {
	if err := q.append(c); err != nil {
		return err
	}
	q.some.Signal() // behind the lock, or whom it wakes would wait for that at once
	return nil
}

func (q *calls) append(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) >= maxQueued {
		q.drop()
	}
	switch {
	case q.closed:
		return errClosed
	case len(q.queue) >= maxQueued:
		return errBusy
	}
	q.queue = append(q.queue, c)
	return nil
}

// drop forgets the calls that nobody waits for any more.
func (q *calls) drop() {
	waited := q.queue[:0]
	for _, c := range q.queue {
		if !c.settled.Load() {
			waited = append(waited, c)
		}
	}
	clear(q.queue[len(waited):])
	q.queue = waited
}

// take waits for calls and appends up to cap(batch) of them; it returns nil once the queue is closed and
// empty.
func (q *calls) take(batch []*call) []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		n := 0
		for n < len(q.queue) && len(batch) < cap(batch) {
			if c := q.queue[n]; !c.settled.Load() {
				batch = append(batch, c)
			}
			n++
		}
		q.queue = q.queue[:copy(q.queue, q.queue[n:])]
		switch {
		case len(batch) > 0:
			return batch
		case q.closed:
			return nil
		}
		q.some.Wait()
	}
}

// close lets the workers end when the queue is empty.
func (q *calls) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.some.Broadcast()
}
