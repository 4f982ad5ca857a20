package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// errUnanswered is of a command that has neither an answer nor an error.
var errUnanswered = errors.New("no answer") //nolint:gochecknoglobals // a constant

// releaseLoop empties the queue and renews what is held, until the store is closed and the queue is empty or
// Redis does not answer.
func (s *Store) releaseLoop() {
	renew := time.NewTicker(s.renewing)
	defer renew.Stop()
	wait := backoff
	for {
		select {
		case <-s.releases.wake:
			s.company()
			claimed := s.claim()
			answers, more := s.flush(context.Background())
			if more {
				s.releases.signal() // one batch a turn, or steady releases would leave no turn to renewals
			}
			if answers && claimed {
				wait = backoff
			} else {
				if s.closing(wait) {
					return
				}
				wait = min(2*wait, maxBackoff)
			}
		case <-renew.C:
			s.renew()
			s.releases.retry(maxRetried)
		case <-s.stop:
			s.drain(context.Background())
			return
		}
	}
}

// company waits until a batch is worth sending.
func (s *Store) company() {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for {
		if waiting, now := s.releases.ready(); !waiting || now {
			return
		}
		select {
		case <-timer.C:
			return
		case <-s.stop:
			return
		case <-s.releases.wake:
		}
	}
}

// closing waits, at most until Redis answers a probe, and tells whether the store is being closed.
func (s *Store) closing(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-s.releases.resume:
		return false
	case <-s.stop:
		return true
	}
}

// flush sends one batch of what is queued, and tells whether Redis answers and whether more is left.
func (s *Store) flush(ctx context.Context) (answers, more bool) {
	answers = true
	batch := s.handOver(s.releases.take())
	if s.home != nil && len(batch) == 0 && !s.releases.queued() {
		s.releases.refused.Store(nil) // what was refused has gone to another lane
	}
	if len(batch) > 0 {
		ctx, cancel := context.WithTimeout(ctx, batchTimeout)
		defer cancel()
		calls, replies, err := s.sendReleases(ctx, batch)
		if err != nil {
			s.releases.putBack(batch)
		} else {
			err = s.settleReleases(batch, calls, replies)
		}
		switch {
		case !misplaced(err):
			s.learnRefusal(err)
			answers = err == nil
		case !s.releases.queued(): // it says nothing of the others, and there is none that was refused
			s.releases.refused.Store(nil)
		}
	}
	return answers, s.releases.queued()
}

// sendReleases sends releases.
func (s *Store) sendReleases(ctx context.Context, batch []release) (calls []*batchCall, replies []*redis.Cmd, err error) {
	defer caught(&err)
	if calls, err = s.batchCalls(releasing, leasesOf(batch)); err == nil {
		replies = s.runAll(ctx, calls)
	}
	return calls, replies, err
}

// settleReleases tells who waits for what Redis has taken, and queues the rest again: what failed for a fault of its own slot out
// of the others' way. It returns an error of the others, else one of those, else nil.
func (s *Store) settleReleases(batch []release, calls []*batchCall, replies []*redis.Cmd) (failure error) {
	failed := map[uint64]error{}
	for i, c := range calls {
		err := replies[i].Err()
		if err == nil && replies[i].Val() == nil { // without a connection, go-redis says so only of a pipeline
			err = errUnanswered
		}
		if err == nil {
			continue
		}
		err = classify(err)
		if failure == nil || misplaced(failure) {
			failure = err
		}
		for _, l := range c.leases {
			failed[l.ID] = err
		}
	}
	if failure == nil {
		for i := range batch {
			batch[i].over()
		}
		return nil
	}
	s.lookAnew(failure)
	var again, aside []release
	for i := range batch {
		batch[i].handed = false
		switch err := failed[batch[i].lease.ID]; {
		case err == nil:
			batch[i].over()
		case misplaced(err):
			aside = append(aside, batch[i])
		default:
			again = append(again, batch[i])
		}
	}
	s.releases.putBack(again)
	s.releases.setAside(aside)
	return failure
}

// learnRefusal remembers that Redis answered a release with an error. As long as it does, slots are better not taken: they
// would not come back before their TTL, and fill up.
func (s *Store) learnRefusal(err error) {
	var reply redis.Error
	var call *callError
	if err == nil {
		if s.releases.refused.Swap(nil) != nil {
			s.log.Info("seawall: slots can be given back again")
		}
		return
	}
	if errors.As(err, &reply) && errors.As(err, &call) && s.releases.refused.Swap(call) == nil {
		s.log.Warn("seawall: slots cannot be given back; none are taken on Redis until they can", "error", err)
	}
}

// fit returns why no slots are to be taken now.
func (s *Store) fit() error {
	if refused := s.releases.refused.Load(); refused != nil {
		return &callError{reason: refused.reason, err: fmt.Errorf("slots cannot be given back: %w", refused.err), unsent: true}
	}
	return nil
}

// drain sends all that is queued, unless Redis does not take it.
func (s *Store) drain(ctx context.Context) {
	s.releases.retry(maxQueue)
	for answers, more := true, true; answers && more; {
		answers, more = s.flush(ctx)
	}
}
