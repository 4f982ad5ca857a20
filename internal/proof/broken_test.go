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

// wrong is a store whose Apply is another.
type wrong struct {
	seawall.Store
	apply func(s seawall.Store, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error)
}

// Apply implements seawall.Store.
func (w wrong) Apply(_ context.Context, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	return w.apply(w.Store, dst, checks)
}

// TestWrongStoresAreFound shows that a history of a store that is wrong is found not to be linearizable.
func TestWrongStoresAreFound(t *testing.T) {
	for name, apply := range map[string]func(seawall.Store, []seawall.Result, []seawall.Check) ([]seawall.Result, error){
		"it decides check by check":          checkByCheck,
		"it does some things twice":          everyThirdTwice(),
		"it forgets a spend":                 everyThirdNot(),
		"it says less than it has":           lessThanIs,
		"an advisory check decides with all": advisoryVetoes,
	} {
		store := wrong{memstore.New(memstore.Config{Now: time.Now}), apply}
		h := newHistory(t, seawall.NewKey("caller"), store)
		h.run(1, 1, 40, endless)
		require.Equal(t, porcupine.Illegal, h.judge(), "%s:\n%s", name, h)
	}
	h := newHistory(t, seawall.NewKey("caller"), memstore.New(memstore.Config{Now: time.Now}))
	h.run(1, 1, 40, endless)
	require.Equal(t, porcupine.Ok, h.judge(), "the same requests of one that is right:\n%s", h)
}

func background(s seawall.Store, checks []seawall.Check) ([]seawall.Result, error) {
	return s.Apply(context.Background(), nil, checks)
}

func checkByCheck(s seawall.Store, dst []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	for i := range checks {
		r, err := background(s, checks[i:i+1])
		if err != nil {
			return dst, err
		}
		dst = append(dst, r...)
	}
	return dst, nil
}

func everyThirdTwice() func(seawall.Store, []seawall.Result, []seawall.Check) ([]seawall.Result, error) {
	n := 0
	return func(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		r, err := background(s, checks)
		if n++; n%3 == 0 && err == nil {
			_, err = background(s, checks) // as a client would that sends again what was not answered
		}
		return r, err
	}
}

func everyThirdNot() func(seawall.Store, []seawall.Result, []seawall.Check) ([]seawall.Result, error) {
	n := 0
	return func(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		r, err := background(s, checks)
		n++
		for i := range checks {
			if err == nil && n%3 == 0 && r[i].Committed && checks[i].Op == seawall.Spend {
				back := checks[i]
				back.Op = seawall.Refund // of the time that ask has set
				_, err = background(s, []seawall.Check{back})
			}
		}
		return r, err
	}
}

func lessThanIs(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	r, err := background(s, checks)
	for i := range r {
		r[i].Remaining = max(0, r[i].Remaining-1)
	}
	return r, err
}

func advisoryVetoes(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i].Advisory = false
	}
	return background(s, checks)
}

// torn is a store that decides in two steps, whose first two clients both look before either commits.
func torn(right seawall.Store) wrong {
	var looked sync.WaitGroup
	looked.Add(2)
	return wrong{right, func(s seawall.Store, _ []seawall.Result, checks []seawall.Check) ([]seawall.Result, error) {
		peeks, commits := slices.Clone(checks), slices.Clone(checks)
		peeks[0].Op, commits[0].CountOnly = seawall.Peek, true
		r, err := background(s, peeks)
		looked.Done()
		looked.Wait()
		if err != nil || !r[0].Admitted {
			return r, err
		}
		return background(s, commits)
	}}
}

// TestTornStoreIsFound shows that it is found when check and commit are not one step: two clients, each of whom
// asks for two of three, are both told yes.
func TestTornStoreIsFound(t *testing.T) {
	store := torn(memstore.New(memstore.Config{Now: time.Now}))
	h := newHistory(t, seawall.NewKey("caller"), store)
	var all sync.WaitGroup
	for client := range 2 {
		all.Go(func() { h.ask(context.Background(), client, []part{{slot: 0, cost: 2, id: h.number()}}) })
	}
	all.Wait()
	require.Equal(t, porcupine.Illegal, h.judge(), "%s", h)
}
