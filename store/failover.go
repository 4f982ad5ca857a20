package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store/split"
)

// FailoverConfig configures a Failover.
type FailoverConfig struct {
	// Shared is the store that all instances share, a redisstore.Store: a seawall.Prober. Of a seawall.Sharded store each
	// shard is given up by itself. Required.
	Shared seawall.Store
	// Local is a memstore.Store that nothing else uses. Required.
	Local Local
	// ExpectedInstances is how many instances share the limits until the shared store has told; zero is 1.
	ExpectedInstances int64
	// Logger is told when the shared store is given up and when it is back; nil is slog.Default().
	Logger *slog.Logger
}

// Local is a store in memory that a Failover falls back on: a memstore.Store.
type Local interface {
	seawall.Store
	// Assume has so much remain of the check's limit, whatever was spent here before.
	Assume(c seawall.Check, remaining int64)
	Close(ctx context.Context) error
}

const (
	// maxInstances is the largest fleet that limits are divided by.
	maxInstances = 1_000_000
	// lastWords is how long Close waits, once its context is done, for what is about to end.
	lastWords = 20 * time.Millisecond
)

// instance is what decides without the shared store. All shards have the same.
type instance struct {
	local    Local
	expected int64
	place    int64 // among the expected
	fleet    func() seawall.Fleet
	log      *slog.Logger
	lastID   atomic.Uint64 // of leases, which bear the same id in both stores
	shares   shares
	notes    *notes
}

// Failover is a seawall.Store that asks a shared store and, when that fails, decides by the failure policies of
// the limits concerned; the package documentation says how. It is safe for concurrent use.
type Failover struct {
	*instance
	shared seawall.Shard
	shards shards // none: shared is one

	quick   *breaker
	patient *breaker // of calls that wait longer, since a limit fails closed

	wake    chan struct{} // a breaker has opened
	stop    chan struct{}
	stopped sync.Once
	probing sync.WaitGroup
}

var (
	_ seawall.Store    = (*Failover)(nil)
	_ seawall.Member   = (*Failover)(nil)
	_ seawall.Preparer = (*Failover)(nil)
)

// NewFailover returns a Failover, which owns both stores: Close closes them. It does not wait for the shared one,
// which need not be there yet.
func NewFailover(cfg FailoverConfig) (*Failover, error) {
	if cfg.Shared == nil || cfg.Local == nil {
		return nil, errors.New("store: FailoverConfig.Shared and Local are required; want a redisstore.Store and a memstore.Store")
	}
	f := &Failover{instance: &instance{local: cfg.Local, expected: max(1, cfg.ExpectedInstances), log: cfg.Logger}}
	var ok bool
	if f.shared, ok = cfg.Shared.(seawall.Shard); !ok {
		return nil, fmt.Errorf("store: FailoverConfig.Shared is a %T, which is no seawall.Prober; want a store that can be probed", cfg.Shared)
	}
	if cfg.ExpectedInstances < 0 || cfg.ExpectedInstances > maxInstances {
		return nil, fmt.Errorf("store: FailoverConfig.ExpectedInstances is %d; want 1 to %d, or zero for 1", cfg.ExpectedInstances, maxInstances)
	}
	var err error
	if f.notes, err = newNotes(); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if f.log == nil {
		f.log = slog.Default()
	}
	f.place = rand.Int64N(f.expected)     //nolint:gosec // no secret
	f.lastID.Store(rand.Uint64N(1 << 40)) //nolint:gosec // no secret; others may number leases of the same store, too
	f.fleet = f.Fleet
	f.shards.instance = f.instance
	f.shards.sharded, _ = cfg.Shared.(seawall.Sharded)
	f.start()
	return f, nil
}

// start has it watch over its shared store.
func (f *Failover) start() {
	f.wake, f.stop = make(chan struct{}, 1), make(chan struct{})
	f.quick, f.patient = newBreaker(seawall.DefaultWait, f.gaveUp), newBreaker(seawall.DefaultWaitClosed, f.gaveUp)
	f.probing.Go(f.probes)
}

// where names the shared store in logs: of a shard also which it is.
func (f *Failover) where() string {
	if s, ok := f.shared.(interface{ Where() string }); ok {
		return s.Where()
	}
	return f.String()
}

// String is the shared store's name.
func (f *Failover) String() string {
	if s, ok := f.shared.(fmt.Stringer); ok {
		return s.String()
	}
	return "store"
}

// Open tells whether the shared store is given up for now, by all or by those who wait longer for it: until a probe has
// found it well their decisions do not touch it. Of a sharded one it tells whether a shard is.
func (f *Failover) Open() bool {
	return f.quick.isOpen() || f.patient.isOpen() || f.shards.open()
}

// Shards tells which shards of the shared store are given up for now, by the names that logs have for them: of a Redis Cluster
// with the addresses of its masters. Those that nobody has asked yet are left out, and a store that is not sharded has none.
func (f *Failover) Shards() map[string]bool { return f.shards.givenUp() }

// Apply implements seawall.Store. If the shared store fails, or is given up, it returns the local results and the
// error.
func (f *Failover) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	if f.shards.sharded != nil {
		return split.Apply(ctx, f.shards.of, dst, checks)
	}
	closed, blocked := false, false
	for i := range checks {
		c := &checks[i]
		if _, ok := c.Rule.(seawall.Holder); ok && c.ID == 0 {
			c.ID = f.lastID.Add(1)
		}
		closed = closed || c.FailsClosed()
		blocked = blocked || blocks(c)
		if c.Op == seawall.Refund {
			f.leave(c)
		}
	}
	b := f.quick
	if closed {
		b = f.patient
	}
	call, refused := b.allow()
	if refused != nil {
		return f.decide(dst, checks, closed || blocked, true), refused
	}
	wait := b.waitOf(ctx)
	if !closed {
		seawall.Prolong(ctx, func() time.Duration { return f.prolong(checks) })
	}
	results, err := f.ask(ctx, dst, checks)
	if !closed {
		seawall.Prolong(ctx, nil) // checks are the caller's again
	}
	call.report(err, wait)
	if err != nil {
		return f.decide(dst, checks, closed || blocked, false), err
	}
	f.mirror(checks, results[len(dst):])
	return results, nil
}

// blocks tells whether the check refuses whatever is asked.
func blocks(c *seawall.Check) bool {
	fixed, ok := c.Rule.(seawall.Constant)
	return ok && !c.Advisory && !c.CountOnly && c.Op == seawall.Spend && !fixed.Answer().Admitted
}

// ask asks the shared store. A panic in it is an error.
func (f *Failover) ask(ctx context.Context, dst []seawall.Result, checks []seawall.Check) (results []seawall.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			results, err = dst, &panicError{p}
		}
	}()
	results, err = f.shared.Apply(ctx, dst, checks)
	if err == nil && len(results) != len(dst)+len(checks) {
		err = fmt.Errorf("store: the shared store answered %d of %d checks", len(results)-len(dst), len(checks))
	}
	return results, err
}

// panicError is a panic in the shared store.
type panicError struct{ value any }

func (e *panicError) Error() string {
	return fmt.Sprintf("store: panic in the shared store: %v", e.value)
}
func (e *panicError) Reason() string { return "panic" }

// Release implements seawall.Store.
func (f *Failover) Release(ctx context.Context, leases ...seawall.Lease) error {
	return errors.Join(f.local.Release(ctx, leases...), f.shared.Release(ctx, leases...))
}

// Prepare implements seawall.Preparer, if the shared store does.
func (f *Failover) Prepare(checks []seawall.Check) {
	if p, ok := f.shared.(seawall.Preparer); ok {
		p.Prepare(checks)
	}
}

// Join implements seawall.Member, if the shared store does.
func (f *Failover) Join(workers int64) {
	if m, ok := f.shared.(seawall.Member); ok {
		m.Join(workers)
	}
}

// Fleet implements seawall.Member: as the shared store sees it, otherwise this instance among those expected.
func (f *Failover) Fleet() seawall.Fleet {
	if m, ok := f.shared.(seawall.Member); ok {
		return m.Fleet()
	}
	return seawall.Fleet{Instances: f.expected, Index: f.place}
}

// Close ends the probes and closes both stores, the shared one first. It returns when ctx is done, or a moment later,
// at the latest. A Close that failed may be repeated.
func (f *Failover) Close(ctx context.Context) error {
	f.stopped.Do(func() {
		close(f.stop)
		f.shards.stop()
	})
	ended := make(chan struct{})
	go func() {
		f.probing.Wait()
		f.shards.wait()
		close(ended)
	}()
	var errs []error
	if c, ok := f.shared.(interface {
		Close(ctx context.Context) error
	}); ok {
		errs = append(errs, c.Close(ctx))
	}
	if ctx.Err() != nil { // what needs a moment is not blamed for what took all the time
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
	}
	errs = append(errs, f.local.Close(ctx))
	select {
	case <-ended:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("store: closing: a probe is still under way: %w", ctx.Err()))
	}
	return errors.Join(errs...)
}
