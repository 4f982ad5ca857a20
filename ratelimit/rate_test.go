package ratelimit

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func rat(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	require.True(t, ok, s)
	return r
}

// perSecond is the rate as an exact number.
func perSecond(r Rate) *big.Rat {
	return new(big.Rat).Mul(big.NewRat(r.Count, int64(r.Per)), big.NewRat(int64(time.Second), 1))
}

func TestParseRateIsExact(t *testing.T) {
	for _, s := range []string{
		"1", "10", "1000000", "1e6", "1000000.000", "0.01", "0.1", "0.3", "0.7", "1e-6", "0.000000386", "0.005", "0.0055", "123.456",
		"999999.999", "+5", "5.", ".5", "33.333333333", "1e+3", "0.00000100",
	} {
		r, err := ParseRate(s)
		require.NoError(t, err, s)
		assert.Zero(t, perSecond(r).Cmp(rat(t, s)), "%s is read as %v", s, r)
		assert.Equal(t, ceil(new(big.Rat).Quo(rat(t, "1000000000"), rat(t, s))), big.NewInt(r.interval()), s)
	}
}

// TestParseRateOfManyDigits reads what no pair of int64 can hold: what a bucket makes of it is exact all the same.
func TestParseRateOfManyDigits(t *testing.T) {
	for _, s := range []string{
		"0.000000386000000000000000000000000001", "0.000000385802469135802469135802469135802470", "0.333333333333333333333333333333333",
		"999999.99999999999999999999999", "3.14159265358979323846264338327950288", "0.1000000000000000055511151231257827",
	} {
		r, err := ParseRate(s)
		require.NoError(t, err, s)
		assert.LessOrEqual(t, perSecond(r).Cmp(rat(t, s)), 0, "%s: never faster", s)
		assert.Equal(t, ceil(new(big.Rat).Quo(rat(t, "1000000000"), rat(t, s))), big.NewInt(r.interval()), s)
	}
}

func TestParseRateRefuses(t *testing.T) {
	for _, s := range []string{
		"", " ", "x", "NaN", "nan", "Inf", "+Inf", "-Inf", "infinity", "-1", "-0", "0", "0.0", "1e7", "1000000.1", "1000001",
		"1/3", "10/s", "0x10", "0x1p4", "1e999999999", "1e-999999999", "1e309", "1e-400", "1e-7",
		"0.000000385", "0.00000038580246913", "1_000", "1,5", " 1", "1 ", "1e", "e1", "--1", "١", "1e-2147483648",
	} {
		r, err := ParseRate(s)
		require.ErrorContains(t, err, fmt.Sprintf("rate %q", s), "%q is read as %v", s, r)
		assert.Zero(t, r, "%q", s)
	}
}

func TestRangeOfRates(t *testing.T) {
	for _, r := range []Rate{
		PerSecond(1), PerSecond(1_000_000),
		{1, time.Microsecond},
		{1, 30 * 24 * time.Hour},
		{1, 30*24*time.Hour - 1},
		{2, 60 * 24 * time.Hour},
		{1_000_000_000, 1000 * time.Second},
		{math.MaxInt64 / 1000, math.MaxInt64},
		{3559, math.MaxInt64},
		{999_999_999_999, math.MaxInt64},
		PerDay(86_400_000_000), PerHour(1), PerMinute(1),
	} {
		_, err := newBucket(r, 1)
		require.NoError(t, err, "%v", r)
	}
	for _, c := range []struct {
		rate  Rate
		names string
	}{
		{Rate{}, "Count is 0"},
		{PerSecond(0), "Count is 0"},
		{PerSecond(-1), "Count is -1"},
		{Rate{math.MinInt64, time.Second}, "Count"},
		{Rate{1, 0}, "Per is 0s"},
		{Rate{1, -1}, "Per is -1ns"},
		{Rate{1, math.MinInt64}, "Per is"},
		{PerSecond(1_000_001), "1000001 per 1s"},
		{Rate{1, time.Microsecond - 1}, "1 per 999ns"},
		{Rate{math.MaxInt64, math.MaxInt64}, "at most"},
		{Rate{math.MaxInt64, 1}, "at most"},
		{Rate{math.MaxInt64/1000 + 1, math.MaxInt64}, "at most"},
		{Rate{1, 30*24*time.Hour + 1}, "at least"},
		{Rate{1, math.MaxInt64}, "at least"},
		{Rate{3558, math.MaxInt64}, "at least"},
		{Rate{2, 60*24*time.Hour + 1}, "at least"},
	} {
		_, err := newBucket(c.rate, 1)
		require.ErrorContains(t, err, c.names, "%v", c.rate)
		assert.ErrorContains(t, err, c.rate.String())
	}
}

func TestRangeOfBursts(t *testing.T) {
	const century = 100 * 8766 * time.Hour
	for _, c := range []struct {
		rate  Rate
		burst int64
	}{
		{PerSecond(1), 1},
		{PerSecond(1_000_000), 1_000_000_000},
		{PerSecond(1), 1_000_000_000},
		{PerDay(1), 36_525},
		{Rate{1, 30 * 24 * time.Hour}, 1217},
		{PerSecond(3), 1_000_000_000},
	} {
		b, err := newBucket(c.rate, c.burst)
		require.NoError(t, err, "%d at %v", c.burst, c.rate)
		assert.Equal(t, c.burst, b.burst)
		assert.LessOrEqual(t, b.Window(), century)
	}
	for _, c := range []struct {
		rate  Rate
		burst int64
		names string
	}{
		{PerSecond(1), 0, "burst is 0"},
		{PerSecond(1), -1, "burst is -1"},
		{PerSecond(1), math.MinInt64, "burst is -9223372036854775808"},
		{PerSecond(1_000_000), 1_000_000_001, "burst is 1000000001"},
		{PerSecond(1_000_000), math.MaxInt64, "burst is 9223372036854775807"},
		{PerDay(1), 36_526, "burst of 36526"},
		{Rate{1, 30 * 24 * time.Hour}, 1218, "burst of 1218"},
		{PerDay(1), 1_000_000_000, "burst of 1000000000"},
	} {
		_, err := newBucket(c.rate, c.burst)
		assert.ErrorContains(t, err, c.names, "%d at %v", c.burst, c.rate)
	}
}

// ceil is the least whole number not below r.
func ceil(r *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func newBucket(rate Rate, burst int64) (*bucket, error) {
	rule, err := TokenBucket(rate, burst).Rule()
	if err != nil {
		return nil, err
	}
	return rule.(*bucket), nil
}
