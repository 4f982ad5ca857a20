package fleetshed_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/fleetshed"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	for want, cfg := range map[string]fleetshed.Config{
		"Workers is 0":       {},
		"Workers is -1":      {Workers: -1},
		"Workers is 1000001": {Workers: 1_000_001},
		"Capacity is -1":     {Workers: 1, Capacity: -1},
		"Capacity is 3;":     {Workers: 4, Capacity: 3},
		"Workers (4)":        {Workers: 4, Capacity: 1_000_000_001},
		"Reserve is 1":       {Workers: 1, Reserve: 1},
		"Reserve is -0.1":    {Workers: 1, Reserve: -0.1},
		"Reserve is NaN":     {Workers: 1, Reserve: math.NaN()},
		"Reserve is +Inf":    {Workers: 1, Reserve: math.Inf(1)},
		"Reserve is 0.99999": {Workers: 1, Reserve: 0.9999999},
		"TTL is 1ms":         {Workers: 1, TTL: time.Millisecond},
		"OnFailure is 3":     {Workers: 1, OnFailure: 3},
	} {
		_, err := fleetshed.New(cfg)
		require.ErrorContains(t, err, "fleetshed: ", want)
		require.ErrorContains(t, err, want)
	}
	for _, cfg := range []fleetshed.Config{
		{Workers: 1}, {Workers: 1_000_000, Reserve: 0.999999}, {Workers: 4, Capacity: 4}, {Workers: 4, Capacity: 1_000_000_000},
	} {
		_, err := fleetshed.New(cfg)
		assert.NoError(t, err)
	}
}

func TestPlanOfTiers(t *testing.T) {
	s, err := fleetshed.New(fleetshed.Config{Workers: 4, Reserve: 0.2, OnFailure: seawall.FailClosed})
	require.NoError(t, err)
	assert.EqualValues(t, 4, s.Workers())
	assert.Equal(t, seawall.CauseCapacity, s.Cause())
	for _, tier := range []seawall.Tier{seawall.TestMode, seawall.Read, seawall.Write, seawall.Critical} {
		got := s.Plan(nil, &seawall.Request{Tier: tier, Cost: 9})
		require.Len(t, got, 1, "also for callers without a key")
		critical := tier == seawall.Critical
		assert.Equal(t, critical, got[0].CountOnly, tier)
		assert.Equal(t, critical, got[0].Limit.Policy() == "critical", tier)
		assert.Equal(t, critical, got[0].Limit.OnFailure() == seawall.FailOpen, "critical requests are never refused")
		assert.Equal(t, seawall.FleetKey(), got[0].Key)
		assert.EqualValues(t, 1, got[0].Cost)
		assert.Equal(t, concurrency.DefaultTTL, got[0].Rule.(seawall.Holder).TTL())
	}
}

// TestLongLivedRequestsStayOutside has streams of every tier.
func TestLongLivedRequestsStayOutside(t *testing.T) {
	s, err := fleetshed.New(fleetshed.Config{Workers: 4})
	require.NoError(t, err)
	for tier := seawall.TestMode; tier <= seawall.Critical; tier++ {
		assert.Empty(t, s.Plan(nil, &seawall.Request{Tier: tier, LongLived: true}))
	}
	before := []seawall.Check{{Cost: 7}}
	assert.Equal(t, before, s.Plan(before, &seawall.Request{LongLived: true}))
}

// TestFixedCapacity does not depend on what the fleet announces, and leaves an instance by itself its own share.
func TestFixedCapacity(t *testing.T) {
	s, err := fleetshed.New(fleetshed.Config{Workers: 10, Capacity: 1_000_000_000, Reserve: 0.25})
	require.NoError(t, err)
	check := s.Plan(nil, &seawall.Request{})[0]
	for _, announced := range []int64{0, 10, 50, 1 << 40} {
		env := seawall.Env{Capacity: announced, Instance: "a-"}
		assert.EqualValues(t, 750_000_000, check.Rule.Result(seawall.Observation{}, true, false, env, &check).Limit)
		assert.Equal(t, []any{"a-1", int64(12_000), int64(750_000_000), int64(1_000_000)}, check.Rule.Args(nil, env, &seawall.Check{ID: 1}))
	}
	for _, n := range []int64{1, 5} {
		share := check.Rule.(seawall.Sharer).Share(0, n)
		assert.EqualValues(t, 7, share.Result(seawall.Observation{}, true, false, seawall.Env{}, &check).Limit, "10 − ceil(2.5)")
		_, ok := share.Check(&seawall.State{}, seawall.Env{}, &check)
		assert.True(t, ok)
	}
	assert.EqualValues(t, 10, s.Workers(), "it announces its own")
}

// TestReserve compares the ordinary share with total − ceil(total·reserve) in exact numbers.
func TestReserve(t *testing.T) {
	for reserve, millionths := range map[float64]int64{
		0: 0, 0.1: 100_000, 0.2: 200_000, 0.3: 300_000, 0.333: 333_000, 0.5: 500_000, 0.7: 700_000, 0.9: 900_000, 0.999: 999_000,
		0.29: 290_000, 0.57: 570_000, 0.000001: 1, 0.999999: 999_999, 1.0 / 3: 333_333,
	} {
		for total := int64(1); total <= 100; total++ {
			share := big.NewRat(total*millionths, 1_000_000)
			kept, rest := new(big.Int).DivMod(share.Num(), share.Denom(), new(big.Int))
			if rest.Sign() > 0 {
				kept.Add(kept, big.NewInt(1))
			}
			want := total - kept.Int64()
			s, err := fleetshed.New(fleetshed.Config{Workers: total, Reserve: reserve})
			require.NoError(t, err)
			check := s.Plan(nil, &seawall.Request{})[0]
			for _, env := range []seawall.Env{{}, {Capacity: total}} { // not known yet, and known
				assert.Equal(t, want, check.Rule.Result(seawall.Observation{}, true, false, env, &check).Limit, "%d, reserve %v", total, reserve)
			}
		}
	}
}

// TestOneWorkerWithReserve has no place for ordinary requests, and still serves critical ones.
func TestOneWorkerWithReserve(t *testing.T) {
	s, err := fleetshed.New(fleetshed.Config{Workers: 1, Reserve: 0.2})
	require.NoError(t, err)
	check := s.Plan(nil, &seawall.Request{})[0]
	_, ok := check.Rule.Check(&seawall.State{}, seawall.Env{}, &check)
	assert.False(t, ok)
	assert.True(t, s.Plan(nil, &seawall.Request{Tier: seawall.Critical})[0].CountOnly)
}
