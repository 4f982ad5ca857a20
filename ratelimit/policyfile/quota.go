package policyfile

import (
	"go.yaml.in/yaml/v4"

	"github.com/seawall-go/seawall/ratelimit"
)

// The algorithms, by the names of their kinds in the store.
const (
	bucket  = "bucket"
	log     = "log"
	counter = "counter"
	window  = "window"
)

// quota reads the one algorithm among the values of a map, and returns its name. It must be the given one,
// unless that is "".
func (p place) quota(line int, values map[string]*yaml.Node, want string) (quota ratelimit.Quota, algorithm string) {
	for _, a := range []string{bucket, log, counter, window} {
		n, ok := values[a]
		switch {
		case !ok:
		case algorithm != "":
			p.wrong(n.Line, ": %s stands beside %s; want one of them", a, algorithm)
		case want != "" && a != want:
			p.wrong(n.Line, ": %s in a policy that has a %s; want a %s: what a caller has spent counts on under another plan of the same algorithm only",
				a, want, want)
			algorithm = a
		default:
			quota, algorithm = p.at(a).quotaOf(n, a), a
		}
	}
	if algorithm == "" && values != nil {
		if want == "" {
			want = "bucket, log, counter or window"
		}
		p.wrong(line, ": the quota is missing; want %s", want)
	}
	return quota, algorithm
}

func (p place) quotaOf(n *yaml.Node, algorithm string) ratelimit.Quota {
	switch algorithm {
	case bucket:
		return p.bucket(n)
	case window:
		return p.window(n)
	}
	values := p.fields(n, "limit", "window")
	if values == nil {
		return ratelimit.Quota{}
	}
	sliding := ratelimit.SlidingLog
	if algorithm == counter {
		sliding = ratelimit.SlidingCounter
	}
	limit, limited := p.units(n, values, "limit")
	length, ok := values["window"]
	if !ok {
		p.at("window").missing(n.Line, "a duration such as 1m")
		return ratelimit.Quota{}
	}
	d, ok := p.at("window").duration(length, "a duration such as 1m, 24h or 30d")
	if ok && p.ranges(length, sliding(1, d)) && limited {
		return sliding(limit, d)
	}
	return ratelimit.Quota{}
}

func (p place) bucket(n *yaml.Node) ratelimit.Quota {
	values := p.fields(n, "rate", "burst")
	if values == nil {
		return ratelimit.Quota{}
	}
	burst, limited := p.units(n, values, "burst")
	const want = "a rate from 1/30d to 1000000/s, such as 10/s, 0.5/s, 100/m, 5/h, 10000/d or 1/90s"
	text, ok := values["rate"]
	if !ok {
		p.at("rate").missing(n.Line, want)
		return ratelimit.Quota{}
	}
	rate, ok := parseRate(text.Value)
	if _, err := ratelimit.TokenBucket(rate, 1).Rule(); err != nil || !ok || !isText(text) {
		p.at("rate").is(text, want)
		return ratelimit.Quota{}
	}
	quota := ratelimit.TokenBucket(rate, burst)
	if limited {
		p.ranges(n, quota)
	}
	return quota
}

// units reads a limit or a burst.
func (p place) units(of *yaml.Node, values map[string]*yaml.Node, field string) (int64, bool) {
	p = p.at(field)
	if n, ok := values[field]; ok {
		return p.whole(n, 1, maxUnits)
	}
	p.missing(of.Line, "1 to %d", maxUnits)
	return 0, false
}

// ranges reports what package ratelimit has against a quota. If only one of its fields can be wrong, n is that
// one's value.
func (p place) ranges(n *yaml.Node, quota ratelimit.Quota) bool {
	_, err := quota.Rule()
	if err != nil {
		p.wrong(n.Line, ".%v", err)
	}
	return err == nil
}
