package model

import "math/big"

// Window is the fixed window: between two boundaries of a calendar at most Max is spent.
type Window struct {
	Max      int64
	Calendar Calendar
}

// used is a window's past: when the window began in which something was last spent, and how much was spent in
// it. What was spent in windows before it is forgotten.
type used struct {
	began, sum int64
}

// now returns what was used of the present window. What was spent in a later one, before the clock stepped
// back, was spent in this one.
func (w Window) now(p Past, now int64) used {
	began, _ := w.Calendar.Around(now)
	u, ok := p.(used)
	if !ok || u.began < began {
		return used{began, 0}
	}
	return used{began, u.sum}
}

// Kind implements Rule.
func (Window) Kind() string { return "window" }

// Limit implements Rule.
func (w Window) Limit() int64 { return w.Max }

// Left implements Rule.
func (w Window) Left(p Past, now int64) *big.Rat { return whole(w.Max - w.now(p, now).sum) }

// New implements Rule.
func (w Window) New(p Past, now int64) bool { return w.now(p, now).sum == 0 }

// Asked implements Rule: who is refused for what a later window holds does not also owe it when that comes.
func (w Window) Asked(p Past, now int64, fits bool) Past {
	u := w.now(p, now)
	if kept, ok := p.(used); !fits && ok && kept.began > u.began {
		return u
	}
	return p
}

// Spend implements Rule.
func (w Window) Spend(p Past, now, cost int64, _ uint64) Past {
	u := w.now(p, now)
	u.sum = min(u.sum+cost, most)
	return u
}

// Refund implements Rule. Only what was spent in this window, and counts in it, is given back.
func (w Window) Refund(p Past, now, cost int64, _ uint64, at *big.Rat) Past {
	began, _ := w.Calendar.Around(now)
	u, ok := p.(used)
	if !ok || u.began != began || less(at, whole(began)) {
		return p
	}
	if u.sum -= cost; u.sum <= 0 {
		return nil
	}
	return u
}
