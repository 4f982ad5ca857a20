package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/proof/model"
)

// These examples were worked out by hand: they are what the model itself is held to.

const second = int64(1e6)

// began is the beginning of a minute, and of a day.
var began = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC).UnixMicro()

func yes(limit, left int64, next, reset time.Duration) seawall.Result {
	return seawall.Result{Admitted: true, Committed: true, Limit: limit, Remaining: left, NextAfter: next, ResetAfter: reset}
}

func no(limit, left int64, retry, next, reset time.Duration) seawall.Result {
	return seawall.Result{Limit: limit, Remaining: left, RetryAfter: retry, NextAfter: next, ResetAfter: reset}
}

func TestExamples(t *testing.T) {
	type step struct {
		at, cost int64
		want     seawall.Result
	}
	const s = time.Second
	for name, c := range map[string]struct {
		rule  model.Rule
		steps []step
	}{
		"a bucket of 5, one a second": {model.Bucket{Count: 1, Per: s, Burst: 5}, []step{
			{0, 5, yes(5, 0, s, 5*s)},
			{0, 2, no(5, 0, 2*s, s, 5*s)},
			{1500e3, 1, yes(5, 0, s/2, 4500*time.Millisecond)},
			{1500e3, 6, no(5, 0, seawall.Never, s/2, 4500*time.Millisecond)},
			{-3600 * second, 1, no(5, 0, s, s, 5*s)}, // the clock steps back: all is missing, not an hour
			{-3599 * second, 1, yes(5, 0, s, 5*s)},
		}},
		"a token of a bucket of 3 a second takes 333333334 ns": {model.Bucket{Count: 3, Per: s, Burst: 3}, []step{
			{0, 3, yes(3, 0, 333_334*time.Microsecond, 1_000_001*time.Microsecond)},
			{333_333, 1, no(3, 0, time.Microsecond, time.Microsecond, 666_668*time.Microsecond)},
			{333_334, 1, yes(3, 0, 333_333*time.Microsecond, 1000*time.Millisecond)},
		}},
		"a log of 5 in 10 s": {model.Log{Max: 5, Window: 10 * s}, []step{
			{0, 2, yes(5, 3, 10*s, 10*s)},
			{4 * second, 3, yes(5, 0, 6*s, 10*s)},
			{6 * second, 3, no(5, 0, 8*s, 4*s, 8*s)},
			{10 * second, 2, yes(5, 0, 4*s, 10*s)},
			{0, 1, no(5, 0, 10*s, 10*s, 10*s)}, // the clock steps back: all was just now
		}},
		"a counter of 10 a minute": {model.Counter{Max: 10, Window: time.Minute}, []step{
			{20 * second, 8, yes(10, 2, 47500*time.Millisecond, 100*s)}, // 8·7/8 = 7 at 67.5 s
			{75 * second, 4, yes(10, 0, 7500*time.Millisecond, 105*s)},  // 8·3/4 + 4 = 10
			{75 * second, 1, no(10, 0, 7500*time.Millisecond, 7500*time.Millisecond, 105*s)},
		}},
		"five a day": {model.Window{Max: 5, Calendar: model.Calendar{Begins: model.Daily(), Zone: time.UTC}}, []step{
			{60 * second, 5, yes(5, 0, 24*time.Hour-time.Minute, 24*time.Hour-time.Minute)},
			{86399 * second, 1, no(5, 0, s, s, s)},
			{86400 * second, 5, yes(5, 0, 24*time.Hour, 24*time.Hour)},
			{86399 * second, 1, no(5, 0, s, s, s)}, // the clock steps back: it was spent yesterday
			{86400 * second, 1, yes(5, 4, 24*time.Hour, 24*time.Hour)},
		}},
	} {
		var store model.Store
		for i, step := range c.steps {
			for _, guess := range [][]seawall.Result{nil, {step.want}} { // with a guess, after a look without one
				op := seawall.Peek
				if guess != nil {
					op = seawall.Spend
				}
				got := store.Apply(began+step.at, []model.Check{{Rule: c.rule, Name: "a", Cost: step.cost, ID: uint64(i), Op: op}}, guess)[0]
				if op == seawall.Spend {
					assert.Equal(t, step.want, got, "%s, step %d", name, i)
				} else {
					assert.Equal(t, step.want.Admitted, got.Admitted, "%s, peek before step %d", name, i)
					assert.Equal(t, step.want.RetryAfter, got.RetryAfter, "%s, peek before step %d", name, i)
				}
			}
		}
	}
}

func TestCalendars(t *testing.T) {
	in := func(name string) *time.Location {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		return zone
	}
	for _, c := range []struct {
		calendar         model.Calendar
		at, begins, ends string
	}{
		{model.Calendar{Every: time.Hour, Anchor: time.Date(2026, 1, 1, 0, 15, 0, 0, time.UTC)}, "2025-12-31T23:59:59Z", "2025-12-31T23:15:00Z", "2026-01-01T00:15:00Z"},
		{model.Calendar{Begins: model.Daily(), Zone: in("America/Los_Angeles")}, "2026-03-08T12:00:00Z", "2026-03-08T08:00:00Z", "2026-03-09T07:00:00Z"}, // 23 h
		{model.Calendar{Begins: model.Daily(), Zone: in("America/Los_Angeles")}, "2026-11-01T12:00:00Z", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"}, // 25 h
		{model.Calendar{Begins: model.Daily(), Zone: in("Asia/Kathmandu")}, "2026-01-01T18:15:00Z", "2026-01-01T18:15:00Z", "2026-01-02T18:15:00Z"},
		{model.Calendar{Begins: model.Daily(), Zone: in("Pacific/Apia")}, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"}, // the 30th was left out
		{model.Calendar{Begins: model.Weekly(time.Monday), Zone: time.UTC}, "2026-11-29T23:59:59Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"},
		{model.Calendar{Begins: model.Monthly(31), Zone: time.UTC}, "2028-02-28T23:59:59Z", "2028-01-31T00:00:00Z", "2028-02-29T00:00:00Z"},
		{model.Calendar{Begins: model.Monthly(31), Zone: time.UTC, At: 9 * time.Hour}, "2026-04-30T09:00:00Z", "2026-04-30T09:00:00Z", "2026-05-31T09:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		require.NoError(t, err)
		begins, ends := c.calendar.Around(at.UnixMicro())
		text := func(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339) }
		assert.Equal(t, []string{c.begins, c.ends}, []string{text(begins), text(ends)}, c.at)
	}
}
