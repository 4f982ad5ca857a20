package ratelimit

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

func TestBoundariesOfCalendars(t *testing.T) {
	pacific := zone(t, "America/Los_Angeles")
	for name, c := range map[string]struct {
		calendar Calendar
		now      string
		want     [4]string // around it
	}{
		"a day of UTC": {
			Daily(), "2026-11-29T00:00:00Z",
			[4]string{"2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z"},
		},
		"a day that ends at midnight Pacific": {
			Daily().In(pacific), "2026-11-29T07:59:59Z",
			[4]string{"2026-11-27T08:00:00Z", "2026-11-28T08:00:00Z", "2026-11-29T08:00:00Z", "2026-11-30T08:00:00Z"},
		},
		"clocks are put forward": {
			Daily().In(pacific), "2026-03-08T20:00:00Z",
			[4]string{"2026-03-07T08:00:00Z", "2026-03-08T08:00:00Z", "2026-03-09T07:00:00Z", "2026-03-10T07:00:00Z"},
		},
		"clocks are put back": {
			Daily().In(pacific), "2026-11-02T07:30:00Z",
			[4]string{"2026-10-31T07:00:00Z", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z", "2026-11-03T08:00:00Z"},
		},
		"a day that begins at a time that is left out": { // 02:30 on the 8th counts as 01:30
			Daily().In(pacific).At(2*time.Hour + 30*time.Minute), "2026-03-08T09:29:59Z",
			[4]string{"2026-03-06T10:30:00Z", "2026-03-07T10:30:00Z", "2026-03-08T09:30:00Z", "2026-03-09T09:30:00Z"},
		},
		"a day that was left out": { // Samoa had no 30 December 2011
			Daily().In(zone(t, "Pacific/Apia")), "2011-12-30T09:59:59Z",
			[4]string{"2011-12-28T10:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		},
		"a week": {
			Weekly(time.Monday), "2026-11-29T12:00:00Z",
			[4]string{"2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"},
		},
		"a billing month": {
			Monthly(31).At(9 * time.Hour), "2026-02-28T08:59:59Z",
			[4]string{"2025-12-31T09:00:00Z", "2026-01-31T09:00:00Z", "2026-02-28T09:00:00Z", "2026-03-31T09:00:00Z"},
		},
		"a billing month in a leap year": {
			Monthly(30), "2028-02-29T00:00:00Z",
			[4]string{"2028-01-30T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-30T00:00:00Z", "2028-04-30T00:00:00Z"},
		},
		"every 90 s from a time": {
			Every(90 * time.Second).From(time.Date(2026, 11, 29, 0, 0, 7, 0, time.UTC)), "2026-11-29T00:00:06Z",
			[4]string{"2026-11-28T23:57:07Z", "2026-11-28T23:58:37Z", "2026-11-29T00:00:07Z", "2026-11-29T00:01:37Z"},
		},
		"every minute": {
			Every(time.Minute), "1970-01-01T00:00:00Z",
			[4]string{"1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"},
		},
	} {
		require.NoError(t, c.calendar.validate(), name)
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		var got [4]string
		for i, sec := range c.calendar.around(now.Unix()) {
			got[i] = time.Unix(sec, 0).UTC().Format(time.RFC3339)
		}
		assert.Equal(t, c.want, got, name)
	}
}

// TestWindowsFollowEachOther walks through thirty years of zones that did odd things: every moment lies in one
// window, which has the same boundaries whenever one asks, and none is empty.
func TestWindowsFollowEachOther(t *testing.T) {
	for _, name := range []string{
		"UTC", "America/Los_Angeles", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu", "America/St_Johns",
		"Asia/Beirut", "Africa/Casablanca", "Australia/Lord_Howe", "Antarctica/Troll", "America/Havana",
	} {
		z := zone(t, name)
		for _, c := range []Calendar{
			Daily().In(z), Daily().In(z).At(2*time.Hour + 30*time.Minute), Daily().In(z).At(24*time.Hour - time.Second),
			Weekly(time.Sunday).In(z), Weekly(time.Saturday).In(z), Monthly(1).In(z), Monthly(31).In(z).At(time.Hour),
		} {
			last := time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
			for sec := time.Date(2005, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); sec < last; {
				b := c.around(sec)
				require.True(t, b[0] < b[1] && b[1] <= sec && sec < b[2] && b[2] < b[3], "%v at %d: %v", c, sec, b)
				end := c.around(b[2] - 1)
				require.Equal(t, b, end, "%v: the window's last second", c)
				next := c.around(b[2])
				require.Equal(t, [3]int64(b[1:]), [3]int64(next[:3]), "%v: the next window", c)
				sec = b[2] + (b[2]-b[1])*17
			}
		}
	}
}
