package ratelimit

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// The range of rates, and of the time that an empty bucket takes to fill.
const (
	slowest = 30 * 24 * time.Hour    // per token
	fastest = time.Microsecond       // per token
	longest = 100 * 8766 * time.Hour // to fill: 100 years
)

// Rate is Count tokens per Per. It is exact: 11 in 2000 s is no decimal fraction of a second. The zero Rate
// is not valid. Rates go from 1 in 30 days to 1,000,000 in a second.
type Rate struct {
	Count int64
	Per   time.Duration
}

// PerSecond is n tokens a second.
func PerSecond(n int64) Rate { return Rate{n, time.Second} }

// PerMinute is n tokens a minute.
func PerMinute(n int64) Rate { return Rate{n, time.Minute} }

// PerHour is n tokens an hour.
func PerHour(n int64) Rate { return Rate{n, time.Hour} }

// PerDay is n tokens every 24 hours.
func PerDay(n int64) Rate { return Rate{n, 24 * time.Hour} }

// String returns, for example, "10 per 1s".
func (r Rate) String() string { return fmt.Sprintf("%d per %v", r.Count, r.Per) }

// ParseRate reads tokens per second as a decimal number, such as "10" or "0.01", and keeps it exact.
func ParseRate(s string) (Rate, error) {
	bad := func() (Rate, error) {
		return Rate{}, fmt.Errorf("rate %q: want tokens per second as a decimal number from 1 in 30 days (0.000000386) to 1000000", s)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 1e-9 && f <= 1e6) || strings.ContainsAny(s, "xX_") {
		return bad()
	}
	exact, ok := new(big.Rat).SetString(s)
	if !ok {
		return bad()
	}
	r, err := fromRat(exact)
	if err != nil {
		return bad()
	}
	return r, nil
}

// fromRat returns the rate of perSecond tokens a second. One that does not fit is rounded down to a whole
// number of nanoseconds a token, as a bucket does.
func fromRat(perSecond *big.Rat) (Rate, error) {
	// count/per with per in nanoseconds, from perSecond = count·10^9/per.
	perNano := new(big.Rat).Quo(perSecond, new(big.Rat).SetInt64(int64(time.Second)))
	count, per := perNano.Num(), perNano.Denom()
	if !count.IsInt64() || !per.IsInt64() {
		per = new(big.Int).Add(per, new(big.Int).Sub(count, big.NewInt(1)))
		count, per = big.NewInt(1), per.Quo(per, count)
	}
	if !per.IsInt64() { // slower than any: said so by validate
		per.SetInt64(math.MaxInt64)
	}
	r := Rate{count.Int64(), time.Duration(per.Int64())}
	if err := r.validate(); err != nil {
		return Rate{}, err
	}
	return r, nil
}

func (r Rate) validate() error {
	switch {
	case r.Count <= 0:
		return fmt.Errorf("rate %v: Count is %d; want at least 1", r, r.Count)
	case r.Per <= 0:
		return fmt.Errorf("rate %v: Per is %v; want a positive duration", r, r.Per)
	case less(r.Per, fastest, r.Count):
		return fmt.Errorf("rate %v: want at most 1000000 per second", r)
	case !less(r.Per-1, slowest, r.Count):
		return fmt.Errorf("rate %v: want at least 1 per %v", r, slowest)
	}
	return nil
}

// less tells whether a < b·n, exactly.
func less(a, b time.Duration, n int64) bool {
	hi, lo := bits.Mul64(uint64(b), uint64(n))
	return hi > 0 || uint64(a) < lo
}

// interval is the time one token takes, rounded up to a whole nanosecond.
func (r Rate) interval() int64 {
	return (int64(r.Per)-1)/r.Count + 1
}

// scaled returns r times factor, cut to the range of rates.
func (r Rate) scaled(factor float64) Rate {
	perSecond := new(big.Rat).SetFrac64(r.Count, int64(r.Per))
	perSecond.Mul(perSecond, new(big.Rat).SetInt64(int64(time.Second)))
	perSecond.Mul(perSecond, new(big.Rat).SetFloat64(factor))
	if s, err := fromRat(perSecond); err == nil {
		return s
	}
	if factor < 1 {
		return Rate{1, slowest}
	}
	return Rate{int64(time.Second / fastest), time.Second}
}
