package redisstore

import (
	_ "embed"
	"time"

	"github.com/seawall-go/seawall"
)

//go:embed testdata/prelude.lua
var steppedPrelude string

// NewStepped returns a Store whose scripts read the clock from the given function, whose keys outlive what
// that clock says about them, and which renews leases only when told to.
func NewStepped(cfg Config, clock func() time.Time) (*Store, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	s.now, s.stepped = clock, true
	s.clock.sample.Store(&sample{})
	s.shapes.prelude = steppedPrelude
	s.renewing = time.Hour
	s.start()
	return s, nil
}

// NewSteppedCluster is NewStepped on a Cluster.
func NewSteppedCluster(cfg Config, clock func() time.Time) (*Cluster, error) {
	c, err := newCluster(cfg)
	if err != nil {
		return nil, err
	}
	c.now, c.stepped, c.shapes.prelude = clock, true, steppedPrelude
	c.start()
	return c, nil
}

// NewForgetfulCluster returns a Cluster that beats so often, and ends a lane after one beat without use.
func NewForgetfulCluster(cfg Config, every time.Duration) (*Cluster, error) {
	c, err := newCluster(cfg)
	if err != nil {
		return nil, err
	}
	c.idle, c.members.every = 1, every
	c.start()
	return c, nil
}

// Lanes returns how many masters have a lane.
func (c *Cluster) Lanes() int { return len(c.all()) }

// Renew renews the leases that are due.
func (s *Store) Renew() { s.renew() }

// Renew renews the leases that are due.
func (c *Cluster) Renew() {
	for _, s := range c.all() {
		s.renew()
	}
	for _, s := range c.all() { // what has come from another lane
		s.claim()
	}
}

// Queued returns how many releases wait.
func (s *Store) Queued() int {
	s.releases.mu.Lock()
	defer s.releases.mu.Unlock()
	return len(s.releases.queue)
}

// Instance returns the instance's id.
func (s *Store) Instance() string { return s.id }

// NewTuned returns a Store that announces itself so often, and is gone so long after it stopped.
func NewTuned(cfg Config, every, ttl time.Duration) (*Store, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	s.members.every, s.members.ttl = every, ttl
	s.start()
	return s, nil
}

// Die ends the background work as the end of the process would: nothing is given back, nobody is told.
func (s *Store) Die() {
	s.calls.close()
	s.stopOnce.Do(func() { close(s.stop) })
	s.background.Wait()
}

// Claims returns how many claims wait.
func (s *Store) Claims() int {
	s.releases.mu.Lock()
	defer s.releases.mu.Unlock()
	return len(s.releases.claims)
}

// Names returns how a Store of the Config would name keys.
func Names(cfg Config) (func(seawall.Key, *seawall.Limit) string, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	return s.nameOf, nil
}

// Waiting returns how many calls wait for a worker.
func (s *Store) Waiting() int {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return len(s.calls.queue)
}

// Workers is how many calls are under way at once, MaxRequests how many requests one is for at most.
const Workers, MaxRequests = workers, maxRequests

// MasterOf is the address of the master that has a key, "" if it is not known.
func (c *Cluster) MasterOf(key seawall.Key) string { return c.laneOf(key).addr }

// Held returns how many leases are held.
func (c *Cluster) Held() (n int) {
	for _, s := range c.all() {
		n += len(s.ledger.all())
	}
	return n
}

// Reload has the client ask where the masters are.
func (c *Cluster) Reload() { c.client.ReloadState(c.done) }

// Queued returns how many releases and claims wait at all lanes.
func (c *Cluster) Queued() (n int) {
	for _, s := range c.all() {
		s.releases.mu.Lock()
		n += len(s.releases.queue) + len(s.releases.stuck) + len(s.releases.claims)
		s.releases.mu.Unlock()
	}
	return n
}
