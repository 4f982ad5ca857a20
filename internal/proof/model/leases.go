package model

import (
	"maps"
	"math/big"
	"time"

	"github.com/seawall-go/seawall"
)

// Slots are what may be in flight at a time: a set of leases, each of which takes some of Max until it is given
// back, or until TTL after it was taken or last renewed. Times of leases are whole milliseconds.
//
// A lease from the future, where the clock was before it stepped back, is cut to TTL from now as soon as somebody is
// refused. Until then it harms nobody.
type Slots struct {
	Max int64
	TTL time.Duration
	// Weighted tells that a check takes as many slots as it costs. Otherwise it takes one, and every lease counts as
	// one, also those that a weighted rule gave.
	Weighted bool
}

// leases are the past of slots, by their numbers.
type leases map[uint64]lease

// lease is until when it holds how many slots. When until has come it is over.
type lease struct{ until, slots int64 }

// Takes is how many slots a check of a cost takes.
func (s Slots) Takes(cost int64) int64 {
	if s.Weighted {
		return cost
	}
	return 1
}

// Kind implements Rule.
func (Slots) Kind() string { return "lease" }

// Limit implements Rule.
func (s Slots) Limit() int64 { return s.Max }

// Left implements Rule.
func (s Slots) Left(p Past, now int64) *big.Rat {
	left := whole(s.Max)
	held, _ := p.(leases)
	for _, l := range held {
		if l.until > now/1000 {
			left.Sub(left, whole(s.Takes(l.slots)))
		}
	}
	return left
}

// New implements Rule.
func (s Slots) New(p Past, now int64) bool {
	held, _ := p.(leases)
	for _, l := range held {
		if l.until > now/1000 {
			return false
		}
	}
	return true
}

// Asked implements Rule.
func (s Slots) Asked(p Past, now int64, fits bool) Past {
	held, ok := p.(leases)
	if !ok || fits {
		return p
	}
	cut := leases{}
	for id, l := range held {
		cut[id] = lease{min(l.until, now/1000+s.TTL.Milliseconds()), l.slots}
	}
	return cut
}

// Spend implements Rule. The cost is what Takes says.
func (s Slots) Spend(p Past, now, cost int64, id uint64) Past {
	before, _ := p.(leases)
	held := leases{}
	maps.Copy(held, before)
	held[id] = lease{now/1000 + s.TTL.Milliseconds(), cost}
	return held
}

// Refund implements Rule. Leases are released instead.
func (Slots) Refund(p Past, _, _ int64, _ uint64, _ *big.Rat) Past { return p }

// told is what a check is told as if it had been refused. When a slot gets free is up to who holds it: a second is
// a guess.
func (s Slots) told(c Check, p Past, now int64) seawall.Result {
	res := seawall.Result{Limit: s.Max, Remaining: remaining(s, p, now), RetryAfter: time.Second}
	if c.Cost > s.Max {
		res.RetryAfter = seawall.Never
	}
	return res
}

// Release gives a lease back: that of the check's caller and number, whoever took it. Whether it is there does not
// matter.
func (s *Store) Release(c Check) {
	held, ok := s.past(c).(leases)
	if !ok {
		return
	}
	others := maps.Clone(held)
	delete(others, c.ID)
	s.keep(c, others, false)
}

// Renew makes the check's lease last for TTL from now. Where it was lost it is taken again, also beyond the limit.
func (s *Store) Renew(now int64, c Check) (lost bool) {
	held, _ := s.past(c).(leases)
	l, there := held[c.ID]
	s.keep(c, c.Rule.Spend(s.past(c), now, c.Cost, c.ID), true)
	return !there || l.until <= now/1000
}

// Lose forgets everything, as a store that lost its data.
func (s *Store) Lose() { s.pasts = nil }
