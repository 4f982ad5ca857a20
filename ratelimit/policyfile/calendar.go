package policyfile

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/seawall-go/seawall/ratelimit"
)

const (
	wantEvery = "day, week, month or a duration of whole seconds from 1s to 366d"
	wantZone  = "a name of the time zone database such as Europe/Berlin, which this machine must have: install tzdata or import time/tzdata"
)

// window reads a fixed window.
func (p place) window(n *yaml.Node) ratelimit.Quota {
	values := p.fields(n, "limit", "every", "first", "zone", "at", "from")
	if values == nil {
		return ratelimit.Quota{}
	}
	limit, limited := p.units(n, values, "limit")
	every, ok := values["every"]
	if !ok {
		p.at("every").missing(n.Line, wantEvery)
		return ratelimit.Quota{}
	}
	calendar, ok := p.every(every, values)
	if !ok || !limited {
		return ratelimit.Quota{}
	}
	return ratelimit.FixedWindow(limit, calendar)
}

// every reads all that says when windows begin.
func (p place) every(n *yaml.Node, values map[string]*yaml.Node) (c ratelimit.Calendar, ok bool) {
	text := ""
	if isText(n) {
		text = n.Value
	}
	first, from := values["first"], values["from"]
	switch text {
	case "day":
		c, ok = ratelimit.Daily(), p.misplaced("first", first, "week or month")
	case "week":
		c, ok = p.at("first").weekly(first)
	case "month":
		c, ok = p.at("first").monthly(first)
	default:
		return p.equal(n, values)
	}
	ok = p.misplaced("from", from, "a duration") && ok
	if zone := values["zone"]; zone != nil {
		location, good := p.at("zone").zone(zone)
		c, ok = c.In(location), ok && good
	}
	if at := values["at"]; at != nil {
		timeOfDay, good := p.at("at").timeOfDay(at)
		c, ok = c.At(timeOfDay), ok && good
	}
	return c, ok
}

// equal reads windows of equal length.
func (p place) equal(n *yaml.Node, values map[string]*yaml.Node) (c ratelimit.Calendar, ok bool) {
	d, ok := p.at("every").duration(n, wantEvery)
	if !ok {
		return c, false
	}
	c = ratelimit.Every(d)
	if _, err := ratelimit.FixedWindow(1, c).Rule(); err != nil {
		p.at("every").is(n, wantEvery)
		return c, false
	}
	ok = p.misplaced("first", values["first"], "week or month")
	ok = p.misplaced("zone", values["zone"], "day, week or month") && ok
	ok = p.misplaced("at", values["at"], "day, week or month") && ok
	if from := values["from"]; from != nil {
		t, err := time.Parse(time.RFC3339, from.Value)
		c = c.From(t.UTC())
		if _, wrong := ratelimit.FixedWindow(1, c).Rule(); err != nil || wrong != nil || t.IsZero() {
			p.at("from").is(from, "a whole second from 1970 to 2200 such as 2026-01-01T00:00:00Z")
			return c, false
		}
	}
	return c, ok
}

// misplaced reports a field that goes with another kind of window only, and returns true if it is not there.
func (p place) misplaced(field string, n *yaml.Node, every string) bool {
	if n != nil {
		p.at(field).wrong(n.Line, " goes with every: %s only", every)
	}
	return n == nil
}

func (p place) weekly(n *yaml.Node) (ratelimit.Calendar, bool) {
	if n == nil {
		return ratelimit.Weekly(time.Monday), true
	}
	var names []string
	for day := time.Sunday; day <= time.Saturday; day++ {
		name := strings.ToLower(day.String())
		if isText(n) && n.Value == name {
			return ratelimit.Weekly(day), true
		}
		names = append(names, name)
	}
	p.is(n, "%s", wanted(n.Value, names))
	return ratelimit.Calendar{}, false
}

func (p place) monthly(n *yaml.Node) (ratelimit.Calendar, bool) {
	first := int64(1)
	if n != nil {
		var ok bool
		if first, ok = p.whole(n, 1, 31); !ok {
			return ratelimit.Calendar{}, false
		}
	}
	return ratelimit.Monthly(int(first)), true
}

// zone reads a time zone. "Local" is another one on each machine, so it is none.
func (p place) zone(n *yaml.Node) (*time.Location, bool) {
	if isText(n) && n.Value != "" && n.Value != "Local" {
		if zone, err := time.LoadLocation(n.Value); err == nil {
			return zone, true
		}
	}
	p.is(n, wantZone)
	return nil, false
}

func (p place) timeOfDay(n *yaml.Node) (time.Duration, bool) {
	if isText(n) {
		for _, layout := range []string{"15:04", time.TimeOnly} {
			if t, err := time.Parse(layout, n.Value); err == nil && len(n.Value) == len(layout) {
				return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second, true
			}
		}
	}
	p.is(n, `a time of day from "00:00" to "23:59:59"`)
	return 0, false
}
