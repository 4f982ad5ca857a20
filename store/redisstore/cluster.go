package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store/split"
)

// Cluster keeps all state on a Redis Cluster. It is safe for concurrent use.
//
// All keys of a caller are in one hash slot, and its checks are one script call. The fleet's are in another, so a request that
// meets both is two calls, which go out at the same time; see the package split for what that means where one of them denies.
//
// Each master has workers, leases and a clock of its own (it is a [seawall.Shard]), so one that hangs holds up nobody else. Moves
// of slots are followed by the client, and asked about again where Redis wants that (TRYAGAIN).
type Cluster struct {
	*instance
	client *redis.ClusterClient
	head   *Store          // announces the instance; it has no workers
	done   context.Context // with which nothing is waited for

	idle int            // how many heartbeats a lane may be of no use until it ends
	ends sync.WaitGroup // of those

	mu    sync.RWMutex
	lanes map[string]*Store // by the address of the master, "" if none is known, or has the slot
	ended bool
}

var (
	_ seawall.Sharded  = (*Cluster)(nil)
	_ seawall.Member   = (*Cluster)(nil)
	_ seawall.Preparer = (*Cluster)(nil)
	_ seawall.Prober   = (*Cluster)(nil)
	_ seawall.Claimer  = (*Cluster)(nil)
)

// NewCluster returns a Cluster, whose Config.Client is a *redis.ClusterClient, and starts its heartbeats; Close ends them. It does
// not wait for Redis, which need not be there yet.
func NewCluster(cfg Config) (*Cluster, error) {
	c, err := newCluster(cfg)
	if err != nil {
		return nil, err
	}
	c.start()
	return c, nil
}

func newCluster(cfg Config) (*Cluster, error) {
	client, ok := cfg.Client.(*redis.ClusterClient)
	if !ok || client == nil {
		return nil, fmt.Errorf("redisstore: Config.Client is a %T; want a *redis.ClusterClient, see NewClusterClient, or call New", cfg.Client)
	}
	if err := checkCluster(client.Options()); err != nil {
		return nil, err
	}
	i, err := newInstance(&cfg)
	if err != nil {
		return nil, err
	}
	c := &Cluster{instance: i, client: client, idle: idleBeats, lanes: map[string]*Store{}}
	var cancel context.CancelFunc
	c.done, cancel = context.WithCancel(context.Background())
	cancel()
	return c, nil
}

func (c *Cluster) start() {
	c.head = c.lane()
	c.head.fleetHeld, c.head.beaten = c.fleetHeld, c.endIdle
	c.head.announceItself()
}

// lane returns a store of the cluster's, which does nothing yet.
func (c *Cluster) lane() *Store {
	s := newOn(c.instance, c.client, c.client.Options().ReadTimeout)
	s.cluster, s.home, s.lanes, s.masterOf, s.someMasterOf = c.client, c.laneOf, c.all, c.masterOf, c.someMasterOf
	if c.stepped {
		s.clock.sample.Store(&sample{})
		s.renewing = time.Hour
	}
	return s
}

// String is the store's name in metrics.
func (c *Cluster) String() string { return "redis" }

// Apply implements seawall.Store.
func (c *Cluster) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	return split.Apply(ctx, func(key seawall.Key) seawall.Store { return c.Shard(key) }, dst, checks)
}

// Shard implements seawall.Sharded. It never waits: as long as the masters are not known, all keys are at one, and so are those of
// slots that are nobody's.
func (c *Cluster) Shard(key seawall.Key) seawall.Shard { return c.laneOf(key) }

func (c *Cluster) laneOf(key seawall.Key) *Store {
	addr := c.masterOf(c.tagged(key))
	c.mu.RLock()
	s := c.lanes[addr]
	c.mu.RUnlock()
	if s != nil {
		s.use()
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s = c.lanes[addr]; s == nil {
		s = c.lane()
		s.addr = addr
		s.use()
		t := c.tagged(key)
		s.at.Store(&t)
		if c.ended {
			s.halt()
		} else {
			s.work()
			s.background.Go(s.watchRights)
		}
		c.lanes[addr] = s
	}
	return s
}

// all returns all lanes.
func (c *Cluster) all() []*Store {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]*Store, 0, len(c.lanes))
	for _, s := range c.lanes {
		all = append(all, s)
	}
	return all
}

// Release implements seawall.Store.
func (c *Cluster) Release(ctx context.Context, leases ...seawall.Lease) error {
	var w waits
	for i := range leases {
		c.laneOf(leases[i].Key).giveUp(&w, &leases[i])
	}
	return w.wait(ctx)
}

// Claim implements seawall.Claimer.
func (c *Cluster) Claim(leases ...seawall.Lease) {
	for _, l := range leases {
		c.laneOf(l.Key).Claim(l)
	}
}

// Lapsed is Store.Lapsed of all masters.
func (c *Cluster) Lapsed() (n uint64) {
	for _, s := range c.all() {
		n += s.Lapsed()
	}
	return n
}

func (c *Cluster) fleetHeld() (n int64) {
	for _, s := range c.all() {
		n += s.ledger.fleetHeld()
	}
	return n
}

// Join implements seawall.Member.
func (c *Cluster) Join(workers int64) { c.head.Join(workers) }

// Fleet implements seawall.Member.
func (c *Cluster) Fleet() seawall.Fleet { return c.head.Fleet() }

// Secret implements seawall.SecretSharer; see Store.Secret.
func (c *Cluster) Secret() seawall.Secret { return c.head.Secret() }

// Prepare implements seawall.Preparer: the next heartbeat loads the scripts on every master.
func (c *Cluster) Prepare(checks []seawall.Check) {
	for _, at := range split.ByKey(checks) {
		var some []seawall.Check
		for _, i := range at {
			some = append(some, checks[i])
		}
		c.head.Prepare(some)
	}
}

// Probe implements seawall.Prober: it tries out where the fleet's state lies.
func (c *Cluster) Probe(ctx context.Context) error { return c.head.Probe(ctx) }

// Close gives back what is held, leaves the fleet and ends the background work. It returns when ctx is done at the latest. Apply
// must not be called any more. A Close that failed may be repeated.
func (c *Cluster) Close(ctx context.Context) error {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	all := append(c.all(), c.head)
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, s := range all {
		closing.Go(func() { errs[i] = s.Close(ctx) })
	}
	closing.Wait()
	return errors.Join(append(errs, c.waitForEnds(ctx))...)
}

// waitForEnds waits for lanes that ended before.
func (c *Cluster) waitForEnds(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		c.ends.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("redisstore: closing: waiting for masters that nobody asks any more: %w", ctx.Err())
	}
}

// once is a command that is not sent again when nobody knows what came of it: a Cluster's client would.
type once struct{ *redis.IntSliceCmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }
