package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/seawall-go/seawall"
)

// Failover is a seawall.Store that asks a shared store, and decides by a local one what the shared one does
// not answer and a rule can share (seawall.Sharer). What the shared store grants is counted in the local
// one, so that the local one decides by what is really in flight; and what the local one grants counts as
// held in the shared one, if it was only slow. It is safe for concurrent use.
type Failover struct {
	shared, local seawall.Store
	lastID        atomic.Uint64 // of leases, which bear the same id in both stores
}

var (
	_ seawall.Store  = (*Failover)(nil)
	_ seawall.Member = (*Failover)(nil)
)

// NewFailover returns a Failover of a shared store and a local one, a memstore.Store that nothing else uses.
// It owns both: Close closes them.
func NewFailover(shared, local seawall.Store) (*Failover, error) {
	if shared == nil || local == nil {
		return nil, errors.New("store: NewFailover was given a nil store; want a shared and a local one")
	}
	return &Failover{shared: shared, local: local}, nil
}

// String is the shared store's name.
func (f *Failover) String() string {
	if s, ok := f.shared.(fmt.Stringer); ok {
		return s.String()
	}
	return "store"
}

// Apply implements seawall.Store. If the shared store fails, it returns the local results and the error.
func (f *Failover) Apply(ctx context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	for i := range checks {
		if _, ok := checks[i].Rule.(seawall.Holder); ok {
			checks[i].ID = f.lastID.Add(1)
		}
	}
	results, err := f.shared.Apply(ctx, dst, checks)
	if err != nil {
		return f.decide(dst, checks), err
	}
	f.mirror(checks, results[len(dst):])
	return results, nil
}

// mirror counts in the local store what the shared one granted. While slots that were granted locally are not
// known to the shared store, it may grant one too many: then this instance's own count refuses it, and what
// the request took is given back, its tokens aside.
func (f *Failover) mirror(checks []seawall.Check, results []seawall.Result) {
	var buf [4]seawall.Check
	granted := buf[:0]
	for i := range checks {
		if results[i].Committed && shares(&checks[i]) {
			c := checks[i]
			c.CountOnly = c.Advisory || c.CountOnly || !c.Rule.(seawall.Sharer).Bounds()
			c.Advisory = false
			granted = append(granted, c)
		}
	}
	if len(granted) == 0 {
		return
	}
	var res [4]seawall.Result
	counted, err := f.local.Apply(context.Background(), res[:0], granted)
	if err != nil { // it is closed
		return
	}
	next, refused := 0, false
	for i := range checks {
		if results[i].Committed && shares(&checks[i]) {
			if own := counted[next]; !own.Admitted {
				results[i], refused = own, true
			}
			next++
		}
	}
	if refused {
		f.giveBack(checks, results)
	}
}

// giveBack releases the leases that the shared store granted to a request that is refused after all.
func (f *Failover) giveBack(checks []seawall.Check, results []seawall.Result) {
	for i := range checks {
		results[i].Committed = false
		if h, ok := checks[i].Rule.(seawall.Holder); ok {
			c := &checks[i]
			_ = f.shared.Release(context.Background(), seawall.Lease{Limit: c.Limit, Rule: h, Key: c.Key, ID: c.ID})
		}
	}
}

// decide answers without the shared store. Behind a limit that fails closed nothing commits.
func (f *Failover) decide(dst []seawall.Result, checks []seawall.Check) []seawall.Result {
	n := f.Fleet().Instances
	var buf [4]seawall.Check
	asked := buf[:0]
	closed := false
	for i := range checks {
		dst = append(dst, seawall.Result{Admitted: true, Fallback: true})
		closed = closed || !checks[i].Advisory && checks[i].Limit.OnFailure() == seawall.FailClosed
		if shares(&checks[i]) {
			c := checks[i]
			c.Rule = c.Rule.(seawall.Sharer).Share(max(1, n))
			asked = append(asked, c)
		}
	}
	if closed || len(asked) == 0 {
		return dst
	}
	var res [4]seawall.Result
	local, err := f.local.Apply(context.Background(), res[:0], asked)
	if err != nil {
		return dst
	}
	answers := dst[len(dst)-len(checks):]
	next := 0
	for i := range checks {
		if shares(&checks[i]) {
			answers[i] = local[next]
			answers[i].Fallback, answers[i].Last = true, false // nobody waits for a store that is not there
			next++
		}
	}
	return dst
}

// shares tells whether a check is decided locally: its rule must hold something, of which the local store
// keeps count, and be able to share it.
func shares(c *seawall.Check) bool {
	_, holds := c.Rule.(seawall.Holder)
	_, shares := c.Rule.(seawall.Sharer)
	return holds && shares && c.Limit.OnFailure() == seawall.FailLocal
}

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

// Fleet implements seawall.Member: as the shared store sees it, otherwise this instance alone.
func (f *Failover) Fleet() seawall.Fleet {
	if m, ok := f.shared.(seawall.Member); ok {
		return m.Fleet()
	}
	return seawall.Fleet{Instances: 1}
}

// Close closes both stores, as far as they can be closed.
func (f *Failover) Close(ctx context.Context) error {
	var errs []error
	for _, s := range []seawall.Store{f.shared, f.local} {
		if c, ok := s.(interface {
			Close(ctx context.Context) error
		}); ok {
			errs = append(errs, c.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
