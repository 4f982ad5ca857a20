package main

import (
	"context"
	"time"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/memstore"
)

// limit is the one limit of the figures, per minute.
const limit = 60

// contender is a rule in the figures.
type contender struct {
	name  string
	quota ratelimit.Quota
}

// contenders are "60 per minute" by each rule.
func contenders() []contender {
	return []contender{
		{"token bucket", ratelimit.TokenBucket(ratelimit.PerMinute(limit), limit)},
		{"sliding log", ratelimit.SlidingLog(limit, window)},
		{"sliding counter", ratelimit.SlidingCounter(limit, window)},
		{"fixed window", ratelimit.FixedWindow(limit, ratelimit.Every(window))},
	}
}

// bench is a store whose clock stands where it is put, and one caller.
type bench struct {
	store *memstore.Store
	now   time.Time
	key   seawall.Key
	limit *seawall.Limit
}

func newBench() (*bench, error) {
	b := &bench{now: start, key: seawall.NewKey("caller")}
	b.store = memstore.New(memstore.Config{Now: func() time.Time { return b.now }})
	var err error
	b.limit, err = seawall.NewLimit(ratelimit.Name, "api", seawall.FailLocal)
	return b, err
}

// ask has the store evaluate one check at a time after start, by a quota unless it has a rule, and returns it as
// the store left it.
func (b *bench) ask(at time.Duration, q ratelimit.Quota, c seawall.Check) (seawall.Check, seawall.Result, error) {
	if c.Rule == nil {
		rule, err := q.Rule()
		if err != nil {
			return c, seawall.Result{}, err
		}
		c.Rule = rule
	}
	b.now = start.Add(at)
	c.Limit, c.Key = b.limit, b.key
	checks := []seawall.Check{c}
	results, err := b.store.Apply(context.Background(), nil, checks)
	if err != nil {
		return c, seawall.Result{}, err
	}
	return checks[0], results[0], nil
}

// answer is what became of the request that came at a time after start.
type answer struct {
	at       time.Duration
	admitted bool
}

// sample is what remained at a time after start.
type sample struct {
	at        time.Duration
	remaining int64
}

// replayed is what a rule made of the traffic.
type replayed struct {
	contender
	answers []answer
	samples []sample // whenever what remains has changed
}

// replay sends the traffic through a rule, and looks ten times a second at what remains.
func replay(c contender) (replayed, error) {
	const every = time.Second / 10
	b, err := newBench()
	if err != nil {
		return replayed{}, err
	}
	out := replayed{contender: c}
	due := arrivals()
	for now := time.Duration(0); now <= length; now += every {
		for ; len(due) > 0 && due[0] < now; due = due[1:] {
			_, res, err := b.ask(due[0], c.quota, seawall.Check{Cost: 1})
			if err != nil {
				return out, err
			}
			out.answers = append(out.answers, answer{due[0], res.Admitted})
			out.see(due[0], res.Remaining)
		}
		_, res, err := b.ask(now, c.quota, seawall.Check{Cost: 1, Op: seawall.Peek})
		if err != nil {
			return out, err
		}
		out.see(now, res.Remaining)
	}
	return out, nil
}

// see notes what remains, if that is new.
func (r *replayed) see(at time.Duration, remaining int64) {
	if n := len(r.samples); n == 0 || r.samples[n-1].remaining != remaining {
		r.samples = append(r.samples, sample{at, remaining})
	}
}

// replayAll sends the traffic through all rules.
func replayAll() ([]replayed, error) {
	var all []replayed
	for _, c := range contenders() {
		r, err := replay(c)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// between returns the answers from a time on, before another.
func (r replayed) between(from, to time.Duration) []answer {
	var some []answer
	for _, a := range r.answers {
		if from <= a.at && a.at < to {
			some = append(some, a)
		}
	}
	return some
}

// admitted returns how many requests were admitted from a time on, before another.
func (r replayed) admitted(from, to time.Duration) int { return len(admittedOf(r.between(from, to))) }

func admittedOf(answers []answer) []answer {
	var some []answer
	for _, a := range answers {
		if a.admitted {
			some = append(some, a)
		}
	}
	return some
}

// most returns how many were admitted within any time of the given length. A request that comes exactly that
// much later than another is not in the same one.
func (r replayed) most(within time.Duration) int {
	most := 0
	for _, a := range r.answers {
		most = max(most, r.admitted(a.at, a.at+within))
	}
	return most
}
