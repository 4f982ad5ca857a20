package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
)

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
	rightsAsk *redis.Script // of a lane's own master; its reply says nothing
	conns     uint32        // connections that are worth being kept warm

	preparation preparation
	announces   bool         // the instance
	fleetHeld   func() int64 // slots of the fleet that this instance holds

	lane

	background sync.WaitGroup
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

// newOn returns the instance's store on a Redis, which does nothing yet.
func newOn(i *instance, client redis.UniversalClient, readTimeout time.Duration) *Store {
	s := &Store{
		instance:  i,
		client:    client,
		renewing:  renewEvery,
		renewWait: min(batchTimeout, readTimeout),
		probe:     redis.NewScript(probeLua),
		rightsAsk: redis.NewScript(rightsLua + "return 0\n"),
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

// Close gives back what is held, leaves the fleet and ends the background work. It returns when ctx is done
// at the latest. Apply must not be called any more. A Close that failed may be repeated.
func (s *Store) Close(ctx context.Context) error {
	s.halt()
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

// halt has the background work end, and further calls be refused.
func (s *Store) halt() {
	s.stopOnce.Do(func() {
		s.calls.close()
		close(s.stop)
		go s.end()
	})
}

// end waits for the background work: no call is accepted any more, and those that were are answered.
func (s *Store) end() {
	s.background.Wait()
	close(s.ended)
}
