package seawalltest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/seawalltest"
)

// scripted is a rule with the same answer always, for a store that does evaluate.
type scripted struct{ admits bool }

func (scripted) Kind() string { return "scripted" }

func (r scripted) Check(*seawall.State, seawall.Env, *seawall.Check) (seawall.Observation, bool) {
	return seawall.Observation{}, r.admits
}
func (scripted) Commit(*seawall.State, seawall.Env, *seawall.Check) {}
func (scripted) Idle(*seawall.State, int64) bool                    { return false }

func (scripted) Result(_ seawall.Observation, ok, committed bool, _ seawall.Env, _ *seawall.Check) seawall.Result {
	res := seawall.Result{Admitted: ok, Committed: committed, Limit: 9}
	if !ok {
		res.RetryAfter = seawall.Never
	}
	return res
}
func (scripted) Script() string                                        { return "" }
func (scripted) Args(dst []any, _ seawall.Env, _ *seawall.Check) []any { return dst }

// TestDecidesAsARealStoreWouldByTheSameAnswers compares with memstore over random questions.
func TestDecidesAsARealStoreWouldByTheSameAnswers(t *testing.T) {
	var clock seawalltest.Clock
	real := memstore.New(memstore.Config{Now: clock.Now})
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var fake seawalltest.Store
		checks := make([]seawall.Check, rnd.IntN(5))
		for i := range checks {
			rule := scripted{admits: rnd.IntN(3) > 0}
			res := rule.Result(seawall.Observation{}, rule.admits, false, seawall.Env{}, nil)
			checks[i] = seawall.Check{
				Limit: limit(t, "some", fmt.Sprintf("p%d", i)), Rule: rule, Key: seawall.NewKey("alice"), Cost: 1,
				Advisory: rnd.IntN(3) == 0, CountOnly: rnd.IntN(6) == 0,
			}
			if rnd.IntN(3) == 0 {
				checks[i].Op = seawall.Op(rnd.IntN(4))
			}
			fake.Answer(checks[i].Limit.Name(), res)
		}
		want, err := real.Apply(t.Context(), nil, checks)
		require.NoError(t, err)
		got, err := fake.Apply(t.Context(), nil, checks)
		require.NoError(t, err)
		require.Equal(t, want, got, "seed %d: %+v", seed, checks)
	}
}
