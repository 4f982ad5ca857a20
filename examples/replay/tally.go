package main

import "github.com/seawall-go/seawall"

// tally is what one policy has answered.
type tally struct {
	layer, name string
	rule        string // in words
	requests    int64
	refused     int64
	first, last int64 // when it refused
	callers     []share
	routes      map[int32]*part
	over        series
}

// share is what became of the requests of one caller that a policy is about.
type share struct {
	part
	needed needed
}

func (t *tally) add(now int64, r *request, c *seawall.Check, res *seawall.Result) {
	t.callers = reach(t.callers, r.caller)
	mine := &t.callers[r.caller]
	route, ok := t.routes[r.route]
	if !ok {
		route = &part{}
		t.routes[r.route] = route
	}
	t.requests++
	mine.requests++
	route.requests++
	mine.needed.see(now, c)
	t.over.add(now, !res.Admitted)
	if res.Admitted {
		return
	}
	if t.refused == 0 {
		t.first = now
	}
	t.last = now
	t.refused++
	mine.refused++
	route.refused++
}
