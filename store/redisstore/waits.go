package redisstore

import (
	"context"
	"fmt"

	"github.com/seawall-go/seawall"
)

// Release implements seawall.Store. A lane of a cluster also gives back what another one holds by now.
func (s *Store) Release(ctx context.Context, leases ...seawall.Lease) error {
	var w waits
	for i := range leases {
		s.giveUp(&w, &leases[i])
	}
	return w.wait(ctx)
}

// giveUp queues a lease that is held to be given back, by whichever lane holds it, and has w wait if it was the caller's last.
func (s *Store) giveUp(w *waits, l *seawall.Lease) {
	holder := s
	if s.home != nil {
		s.moves.RLock()
		defer s.moves.RUnlock()
		if holder = s.holderOf(l.ID); holder == nil {
			return
		}
	}
	taken, held := holder.ledger.remove(l.ID)
	if held && !holder.releases.unclaim(l.ID) {
		holder.releases.add(taken, w.next(l.Last))
	}
}

// waits are for releases to be confirmed.
type waits struct {
	done [8]chan struct{}
	n    int
}

// next returns what to close when another release is confirmed, nil if it is not waited for.
func (w *waits) next(last bool) chan struct{} {
	if !last || w.n == len(w.done) {
		return nil
	}
	done := make(chan struct{})
	w.done[w.n] = done
	w.n++
	return done
}

func (w *waits) wait(ctx context.Context) error {
	for _, done := range w.done[:w.n] {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("redisstore: waiting for a release, which goes on: %w", ctx.Err())
		}
	}
	return nil
}
