package accesslog

import "time"

// utc is a zone as logs write it.
const utc = "+0000"

// clock reads time stamps such as 17/May/2015:08:05:32. Neighbouring lines are mostly of the same day and zone, so it keeps
// when the last one began.
type clock struct {
	day   [len("17/May/2015")]byte
	zone  [len(utc)]byte
	begin int64 // seconds since the epoch
	known bool  // if there was one
}

// stampLen is the length of a stamp without its zone.
const stampLen = len("17/May/2015:08:05:32")

// seconds reads a stamp of stampLen bytes in a zone of five.
func (c *clock) seconds(stamp, zone []byte) (int64, bool) {
	if !c.known || string(stamp[:len(c.day)]) != string(c.day[:]) || string(zone) != string(c.zone[:]) {
		if !c.turn(stamp, zone) {
			return 0, false
		}
	}
	if stamp[11] != ':' {
		return 0, false
	}
	s, ok := timeOfDay(stamp[12:])
	return c.begin + s, ok
}

// turn goes to another day.
func (c *clock) turn(stamp, zone []byte) bool {
	if stamp[2] != '/' || stamp[6] != '/' {
		return false
	}
	offset, ok := zoneOffset(zone)
	if !ok {
		return false
	}
	begin, ok := date(digits(stamp[7:11]), month(stamp[3:6]), digits(stamp[:2]))
	if !ok {
		return false
	}
	c.begin, c.known = begin-offset, true
	copy(c.day[:], stamp)
	copy(c.zone[:], zone)
	return true
}

// timeOfDay reads 08:05:32 at the beginning of text, which is long enough.
func timeOfDay(text []byte) (seconds int64, ok bool) {
	h, m, s := digits(text[0:2]), digits(text[3:5]), digits(text[6:8])
	ok = text[2] == ':' && text[5] == ':' && 0 <= h && h < 24 && 0 <= m && m < 60 && 0 <= s && s <= 60 // a leap second
	return int64(h*3600 + m*60 + s), ok
}

// zoneOffset reads what follows a time: +0200, +02:00, Z, or nothing for UTC.
func zoneOffset(zone []byte) (seconds int64, ok bool) {
	if len(zone) == 0 || string(zone) == "Z" || string(zone) == "z" {
		return 0, true
	}
	h, m := -1, -1
	switch {
	case len(zone) == 5:
		h, m = digits(zone[1:3]), digits(zone[3:5])
	case len(zone) == 6 && zone[3] == ':':
		h, m = digits(zone[1:3]), digits(zone[4:6])
	}
	if h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, false
	}
	switch seconds = int64(h*3600 + m*60); zone[0] {
	case '+':
		return seconds, true
	case '-':
		return -seconds, true
	}
	return 0, false
}

// month is the number of a month's English name; 0 of another text.
func month(name []byte) int {
	for m := time.January; m <= time.December; m++ {
		if string(name) == m.String()[:3] {
			return int(m)
		}
	}
	return 0
}

// date is when a day begins that exists, in UTC and seconds.
func date(year, month, day int) (int64, bool) {
	if year < 0 || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, false
	}
	d := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return d.Unix(), d.Day() == day
}

// since1970 is a time in nanoseconds.
func since1970(seconds, nanoseconds int64) (int64, bool) {
	return seconds*1e9 + nanoseconds, seconds >= 0 && seconds < maxTime/int64(time.Second)
}

// stamp reads whatever a JSON log may call a time.
func (c *clock) stamp(text []byte) (nanoseconds int64, ok bool) {
	if len(text) > 1 && text[0] == '[' && text[len(text)-1] == ']' {
		text = text[1 : len(text)-1]
	}
	switch {
	case len(text) == stampLen+len(" +0000") && text[stampLen] == ' ':
		if s, ok := c.seconds(text[:stampLen], text[stampLen+1:]); ok {
			return since1970(s, 0)
		}
	case len(text) >= len("2015-05-17T08:05:32") && (text[4] == '-' || text[4] == '/'):
		if s, ns, ok := calendar(text); ok {
			return since1970(s, ns)
		}
	default:
		return decimal(text, 1e9)
	}
	return 0, false
}

// calendar reads 2015-05-17T08:05:32.123+00:00 and its relatives: with slashes, a space, another zone or none. Text is
// long enough for what has no fraction and zone.
func calendar(text []byte) (seconds, nanoseconds int64, ok bool) {
	if text[7] != text[4] || text[10] != 'T' && text[10] != 't' && text[10] != ' ' {
		return 0, 0, false
	}
	day, ok := date(digits(text[:4]), digits(text[5:7]), digits(text[8:10]))
	if !ok {
		return 0, 0, false
	}
	inDay, ok := timeOfDay(text[11:19])
	if !ok {
		return 0, 0, false
	}
	rest := text[19:]
	if len(rest) > 0 && rest[0] == '.' {
		n := 1
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		if nanoseconds, ok = fraction(rest[1:n]); !ok {
			return 0, 0, false
		}
		rest = rest[n:]
	}
	offset, ok := zoneOffset(rest)
	return day + inDay - offset, nanoseconds, ok
}

// fraction is the nanoseconds that digits behind a point stand for.
func fraction(text []byte) (nanoseconds int64, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	place := int64(1e9)
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		place /= 10
		nanoseconds += int64(c-'0') * place
	}
	return nanoseconds, true
}
