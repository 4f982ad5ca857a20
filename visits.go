package seawall

import "sync/atomic"

// visits are the limits and local layers that a request has met and not yet left. They belong to the request's goroutine;
// shows may be called on others, by requests that continue it: behind a timeout of the framework's own they may still run
// when it is done.
type visits struct {
	n     int32 // how many there are, here and further on
	shown int32 //nolint:modernize // how many of them others see; requests are values, copied before they are used
	at    [4]*Limit
	next  *visits
}

func (v *visits) has(l *Limit) bool { return v.among(l, v.n) }

// shows tells whether there is one of that name.
func (v *visits) shows(l *Limit) bool { return v.among(l, atomic.LoadInt32(&v.shown)) }

// among tells whether one of the first n has that name.
func (v *visits) among(l *Limit, n int32) bool {
	for at := v; ; at = at.next {
		for _, visited := range at.at[:min(int(n), len(at.at))] {
			if visited == l || visited.name == l.name {
				return true
			}
		}
		if n -= int32(len(at.at)); n <= 0 {
			return false // next is not shown
		}
	}
}

func (v *visits) add(l *Limit) {
	at, i := v, int(v.n)
	for ; i >= len(at.at); i -= len(at.at) {
		if at.next == nil {
			at.next = new(visits)
		}
		at = at.next
	}
	at.at[i] = l
	v.n++
}

// show has others see all there are.
func (v *visits) show() { atomic.StoreInt32(&v.shown, v.n) }

// forget leaves only the first n: a request that is tried again, one level up, is a new question.
func (v *visits) forget(n int32) {
	if n < v.n {
		v.n = n
		v.show()
	}
}
