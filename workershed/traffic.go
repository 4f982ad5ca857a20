package workershed

import (
	"math"
	"sync/atomic"
	"time"
)

// slots is how many parts the callers of a tier stand in. Callers of one slot are in or out together.
const slots = 256

// memory is how long traffic is remembered: the time constant of the average over what a slot begins per second.
const memory = 30 * time.Second

// traffic counts the requests that begin, by tier and slot.
type traffic [tiers][slots]atomic.Uint32

func (t *traffic) count(tier, slot int) { t[tier][slot].Add(1) }

// demand is how many requests a second each slot would begin if nothing was shed. What is out cannot be measured: its callers
// send requests over and over that count once, or none since they wait, and other layers might have refused them. It is taken to
// change as the rest does. While nobody asks, what was known stays.
type demand struct {
	rate  [sheddable][slots]float64
	begun float64 // in the last step
	sum   float64 // of the tiers that can be shed
}

const (
	// faint is a rate that counts only where there is no other.
	faint = 1e-9
	// quiet is a rate below which too little happens to learn from: a request in a minute.
	quiet = 1. / 60
)

// update takes what t has counted in the last dt, in which c was out.
func (d *demand) update(t *traffic, c *cut, dt time.Duration) {
	d.begun = 0
	if dt <= 0 {
		return
	}
	var counted [tiers][slots]float64
	seen, was := 0.0, 0.0 // of what can be shed, and is not
	for tier := range t {
		for slot := range t[tier] {
			n := float64(t[tier][slot].Swap(0))
			d.begun += n
			if in := 1 - c.share(tier, slot); in > 0 && tier < sheddable {
				counted[tier][slot] = n / (in * dt.Seconds())
				seen += n
				was += d.rate[tier][slot]
			}
		}
	}
	if seen == 0 && was < quiet {
		return
	}
	alpha := replaced(dt, memory)
	is := 0.0
	for tier := range sheddable {
		for slot := range slots {
			if c.share(tier, slot) < 1 {
				rate := &d.rate[tier][slot]
				*rate += alpha * (counted[tier][slot] - *rate)
				is += *rate
			}
		}
	}
	grown := 1.0
	if was > quiet/10 {
		grown = is / was
	}
	d.sum = 0
	for tier := range sheddable {
		for slot := range slots {
			if c.share(tier, slot) == 1 {
				d.rate[tier][slot] *= grown
			}
			d.sum += d.rate[tier][slot]
		}
	}
}

// replaced is the share of an exponential average that is replaced in dt, at a time constant.
func replaced(dt, constant time.Duration) float64 {
	return -math.Expm1(-float64(dt) / float64(constant))
}

// weight is the share of all sheddable traffic that is in a slot. Without traffic all slots weigh the same.
func (d *demand) weight(tier, slot int) float64 {
	return (d.rate[tier][slot] + faint) / (d.sum + faint*sheddable*slots)
}
