package redisstore

import (
	"cmp"
	"context"
	crypto "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

// askAgain is how long a refused lease waits before it is asked for once more: a little longer than a release
// may linger.
const askAgain = linger + 500*time.Microsecond

// Config configures a Store.
type Config struct {
	// Client is the connection to Redis, to one server or to one behind Sentinel, with the options that NewClient or
	// NewSentinelClient gives it or others that are safe. A client of a Cluster or a Ring is refused. The Store does not
	// close it. Required.
	Client redis.UniversalClient
	// Namespace separates this service and environment from others on the same Redis, for example
	// "payments-prod": 1 to 32 lower-case letters, digits, '-' or '_', beginning with a letter. Required.
	Namespace string
	// Compact, if not nil, shortens the names of callers' keys; see there before changing it.
	Compact *Compact
	// Logger is told what goes wrong in the background; nil is slog.Default().
	Logger *slog.Logger
}

// instance is what does not depend on where on Redis a state lies.
type instance struct {
	id        string // of it among those of its fleet
	namespace string
	compact   *compactNames // nil: names are readable
	log       *slog.Logger
	shapes    shapes
	now       func() time.Time
	stepped   bool // tests only: scripts are given the clock
	lastID    atomic.Uint64
	members   members
	secret    secret
	moves     sync.RWMutex // held while a lease goes from a lane of a cluster to another

	forbidden atomic.Pointer[callError] // what the user may not do, as the last heartbeat found
}

// Store keeps all state on Redis. It is safe for concurrent use.
type Store struct {
	*instance
	client    redis.UniversalClient
	clock     clock
	calls     calls
	ledger    ledger
	releases  releases
	renewing  time.Duration // how often leases are looked through
	renewals  sync.RWMutex  // held to renew; read-held to release along with calls
	renewWait time.Duration // for the answer to one renewal
	lapsed    atomic.Uint64 // leases that Redis had lost when they were to be renewed
	probe     *redis.Script
	conns     uint32 // connections that are worth being kept warm

	preparation preparation
	announces   bool         // the instance
	fleetHeld   func() int64 // slots of the fleet that this instance holds

	cluster  *redis.ClusterClient     // nil: one server
	addr     string                   // of the master of a cluster whose callers these are
	at       atomic.Pointer[string]   // a tag that was asked about there
	home     func(seawall.Key) *Store // the lane to which a key belongs now
	lanes    func() []*Store          // all
	masterOf func(tag string) string  // its address, "" if it is not known

	background sync.WaitGroup
	used       atomic.Bool // since the last heartbeat, as a lane
	unused     int         // heartbeats in a row
	beaten     func()      // called after each heartbeat, if not nil
	stop       chan struct{}
	stopOnce   sync.Once
	ended      chan struct{} // closed when the background work and all calls have ended
	left       atomic.Bool
}

var (
	_ seawall.Store    = (*Store)(nil)
	_ seawall.Member   = (*Store)(nil)
	_ seawall.Preparer = (*Store)(nil)
	_ seawall.Prober   = (*Store)(nil)
	_ seawall.Claimer  = (*Store)(nil)
)

// New returns a Store and starts its heartbeats and releases; Close ends them. It does not wait for Redis,
// which need not be there yet.
func New(cfg Config) (*Store, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	s.start()
	return s, nil
}

func newStore(cfg Config) (*Store, error) {
	if cfg.Client == nil {
		return nil, errors.New("redisstore: Config.Client is nil; want a go-redis client, see NewClient and NewSentinelClient")
	}
	options, err := checkClient(cfg.Client)
	if err != nil {
		return nil, err
	}
	i, err := newInstance(&cfg)
	if err != nil {
		return nil, err
	}
	s := newOn(i, cfg.Client, options.ReadTimeout)
	s.conns = uint32(min(workers, options.PoolSize))
	if idle := options.MaxIdleConns; idle > 0 {
		s.conns = min(s.conns, uint32(idle))
	}
	return s, nil
}

func newInstance(cfg *Config) (*instance, error) {
	if err := seawall.ValidName("namespace", cfg.Namespace); err != nil {
		return nil, fmt.Errorf("redisstore: Config.Namespace: %w", err)
	}
	i := &instance{
		id:        strings.ToLower(crypto.Text()[:12]) + "-",
		namespace: cfg.Namespace,
		log:       cmp.Or(cfg.Logger, slog.Default()),
		shapes:    shapes{prelude: prelude},
		now:       steady(),
	}
	if cfg.Compact != nil {
		var err error
		if i.compact, err = newCompactNames(cfg.Compact, cfg.Namespace); err != nil {
			return nil, err
		}
	}
	i.lastID.Store(rand.Uint64N(1 << 40)) //nolint:gosec // no secret; others may number leases of this store, too
	i.members.init()
	i.secret.init()
	return i, nil
}

// newOn returns the instance's store on a Redis, which does nothing yet.
func newOn(i *instance, client redis.UniversalClient, readTimeout time.Duration) *Store {
	s := &Store{
		instance:  i,
		client:    client,
		renewing:  renewEvery,
		renewWait: min(batchTimeout, readTimeout),
		probe:     redis.NewScript(probeLua),
		stop:      make(chan struct{}),
		ended:     make(chan struct{}),
	}
	s.fleetHeld = s.ledger.fleetHeld
	s.calls.init()
	s.releases.init()
	return s
}

func (s *Store) start() {
	s.work()
	s.announceItself()
}

func (s *Store) announceItself() {
	s.announces = true
	s.background.Go(s.heartbeats)
}

// work starts what sends calls and releases.
func (s *Store) work() {
	for range workers {
		s.background.Go(s.serve)
	}
	s.background.Go(s.releaseLoop)
}

// String is the store's name in metrics.
func (s *Store) String() string { return "redis" }

// Apply implements seawall.Store.
func (s *Store) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if len(checks) == 0 {
		return dst, nil
	}
	if err := s.allowed(); err != nil {
		return dst, err
	}
	began := s.now()
	holds := s.hold(checks)
	env := s.env()
	if holds {
		if err := s.fit(); err != nil {
			s.forget(checks)
			return dst, err
		}
	}
	a, err := s.ask(ctx, env, checks)
	if err != nil {
		s.claimAll(checks)
		return dst, err
	}
	if a.onlyLeasesRefuse(checks) && pause(ctx, askAgain) {
		again, err := s.ask(ctx, env, checks)
		if err != nil { // the first answer stands, so what the second may have taken goes back
			s.giveBack(checks)
		} else {
			a = again
		}
	}
	for i := range checks {
		c := &checks[i]
		res := a.result(i, env, c)
		if c.Timed && c.Op != seawall.Refund {
			c.At = a.at()
		}
		if _, ok := c.Lease(); ok && !res.Committed {
			if l, held := s.drop(c.ID); held && s.now().Sub(began) >= l.Rule.TTL()/3 {
				s.releases.add(l, nil) // it was long due: it may have been renewed meanwhile
			}
		}
		dst = append(dst, res)
	}
	return dst, nil
}

// hold numbers the checks, and counts the leases that they may take as held until it is known that they are
// not: the request may be in flight long before the answer arrives. It tells whether there are any.
func (s *Store) hold(checks []seawall.Check) (some bool) {
	now := s.now()
	for i := range checks {
		c := &checks[i]
		if c.ID == 0 {
			c.ID = s.lastID.Add(1)
		}
		if l, ok := c.Lease(); ok {
			s.ledger.add(l, now)
			some = true
		}
	}
	return some
}

// forget takes the checks' leases for not taken, nor to be.
func (s *Store) forget(checks []seawall.Check) {
	for i := range checks {
		if l, ok := checks[i].Lease(); ok {
			s.drop(l.ID)
		}
	}
}

// claimAll has the checks' leases taken as soon as Redis can be asked, if they are still held then.
func (s *Store) claimAll(checks []seawall.Check) {
	for i := range checks {
		if l, ok := checks[i].Lease(); ok {
			s.releases.claim(asked, l)
		}
	}
}

// giveBack releases what the checks may have taken.
func (s *Store) giveBack(checks []seawall.Check) {
	for i := range checks {
		if l, held := s.drop(checks[i].ID); held {
			s.releases.add(l, nil)
		}
	}
}

// timed appends the clock to a script's arguments, where tests step it.
func (s *Store) timed(args []any) []any {
	if !s.stepped {
		return args
	}
	now := s.now()
	return append(args, now.Unix(), now.Nanosecond()/1000)
}

func (s *Store) env() seawall.Env {
	return seawall.Env{
		Now:      s.clock.at(s.now()),
		Capacity: s.members.capacity(), Instance: s.id,
	}
}

// pause waits, and tells whether ctx still was not done then.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Close gives back what is held, leaves the fleet and ends the background work. It returns when ctx is done
// at the latest. Apply must not be called any more. A Close that failed may be repeated.
func (s *Store) Close(ctx context.Context) error {
	s.stopOnce.Do(func() {
		s.calls.close()
		close(s.stop)
		go s.end()
	})
	select {
	case <-s.ended:
	case <-ctx.Done():
		return fmt.Errorf("redisstore: closing: %w", ctx.Err())
	}
	if s.left.Load() {
		return nil
	}
	s.drain(ctx) // what the last calls left; without Redis, it expires
	var errs []error
	if held := s.ledger.all(); len(held) > 0 {
		_, err := s.runBatch(ctx, releasing, held)
		errs = append(errs, err)
	}
	if s.announces {
		errs = append(errs, s.leave(ctx))
	}
	err := errors.Join(errs...)
	s.left.Store(err == nil)
	return err
}

// end waits for the background work: no call is accepted any more, and those that were are answered.
func (s *Store) end() {
	s.background.Wait()
	close(s.ended)
}
