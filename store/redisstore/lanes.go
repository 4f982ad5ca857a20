package redisstore

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// idleBeats is for how many heartbeats nobody may have asked a master before its lane ends: where masters come and go, their
// addresses would add up otherwise.
const idleBeats = 60

// lane is what a Store that has the callers of one master of a cluster knows of it. The zero lane is of a store on one server.
type lane struct {
	cluster *redis.ClusterClient
	addr    string                   // of the master; "" is none's
	at      atomic.Pointer[string]   // a tag that was asked about there
	home    func(seawall.Key) *Store // the lane to which a key belongs now
	lanes   func() []*Store          // all
	// masterOf returns the address of the master that has a tag, "" if it is not known, or none has it. someMasterOf is sooner,
	// but names any server if none has it.
	masterOf, someMasterOf func(tag string) string
	here                   rights // at this master

	used   atomic.Bool // since the last heartbeat
	unused int         // heartbeats in a row
	beaten func()      // called after each heartbeat, if not nil
}

// use notes that the lane is of use.
func (s *Store) use() {
	if !s.used.Load() { // of all requests one writes
		s.used.Store(true)
	}
}

// endIdle ends the lanes that are of no use any more: nobody asks, and nothing is held or to be given back.
func (c *Cluster) endIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for addr, s := range c.lanes {
		if s.unused++; s.used.Swap(false) || !s.empty() {
			s.unused = 0
		}
		if s.unused < c.idle || c.ended {
			continue
		}
		delete(c.lanes, addr)
		c.ends.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
			defer cancel()
			_ = s.Close(ctx) // it has nothing to give back
		})
	}
}

// empty tells whether the lane holds nothing, and has nothing to give back.
func (s *Store) empty() bool {
	s.releases.mu.Lock()
	defer s.releases.mu.Unlock()
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return len(s.releases.queue)+len(s.releases.stuck)+len(s.releases.claims)+len(s.ledger.held) == 0
}

// Where is the store's name in logs: of a lane with the address of its master, whose callers alone are concerned.
func (s *Store) Where() string {
	switch {
	case s.cluster == nil:
		return s.String()
	case s.addr == "":
		return s.String() + " slots without a master"
	}
	return s.String() + " master " + s.addr
}

// Ended tells whether the store is being closed, or a lane that nobody uses any more.
func (s *Store) Ended() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// mostProbed is how many tags are tried to find one whose slot is the lane's. Of a thousand masters each has one.
const mostProbed = 1 << 14

// probed is the key that a probe is about: of a lane one that its own master has, or else one that was asked about there. A slot
// that is nobody's says nothing of the master.
func (s *Store) probed() string {
	if s.cluster == nil || s.addr == "" {
		return s.fleetName("probe")
	}
	tag, found := s.findTag(mostProbed)
	if !found {
		tag = *s.at.Load()
	}
	return s.namespace + ":" + tag + ":probe"
}

// findTag tries so many tags to find one that the lane's master has.
func (s *Store) findTag(most int) (tag string, found bool) {
	for first, i := rand.IntN(mostProbed), 0; i < most; i++ { //nolint:gosec // no secret; another one each time
		if tag = "{" + strconv.Itoa(first+i) + "}"; s.someMasterOf(tag) == s.addr && s.masterOf(tag) == s.addr {
			return tag, true
		}
	}
	return "", false
}
