package proof

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store/memstore"
)

// wrongRelease is a store whose Release is another.
type wrongRelease struct {
	seawall.Store
	release func(s seawall.Store, leases []seawall.Lease) error
}

// Release implements seawall.Store.
func (w wrongRelease) Release(_ context.Context, leases ...seawall.Lease) error {
	return w.release(w.Store, leases)
}

func rightStore() seawall.Store { return memstore.New(memstore.Config{Now: time.Now}) }

// TestWrongStoresOfLeasesAreFound shows that a history of a store that is wrong is found not to be linearizable.
func TestWrongStoresOfLeasesAreFound(t *testing.T) {
	for name, store := range map[string]seawall.Store{
		"it decides check by check":              wrong{rightStore(), checkByCheck},
		"it says less than it has":               wrong{rightStore(), lessThanIs},
		"an advisory check decides with all":     wrong{rightStore(), advisoryVetoes},
		"it takes one slot whatever the weight":  wrong{rightStore(), weighsNothing},
		"it forgets a lease":                     wrong{rightStore(), everyThirdForgotten()},
		"it frees twice what is given back so":   freesTwice(),
		"it does not free what is given back":    wrongRelease{rightStore(), everyThirdKept()},
		"a renewal resurrects what was released": wrongRelease{rightStore(), everyThirdResurrected()},
	} {
		h := newLeaseHistory(t, seawall.NewKey("caller"), store)
		h.run(1, 1, 60, endless)
		require.Equal(t, porcupine.Illegal, h.judge(), "%s:\n%s", name, h)
	}
	h := newLeaseHistory(t, seawall.NewKey("caller"), rightStore())
	h.run(1, 1, 60, endless)
	require.Equal(t, porcupine.Ok, h.judge(), "the same of one that is right:\n%s", h)
}

func weighsNothing(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	light := slices.Clone(checks)
	for i := range light {
		light[i].Cost = 1
	}
	return background(s, light)
}

func everyThirdForgotten() func(seawall.Store, []seawall.Result, []seawall.Check) ([]seawall.Result, error) {
	n := 0
	return func(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		r, err := background(s, checks)
		for i := range checks {
			if l, ok := checks[i].Lease(); err == nil && ok && r[i].Committed {
				if n++; n%3 == 0 {
					err = s.Release(context.Background(), l)
				}
			}
		}
		return r, err
	}
}

// freesTwice counts what is free and does not ask whose it was: what is given back twice frees somebody else's.
func freesTwice() seawall.Store {
	var held []seawall.Lease
	apply := wrong{rightStore(), func(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		r, err := background(s, checks)
		for i := range checks {
			if l, ok := checks[i].Lease(); err == nil && ok && r[i].Committed {
				held = append(held, l)
			}
		}
		return r, err
	}}
	return wrongRelease{apply, func(s seawall.Store, leases []seawall.Lease) error {
		for _, given := range leases {
			i := slices.IndexFunc(held, func(l seawall.Lease) bool { return l.ID == given.ID })
			if i < 0 {
				i = slices.IndexFunc(held, func(l seawall.Lease) bool { return l.Limit == given.Limit })
			}
			if i >= 0 {
				if err := s.Release(context.Background(), held[i]); err != nil {
					return err
				}
				held = slices.Delete(held, i, i+1)
			}
		}
		return nil
	}}
}

func everyThirdKept() func(seawall.Store, []seawall.Lease) error {
	n := 0
	return func(s seawall.Store, leases []seawall.Lease) error {
		if n++; n%3 == 0 {
			return nil
		}
		return s.Release(context.Background(), leases...)
	}
}

// everyThirdResurrected renews a lease when it was released: a renewal overtook it.
func everyThirdResurrected() func(seawall.Store, []seawall.Lease) error {
	n := 0
	return func(s seawall.Store, leases []seawall.Lease) error {
		err := s.Release(context.Background(), leases...)
		if n++; n%3 == 0 && err == nil {
			l := leases[0]
			_, err = background(s, []seawall.Check{{Limit: l.Limit, Rule: l.Rule, Key: l.Key, Cost: l.Cost, ID: l.ID, CountOnly: true}})
		}
		return err
	}
}

// TestTornStoreOfLeasesIsFound shows that it is found when a store looks first and counts then: two clients are both
// told that they have the only slot.
func TestTornStoreOfLeasesIsFound(t *testing.T) {
	store := torn(rightStore())
	h := newLeaseHistory(t, seawall.NewKey("caller"), store)
	var all sync.WaitGroup
	for client := range 2 {
		all.Go(func() { h.ask(context.Background(), client, []wish{{cap: 0, cost: 1, id: h.number()}}) })
	}
	all.Wait()
	require.Equal(t, porcupine.Illegal, h.judge(), "%s", h)
}
