package memstore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
)

// shards is as many as a word has bits.
const shards = 64

// ErrClosed is what Apply returns after Close.
var ErrClosed = errors.New("memstore: the store is closed")

// Config configures a Store. The zero Config is ready to use.
type Config struct {
	// Now is the clock; nil is the system's, read so that steps of it do not matter. A store with a clock of
	// its own does nothing in the background: call Renew and Sweep.
	Now func() time.Time
}

// Store keeps all state in memory.
type Store struct {
	now     func() time.Time
	shards  [shards]shard
	ledger  seawall.Ledger
	lastID  atomic.Uint64
	workers atomic.Int64

	closed atomic.Bool
	stop   chan struct{}
	done   chan struct{}
}

type shard struct {
	mu     sync.Mutex
	states map[name]*state
}

type name struct{ key, limit string }

type state struct {
	seawall.State
	rule seawall.Rule
}

var (
	_ seawall.Store  = (*Store)(nil)
	_ seawall.Member = (*Store)(nil)
)

// New returns an empty store and starts its sweep; Close ends it.
func New(cfg Config) *Store {
	s := &Store{now: cfg.Now, stop: make(chan struct{}), done: make(chan struct{})}
	for i := range s.shards {
		s.shards[i].states = map[name]*state{}
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

// evaluate is the atomic step.
func (s *Store) evaluate(dst []seawall.Result, checks []seawall.Check) []seawall.Result {
	var buf [8]evaluation
	evaluated := buf[:0]
	defer s.unlock(s.lock(checks))
	env := s.env() // behind the locks: time does not step back between two decisions on a key
	enforced, all := true, true
	for i := range checks {
		c := &checks[i]
		e := evaluation{state: s.find(c)}
		if c.Op <= seawall.Peek {
			e.seen, e.ok = c.Rule.Check(&e.state.State, env, c)
		}
		if c.Op == seawall.Spend {
			e.ok = e.ok || c.CountOnly
			all = all && e.ok
			enforced = enforced && (e.ok || c.Advisory)
		}
		evaluated = append(evaluated, e)
	}
	for i := range checks {
		c, e := &checks[i], &evaluated[i]
		if c.Op > seawall.Peek {
			dst = append(dst, s.undo(c, e.state, env))
			continue
		}
		committed := c.Op == seawall.Spend && (all || enforced && !c.Advisory)
		if committed {
			c.Rule.Commit(&e.state.State, env, c)
			s.keep(c, e.state)
		}
		dst = append(dst, c.Rule.Result(e.seen, e.ok, committed, env, c))
	}
	return dst
}

// undo refunds or resets.
func (s *Store) undo(c *seawall.Check, st *state, env seawall.Env) seawall.Result {
	if c.Op == seawall.Reset {
		delete(s.shards[c.Key.Hash()%shards].states, nameOf(c.Key, c.Limit))
	} else if r, ok := c.Rule.(seawall.Refunder); ok && st.rule != nil {
		r.Refund(&st.State, env, c)
	}
	return seawall.Result{Admitted: true, Committed: true}
}

// evaluation is what the check half of one check found.
type evaluation struct {
	state *state
	seen  seawall.Observation
	ok    bool
}

// lock takes the locks of all the checks' shards in order, and returns which.
func (s *Store) lock(checks []seawall.Check) (locked uint64) {
	for i := range checks {
		locked |= 1 << (checks[i].Key.Hash() % shards)
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

// find returns the state of a check, a new one if there is none or it is another kind of rule's.
func (s *Store) find(c *seawall.Check) *state {
	st := s.shards[c.Key.Hash()%shards].states[nameOf(c.Key, c.Limit)]
	if st == nil || st.rule.Kind() != c.Rule.Kind() {
		return &state{}
	}
	return st
}

// keep stores a state that was committed to.
func (s *Store) keep(c *seawall.Check, st *state) {
	if st.rule == nil {
		s.shards[c.Key.Hash()%shards].states[nameOf(c.Key, c.Limit)] = st
	}
	st.rule = c.Rule
}

func nameOf(k seawall.Key, l *seawall.Limit) name { return name{k.String(), l.Name()} }

// enter remembers the leases that were taken.
func (s *Store) enter(checks []seawall.Check, results []seawall.Result) {
	for i := range checks {
		c := &checks[i]
		if h, ok := c.Rule.(seawall.Holder); ok && results[i].Committed && c.Op == seawall.Spend {
			s.ledger.Add(seawall.Lease{Limit: c.Limit, Rule: h, Key: c.Key, ID: c.ID}, s.now())
		}
	}
}

// Release implements seawall.Store. The leases are free when it returns.
func (s *Store) Release(_ context.Context, leases ...seawall.Lease) error {
	for _, l := range leases {
		if !s.ledger.Remove(l.ID) {
			continue
		}
		sh := &s.shards[l.Key.Hash()%shards]
		sh.mu.Lock()
		if st := sh.states[nameOf(l.Key, l.Limit)]; st != nil {
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

// Close ends the sweep. Later calls of Apply fail.
func (s *Store) Close(ctx context.Context) error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.stop)
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("memstore: closing: %w", ctx.Err())
	}
}
