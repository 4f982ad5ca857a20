package memstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// DefaultMaxKeys is Config.MaxKeys unless told otherwise.
const DefaultMaxKeys = 150_000

// ErrClosed is what Apply returns after Close.
var ErrClosed = errors.New("memstore: the store is closed")

// Config configures a Store. The zero Config is ready to use.
type Config struct {
	// Now is the clock; nil is the system's, read so that steps of it do not matter. A store with a clock of
	// its own does nothing in the background: call Renew and Sweep.
	Now func() time.Time
	// MaxKeys is how many states of rates are kept, one for each limit that a caller has spent from and that
	// has not recovered; zero or less is DefaultMaxKeys. Beyond it a new one takes the place of one that is
	// idle or was not spent from for long, whose caller then starts anew. Each of 64 shards keeps the states
	// of one request in any case, so a MaxKeys of a few hundred may be exceeded.
	//
	// Not counted, and never forgotten, are slots that are held, and up to 100,000 states that have refused
	// since they were last spent from.
	//
	// A token bucket or a fixed window takes 46 to 102 bytes, whatever its key. With the default and all the refused ones
	// that is 17 MB, or up to twice that with what the garbage collector has not collected yet.
	MaxKeys int
}

// Store keeps all state in memory.
type Store struct {
	now        func() time.Time // nil: epoch + (monotonic time - began)
	epoch      int64
	began      time.Time
	maxKeys    int64
	maxRefused int64
	seed       maphash.Seed
	secret     seawall.Secret
	fleetKey   seawall.Key
	workers    atomic.Int64
	closed     atomic.Bool
	stop       chan struct{}
	done       chan struct{}

	totals [fates]atomic.Int64
	shards [shards]shard
}

var (
	_ seawall.Store  = (*Store)(nil)
	_ seawall.Member = (*Store)(nil)
	_ seawall.Prober = (*Store)(nil)
)

// New returns an empty store and starts its sweep; Close ends it.
func New(cfg Config) *Store {
	s := &Store{
		now:        cfg.Now,
		maxKeys:    int64(cfg.MaxKeys),
		maxRefused: maxRefused,
		seed:       maphash.MakeSeed(),
		secret:     seawall.NewSecret(),
		fleetKey:   seawall.FleetKey(),
		stop:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	if s.maxKeys <= 0 {
		s.maxKeys = DefaultMaxKeys
	}
	for i := range s.shards {
		s.shards[i].totals = &s.totals
		s.shards[i].table.Store(newTable(0))
		s.shards[i].due = math.MaxInt64
	}
	if s.now == nil {
		s.began = time.Now()
		s.epoch = s.began.UnixNano()
		go s.sweepLoop()
	} else {
		close(s.done)
	}
	return s
}

// Secret implements seawall.SecretSharer: it lasts as long as the Store.
func (s *Store) Secret() seawall.Secret { return s.secret }

// String is the store's name in metrics.
func (s *Store) String() string { return "memory" }

// Apply implements seawall.Store. It never waits, so ctx does not matter.
func (s *Store) Apply(_ context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if s.closed.Load() {
		return dst, ErrClosed
	}
	if len(checks) == 1 && checks[0].Op == seawall.Spend {
		if res, ok := s.step(dst, &checks[0]); ok {
			return res, nil
		}
	}
	return s.evaluate(dst, checks), nil
}

// Probe implements seawall.Prober.
func (s *Store) Probe(context.Context) error {
	if s.closed.Load() {
		return ErrClosed
	}
	return nil
}

// Close ends the sweep. Later calls of Apply fail.
func (s *Store) Close(ctx context.Context) error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.stop)
	}
	select {
	case <-s.done:
		return nil
	default:
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("memstore: closing: %w", ctx.Err())
	}
}
