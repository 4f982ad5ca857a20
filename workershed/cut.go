package workershed

import "time"

const (
	// tolerance is how far the share that is shed may be from the level before callers change sides for it.
	tolerance = 0.02
	// heavy is the share of all sheddable traffic from which a slot is shed in part, by requests: in or out would miss the level
	// by half of it, and have those that stand beside it out nearly always.
	heavy = 0.05
)

// cut says who is out: of the tiers below tier all, of the ones above none. The slots of tier stand on a circle, which begins
// with slot turn: the first arc of them are out, but of those that are heavy the share part of the requests.
type cut struct {
	turn, tier, arc int
	part            float64
	heavy           [slots / 64]uint64
}

func (c *cut) isHeavy(slot int) bool { return c.heavy[slot/64]>>(slot%64)&1 == 1 }

// share is how much of a slot's traffic is shed.
func (c *cut) share(tier, slot int) float64 {
	switch {
	case tier >= sheddable || tier > c.tier:
		return 0
	case tier < c.tier:
		return 1
	case c.isHeavy(slot):
		return c.part
	case (slot-c.turn)&(slots-1) < c.arc:
		return 1
	}
	return 0
}

// shed is the share of all sheddable traffic, and of each tier's, that c sheds.
func (c *cut) shed(d *demand) (all float64, byTier [tiers]float64) {
	for tier := range sheddable {
		out, sum := 0.0, 0.0
		for slot := range slots {
			w := d.weight(tier, slot)
			sum += w
			out += w * c.share(tier, slot)
		}
		all += out
		byTier[tier] = clamp(out / sum)
	}
	return all, byTier
}

// of returns the cut that sheds the share level of d.
func (c cut) of(level float64, d *demand) cut {
	c = cut{turn: c.turn}
	if !(level > 0) {
		return c
	}
	for ; c.tier < sheddable && level < 1; c.tier++ {
		sum := 0.0
		for slot := range slots {
			sum += d.weight(c.tier, slot)
		}
		if level < sum {
			return c.within(level/sum, d)
		}
		level -= sum
	}
	c.tier = sheddable
	return c
}

// within cuts the tier so that the share part of it is shed.
func (c cut) within(part float64, d *demand) cut {
	c.part = part
	light := 0.0
	for slot := range slots {
		if w := d.weight(c.tier, slot); w >= heavy {
			c.heavy[slot/64] |= 1 << (slot % 64)
		} else {
			light += w
		}
	}
	out := 0.0
	for ; c.arc < slots-1; c.arc++ { // all would be another tier's turn
		slot := (c.turn + c.arc) % slots
		if c.isHeavy(slot) {
			continue
		}
		w := d.weight(c.tier, slot)
		if out+w/2 > part*light {
			break
		}
		out += w
	}
	return c
}

// follow returns the cut for a level that came from before. It moves no further than it must: sampling noise would move callers
// in and out all the time.
func (c cut) follow(before, level float64, d *demand) cut {
	if !(level > 0) || level >= 1 {
		return c.of(level, d)
	}
	shed, _ := c.shed(d)
	least, most := level-tolerance, level+tolerance
	if level > before {
		least = level
	}
	if level < before {
		most = level
	}
	if shed >= least && shed <= most {
		return c
	}
	return c.of(level, d)
}

// turned is how far the circles have turned at time now: once around in a period.
func turned(now, period time.Duration) int {
	return int(float64(now%period)/float64(period)*slots+slots) % slots
}
