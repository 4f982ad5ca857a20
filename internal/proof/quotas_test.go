package proof

import (
	"math/big"
	"time"

	"pgregory.net/rapid"

	"github.com/seawall-go/seawall/internal/proof/model"
	"github.com/seawall-go/seawall/ratelimit"
)

// The range that the design promises.
const (
	most      = 1_000_000_000
	day       = 24 * time.Hour
	slowest   = 30 * day
	century   = 100 * 8766 * time.Hour
	maxWindow = 366 * day
)

// limit is one limit, explained and real.
type limit struct {
	explained model.Rule
	real      ratelimit.Rule
	text      string
}

// limits draw limits of each kind from the whole range.
type limits func(t *rapid.T) limit

// kinds are those that a test goes through.
var kinds = map[string][]limits{
	"buckets":  {buckets},
	"logs":     {logs},
	"counters": {counters},
	"windows":  {windows},
	"mixed":    {buckets, logs, counters, windows},
}

func limitOf(t rapid.TB, explained model.Rule, q ratelimit.Quota) limit {
	r, err := q.Rule()
	if err != nil {
		t.Fatalf("%v is in the range, and refused: %v", q, err)
	}
	return limit{explained, r, q.String()}
}

func buckets(t *rapid.T) limit {
	rate := ratelimit.Rate{Count: 1}
	switch rapid.IntRange(0, 3).Draw(t, "rate is") {
	case 0:
		rate = ratelimit.PerSecond(upTo(t, "per second", 1_000_000))
	case 1:
		rate.Per = max(time.Microsecond, time.Duration(upTo(t, "ns", int64(slowest))))
	default: // so many in a time that no whole number of ns divides
		interval := max(time.Microsecond, time.Duration(upTo(t, "ns", int64(slowest-1))))
		rate.Count = upTo(t, "count", min(1_000_000, int64(century/interval)))
		rate.Per = interval*time.Duration(rate.Count) + time.Duration(rapid.Int64Range(0, rate.Count-1).Draw(t, "odd ns"))
	}
	slow := new(big.Int).Quo(big.NewInt(int64(rate.Per)+rate.Count-1), big.NewInt(rate.Count))
	burst := upTo(t, "burst", min(most, int64(century)/slow.Int64()))
	return limitOf(t, model.Bucket{Count: rate.Count, Per: rate.Per, Burst: burst}, ratelimit.TokenBucket(rate, burst))
}

func logs(t *rapid.T) limit {
	n, window := upTo(t, "limit", most), between(t, "ms", time.Millisecond, maxWindow)
	return limitOf(t, model.Log{Max: n, Window: window}, ratelimit.SlidingLog(n, window))
}

func counters(t *rapid.T) limit {
	n, window := upTo(t, "limit", most), between(t, "s", time.Second, maxWindow)
	return limitOf(t, model.Counter{Max: n, Window: window}, ratelimit.SlidingCounter(n, window))
}

func windows(t *rapid.T) limit {
	n := upTo(t, "limit", most)
	explained, calendar := calendars(t)
	return limitOf(t, model.Window{Max: n, Calendar: explained}, ratelimit.FixedWindow(n, calendar))
}

// zones are those where days begin, end or are missing at odd times.
var zones = []string{
	"UTC", "America/Los_Angeles", "Pacific/Apia", "Asia/Kathmandu", "America/St_Johns", "Europe/Dublin",
	"Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo",
}

func calendars(t *rapid.T) (model.Calendar, ratelimit.Calendar) {
	unit := rapid.IntRange(0, 3).Draw(t, "calendar is")
	if unit == 0 {
		c := model.Calendar{Every: between(t, "s", time.Second, maxWindow), Anchor: time.Unix(0, 0)}
		real := ratelimit.Every(c.Every)
		if rapid.Bool().Draw(t, "anchored") {
			c.Anchor = time.Unix(rapid.Int64Range(0, 7_000_000_000).Draw(t, "anchor"), 0)
			real = real.From(c.Anchor)
		}
		return c, real
	}
	zone, err := time.LoadLocation(oneOf(t, "zone", zones...))
	if err != nil {
		t.Fatal(err)
	}
	c := model.Calendar{Zone: zone, At: oneOf(t, "at", 0, 2*time.Hour, 150*time.Minute, day-time.Second)}
	if odds(t, "at any time", 3) {
		c.At = time.Duration(rapid.IntRange(0, 86_399).Draw(t, "at s")) * time.Second
	}
	var real ratelimit.Calendar
	switch unit {
	case 1:
		c.Begins, real = model.Daily(), ratelimit.Daily()
	case 2:
		first := time.Weekday(rapid.IntRange(0, 6).Draw(t, "weekday"))
		c.Begins, real = model.Weekly(first), ratelimit.Weekly(first)
	default:
		first := oneOf(t, "month day", 1, 28, 29, 30, 31, 15)
		c.Begins, real = model.Monthly(first), ratelimit.Monthly(first)
	}
	return c, real.In(zone).At(c.At)
}
