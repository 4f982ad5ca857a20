package ratelimit

import (
	"fmt"
	"time"
)

// maxWindow is the longest window of equal length; it is also what bounds a sliding one.
const maxWindow = 366 * 24 * time.Hour

// Calendar says when a fixed window ends and the next one begins. Calendars are made by [Every], [Daily],
// [Weekly] and [Monthly], and adjusted by [Calendar.In], [Calendar.At] and [Calendar.From]; what is wrong with
// one is said by the constructor that takes it. The zero Calendar is not valid. Calendars are values.
type Calendar struct {
	unit     unit
	every    time.Duration
	anchor   time.Time
	weekday  time.Weekday
	monthDay int
	at       time.Duration
	zone     *time.Location // nil is UTC
}

type unit uint8

const (
	none unit = iota
	equal
	day
	week
	month
)

// Every is windows of equal length, whole seconds from 1 s to 366 days, one of which begins at the Unix epoch
// unless [Calendar.From] says otherwise.
func Every(d time.Duration) Calendar { return Calendar{unit: equal, every: d} }

// Daily is days from midnight to midnight. Where clocks are changed, one of them has 23 hours and one has 25.
func Daily() Calendar { return Calendar{unit: day} }

// Weekly is weeks that begin with the given day.
func Weekly(first time.Weekday) Calendar { return Calendar{unit: week, weekday: first} }

// Monthly is months that begin on the given day, 1 to 31: a billing month. In a month without such a day they
// begin on its last.
func Monthly(first int) Calendar { return Calendar{unit: month, monthDay: first} }

// In returns the calendar in a time zone; without one it is UTC's. All instances should have the same version
// of the time zone database: where they disagree, each counts in its own window.
func (c Calendar) In(zone *time.Location) Calendar { c.zone = zone; return c }

// At returns the calendar with its days beginning at a time of day, whole seconds from 0 up to but not 24 h.
func (c Calendar) At(timeOfDay time.Duration) Calendar { c.at = timeOfDay; return c }

// From returns windows of equal length one of which begins at t, in whole seconds.
func (c Calendar) From(t time.Time) Calendar { c.anchor = t; return c }

// String returns, for example, "daily at 0s in America/Los_Angeles".
func (c Calendar) String() string {
	where := fmt.Sprintf(" at %v in %v", c.at, c.location())
	switch c.unit {
	case equal:
		return fmt.Sprintf("every %v", c.every)
	case day:
		return "daily" + where
	case week:
		return fmt.Sprintf("weekly on %v%s", c.weekday, where)
	case month:
		return fmt.Sprintf("monthly on day %d%s", c.monthDay, where)
	}
	return "no calendar"
}

func (c Calendar) location() *time.Location {
	if c.zone == nil {
		return time.UTC
	}
	return c.zone
}

func (c Calendar) validate() error {
	switch {
	case c.unit == none:
		return fmt.Errorf("calendar is empty; want Every, Daily, Weekly or Monthly")
	case c.unit == equal && (c.every < time.Second || c.every > maxWindow || c.every%time.Second != 0):
		return fmt.Errorf("calendar: every %v; want whole seconds from 1s to 366 days", c.every)
	case c.unit == equal && (c.at != 0 || c.zone != nil):
		return fmt.Errorf("calendar: every %v has no time of day and no zone; want From, or Daily, Weekly or Monthly", c.every)
	case c.unit != equal && !c.anchor.IsZero():
		return fmt.Errorf("calendar: From %v; want it only with Every", c.anchor)
	case c.anchor.Nanosecond() != 0 || !c.anchor.IsZero() && (c.anchor.Year() < 1970 || c.anchor.Year() > 2200):
		return fmt.Errorf("calendar: From %v; want a whole second from 1970 to 2200", c.anchor)
	case c.unit == week && (c.weekday < time.Sunday || c.weekday > time.Saturday):
		return fmt.Errorf("calendar: weekday is %d; want Sunday to Saturday", c.weekday)
	case c.unit == month && (c.monthDay < 1 || c.monthDay > 31):
		return fmt.Errorf("calendar: day of the month is %d; want 1 to 31", c.monthDay)
	case c.at < 0 || c.at >= 24*time.Hour || c.at%time.Second != 0:
		return fmt.Errorf("calendar: time of day is %v; want whole seconds from 0 up to but not 24h", c.at)
	}
	return nil
}

// boundaries are the beginnings, in seconds since the Unix epoch, of the window before the one that a time is
// in, of that one, of the next and of the one behind it. A clock that is wrong by less than a window finds its
// window among them.
type boundaries [4]int64

// holds tells whether sec is in the second window.
func (b *boundaries) holds(sec int64) bool { return b[1] <= sec && sec < b[2] }

// around returns the boundaries around a time in seconds since the Unix epoch.
func (c Calendar) around(sec int64) boundaries {
	k := c.guess(sec)
	for c.boundary(k) > sec {
		k--
	}
	for c.boundary(k+1) <= sec {
		k++
	}
	begin, end := c.boundary(k), c.boundary(k+1)
	return boundaries{c.beyond(begin, k, -1), begin, end, c.beyond(end, k+1, 1)}
}

// beyond returns the boundary before or behind b, which is boundary k. A zone that changes sides of the date line
// leaves out a day: it would be an empty window.
func (c Calendar) beyond(b, k, step int64) int64 {
	for {
		k += step
		if next := c.boundary(k); next != b {
			return next
		}
	}
}

// guess returns about the number of the window that sec is in.
func (c Calendar) guess(sec int64) int64 {
	t := time.Unix(sec, 0).In(c.location())
	days := sec / 86400
	switch c.unit {
	case day:
		return days
	case week:
		return days / 7
	case month:
		return int64(t.Year()-1970)*12 + int64(t.Month()-1)
	}
	step := int64(c.every / time.Second)
	return floorDiv(sec-c.origin(), step)
}

// boundary is where window k begins. Windows are numbered without regard to the present, so that everyone
// finds the same boundaries.
func (c Calendar) boundary(k int64) int64 {
	begin := func(year int, m time.Month, d int64) int64 {
		return time.Date(year, m, int(d), 0, 0, int(c.at/time.Second), 0, c.location()).Unix()
	}
	switch c.unit {
	case day:
		return begin(1970, time.January, 1+k)
	case week: // 1970-01-04 was a Sunday
		return begin(1970, time.January, 4+int64(c.weekday)+7*k)
	case month:
		first := time.Date(1970, time.January+time.Month(k), 1, 0, 0, 0, 0, time.UTC)
		last := first.AddDate(0, 1, -1).Day()
		return begin(first.Year(), first.Month(), int64(min(c.monthDay, last)))
	}
	return c.origin() + k*int64(c.every/time.Second)
}

func (c Calendar) origin() int64 {
	if c.anchor.IsZero() {
		return 0
	}
	return c.anchor.Unix()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
