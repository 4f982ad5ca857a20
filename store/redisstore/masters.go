package redisstore

import (
	"context"
	"errors"
	"time"
)

// masterOf returns the address of the master that has a tag, as far as it is known; "" if none is, or has.
func (c *Cluster) masterOf(tag string) string {
	addr := c.someMasterOf(tag)
	if c.now().UnixNano() > c.uncovered.Load() {
		return addr
	}
	for range manyLooks {
		if c.someMasterOf(tag) != addr {
			return ""
		}
	}
	return addr
}

// someMasterOf is masterOf, but of a slot that is nobody's it is any server's, another one each time.
func (c *Cluster) someMasterOf(tag string) string {
	node, err := c.client.MasterForKey(c.done, tag)
	if err != nil {
		return ""
	}
	return node.Options().Addr
}

// missed is told of a key that could not be asked about, and why. It says so if the fault is not this lane's master's.
func (s *Store) missed(key string, err error) error {
	if s.cluster == nil {
		return err
	}
	t := tagOf(key)
	s.at.Store(&t)
	s.lookAnew(err)
	if call, ok := errors.AsType[*callError](err); ok && s.elsewhere(err) {
		return &callError{reason: "moved", err: call.err, unsent: true}
	}
	return err
}

const (
	// manyLooks tell a slot that is nobody's, of which the client names any server: of two, one in 65 536 times the same.
	manyLooks = 16
	// wary is how long after one was met last there may be such slots. Their callers have the lane of no master then: those of the
	// servers that the client names have nothing to do with them, and one of them may hang.
	wary = time.Minute
)

// lookAnew has the client find out where the masters are behind an error, or it would go to one that is gone for a minute. It asks
// a few times a second at most.
func (s *Store) lookAnew(err error) {
	if s.cluster == nil {
		return
	}
	if nobodys(err) {
		s.uncovered.Store(s.now().Add(wary).UnixNano())
	}
	s.cluster.ReloadState(context.Background())
}
