package model

import (
	"math/big"
	"time"
)

// Log is the sliding log: everything spent in the last Window costs at most Max together. What was spent just a
// window ago has left it.
type Log struct {
	Max    int64
	Window time.Duration
}

// spends is a log's past, in no order.
type spends []spend

type spend struct {
	at, cost int64
	id       uint64
}

// settled is the past as of now: what has left the window is forgotten, and what lies in the future, where the
// clock was before it stepped back, was spent just now.
func (l Log) settled(p Past, now int64) spends {
	var in spends
	all, _ := p.(spends)
	for _, s := range all {
		s.at = min(s.at, now)
		if now-s.at < l.Window.Microseconds() {
			in = append(in, s)
		}
	}
	return in
}

// Kind implements Rule.
func (Log) Kind() string { return "log" }

// Limit implements Rule.
func (l Log) Limit() int64 { return l.Max }

// Left implements Rule.
func (l Log) Left(p Past, now int64) *big.Rat {
	left := whole(l.Max)
	for _, s := range l.settled(p, now) {
		left.Sub(left, whole(s.cost))
	}
	return left
}

// New implements Rule.
func (l Log) New(p Past, now int64) bool { return len(l.settled(p, now)) == 0 }

// Asked implements Rule: whoever asks settles the log.
func (l Log) Asked(p Past, now int64, _ bool) Past { return l.settled(p, now) }

// Spend implements Rule.
func (l Log) Spend(p Past, now, cost int64, id uint64) Past {
	return append(l.settled(p, now), spend{now, cost, id})
}

// Refund implements Rule: it is known which one it was.
func (l Log) Refund(p Past, _, cost int64, id uint64, _ *big.Rat) Past {
	var others spends
	all, _ := p.(spends)
	for _, s := range all {
		if s.id != id || s.cost != cost {
			others = append(others, s)
		}
	}
	return others
}
