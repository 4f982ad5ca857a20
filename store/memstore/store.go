package memstore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
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
	// A token bucket takes 80 to 130 bytes, whatever its key. With the default and all the refused ones that
	// is 30 MB, or 55 MB with what the garbage collector has not collected yet.
	MaxKeys int
}

// Store keeps all state in memory.
type Store struct {
	now        func() time.Time
	maxKeys    int64
	maxRefused int64
	seeds      seeds
	secret     seawall.Secret
	shards     [shards]shard
	totals     struct{ slots, refused, open atomic.Int64 }
	ledger     seawall.Ledger
	lastID     atomic.Uint64
	workers    atomic.Int64

	closed atomic.Bool
	stop   chan struct{}
	done   chan struct{}
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
		seeds:      newSeeds(),
		secret:     seawall.NewSecret(),
		stop:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	if s.maxKeys <= 0 {
		s.maxKeys = DefaultMaxKeys
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.slots, sh.refused, sh.open = newPool(&s.totals.slots), newPool(&s.totals.refused), newPool(&s.totals.open)
	}
	if s.now == nil {
		base := time.Now()
		s.now = func() time.Time { return base.Add(time.Since(base)) }
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
	for i := range checks {
		if checks[i].ID == 0 {
			checks[i].ID = s.lastID.Add(1)
		}
	}
	base := len(dst)
	dst = s.evaluate(dst, checks)
	s.enter(checks, dst[base:])
	return dst, nil
}

// evaluation is one check of a request that holds the locks of its shards.
type evaluation struct {
	shard uint64
	name  name
	state *state
	seen  seawall.Observation
	ok    bool
}

// evaluate is the atomic step.
func (s *Store) evaluate(dst []seawall.Result, checks []seawall.Check) []seawall.Result {
	var buf [8]evaluation
	evaluated := buf[:0]
	for i := range checks {
		shard, n := s.seeds.locate(checks[i].Key, checks[i].Limit)
		evaluated = append(evaluated, evaluation{shard: shard, name: n})
	}
	defer s.unlock(s.lock(evaluated))
	env := s.env() // behind the locks: time does not step back between two decisions on a key
	enforced, all := true, true
	for i := range checks {
		c, e := &checks[i], &evaluated[i]
		e.state = s.shards[e.shard].find(e.name, c.Rule)
		if c.Op <= seawall.Peek {
			e.seen, e.ok = c.Rule.Check(&e.state.State, env, c)
		}
		if c.Op == seawall.Spend {
			e.ok = e.ok || c.CountOnly
			all = all && e.ok
			enforced = enforced && (e.ok || c.Advisory)
		}
	}
	for i := range checks {
		c, e := &checks[i], &evaluated[i]
		if c.Timed && c.Op != seawall.Refund {
			c.At = env.Now
		}
		if c.Op > seawall.Peek {
			dst = append(dst, s.undo(c, e, env))
			continue
		}
		committed := c.Op == seawall.Spend && (all || enforced && !c.Advisory)
		switch {
		case committed:
			c.Rule.Commit(&e.state.State, env, c)
			s.keep(c.Rule, e, env.Now, evaluated)
		case !e.ok:
			s.protect(c.Rule, e, env.Now, evaluated)
		}
		dst = append(dst, c.Rule.Result(e.seen, e.ok, committed, env, c))
	}
	return dst
}

// undo refunds or resets.
func (s *Store) undo(c *seawall.Check, e *evaluation, env seawall.Env) seawall.Result {
	if c.Op == seawall.Reset {
		s.shards[e.shard].reset(c.Rule, e)
	} else if r, ok := c.Rule.(seawall.Refunder); ok && e.state.rule != nil {
		r.Refund(&e.state.State, env, c)
	}
	return seawall.Result{Admitted: true, Committed: true}
}

// lock takes the locks of all the shards in order, and returns which.
func (s *Store) lock(evaluated []evaluation) (locked uint64) {
	for i := range evaluated {
		locked |= 1 << evaluated[i].shard
	}
	for rest := locked; rest != 0; rest &= rest - 1 {
		s.shards[bits.TrailingZeros64(rest)].mu.Lock()
	}
	return locked
}

func (s *Store) unlock(locked uint64) {
	for ; locked != 0; locked &= locked - 1 {
		s.shards[bits.TrailingZeros64(locked)].mu.Unlock()
	}
}

// enter remembers the leases that were taken.
func (s *Store) enter(checks []seawall.Check, results []seawall.Result) {
	for i := range checks {
		c := &checks[i]
		if l, ok := c.Lease(); ok && results[i].Committed {
			s.ledger.Add(l, s.now())
		}
	}
}

// Release implements seawall.Store. The leases are free when it returns.
func (s *Store) Release(_ context.Context, leases ...seawall.Lease) error {
	for _, l := range leases {
		if _, held := s.ledger.Remove(l.ID); !held {
			continue
		}
		shard, n := s.seeds.locate(l.Key, l.Limit)
		sh := &s.shards[shard]
		sh.mu.Lock()
		if st := sh.slots.states[n]; st != nil {
			l.Rule.Release(&st.State, l.ID)
		}
		sh.mu.Unlock()
	}
	return nil
}

func (s *Store) env() seawall.Env {
	return seawall.Env{Now: s.now().UnixNano(), Capacity: s.workers.Load()}
}

// Join implements seawall.Member.
func (s *Store) Join(workers int64) { s.workers.Store(workers) }

// Fleet implements seawall.Member: a fleet of one.
func (s *Store) Fleet() seawall.Fleet {
	return seawall.Fleet{Instances: 1, Capacity: s.workers.Load(), Used: s.ledger.Fleet(), Announced: true}
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
