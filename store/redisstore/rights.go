package redisstore

import (
	"context"
	_ "embed"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed rights.lua
var rightsLua string

// rights is why nothing is to be decided on a Redis: as long as the user may not do all that is needed there, it might admit
// everything. The zero rights are enough.
type rights struct {
	forbidden atomic.Pointer[callError]
}

// learn remembers what was found, and tells whether that is news.
func (r *rights) learn(err error) (news bool) {
	var call *callError
	switch {
	case err == nil:
		return r.forbidden.Swap(nil) != nil
	case errors.As(err, &call) && redis.HasErrorPrefix(call.err, "FORBIDDEN"):
		return r.forbidden.Swap(&callError{reason: call.reason, err: call.err, unsent: true}) == nil
	}
	return false
}

func (r *rights) err() error {
	if forbidden := r.forbidden.Load(); forbidden != nil {
		return forbidden
	}
	return nil
}

// allowed returns why nothing is to be decided on Redis now.
func (s *Store) allowed() error {
	if err := s.rights.err(); err != nil {
		return err
	}
	return s.here.err()
}

// watchRights looks as often as a heartbeat whether the user may do all that is needed on a lane's own master: users are each
// server's own, and heartbeats are at one of them.
func (s *Store) watchRights() {
	tick := time.NewTicker(s.members.every)
	defer tick.Stop()
	for {
		err := s.lookAtRights()
		if s.here.learn(err) {
			if err != nil {
				s.log.Warn("seawall: nothing is decided by a master of the cluster, whose user lacks a right", "store", s.Where(), "error", err)
			} else {
				s.log.Info("seawall: the user has its rights again", "store", s.Where())
			}
		}
		select {
		case <-tick.C:
		case <-s.stop:
			return
		}
	}
}

// tagsLooked is how many tags are tried each time that a lane looks for one of its own, which it keeps.
const tagsLooked = mostProbed / 16

func (s *Store) lookAtRights() (err error) {
	defer caught(&err)
	tag := *s.at.Load()
	if s.addr != "" && s.masterOf(tag) != s.addr {
		var found bool
		if tag, found = s.findTag(tagsLooked); !found {
			return nil // nobody is decided there, as far as is known
		}
		s.at.Store(&tag)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.renewWait)
	defer cancel()
	if err := s.rightsAsk.Run(ctx, s.client, []string{s.namespace + ":" + tag + ":probe"}).Err(); err != nil {
		return classify(err)
	}
	return nil
}
