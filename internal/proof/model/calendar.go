package model

import (
	"math/big"
	"time"
)

// Calendar says when windows begin: every Every from Anchor on and before it, or else on days that Begins names,
// at the time of day At in Zone.
type Calendar struct {
	Every  time.Duration
	Anchor time.Time

	Begins Days
	At     time.Duration
	Zone   *time.Location
}

// Days names days by their date.
type Days func(date time.Time) bool

// Daily names all days.
func Daily() Days { return func(time.Time) bool { return true } }

// Weekly names one day of each week.
func Weekly(first time.Weekday) Days { return func(d time.Time) bool { return d.Weekday() == first } }

// Monthly names one day of each month, the last one if the month has no such day.
func Monthly(first int) Days {
	return func(d time.Time) bool {
		last := time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		return d.Day() == min(first, last)
	}
}

// Around returns when the window began that a time is in, and when the next one begins.
func (c Calendar) Around(now int64) (began, next int64) {
	if c.Every > 0 {
		length := big.NewInt(c.Every.Microseconds())
		over := new(big.Int).Mod(big.NewInt(now-c.Anchor.UnixMicro()), length).Int64()
		return now - over, now - over + length.Int64()
	}
	// The dates around are looked at one by one: more than a month and a day to each side.
	y, m, d := time.UnixMicro(now).In(c.Zone).Date()
	began, next = -1<<62, 1<<62
	for day := d - 34; day <= d+34; day++ {
		if !c.Begins(time.Date(y, m, day, 0, 0, 0, 0, time.UTC)) {
			continue
		}
		switch begin := time.Date(y, m, day, 0, 0, int(c.At.Seconds()), 0, c.Zone).UnixMicro(); {
		case begin <= now:
			began = max(began, begin)
		default:
			next = min(next, begin)
		}
	}
	return began, next
}
