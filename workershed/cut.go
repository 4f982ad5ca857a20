package workershed

import "time"

const (
	// length is how many slots can be shed.
	length = sheddable * slots
	// tolerance is how far the share that is shed may be from the level before callers change sides for it.
	tolerance = 0.02
	// heavy is the share of all sheddable traffic from which a slot is shed in part: all or nothing would miss the level by
	// half of it.
	heavy = 0.05
)

// cut says who is out. All slots that can be shed stand in a line, tier by tier from the bottom; in each tier the line begins
// with slot turn. Those before place are out, and of the requests at place the share split.
type cut struct {
	turn  int
	place int
	split float64
}

// at is where a slot stands in the line.
func (c *cut) at(tier, slot int) int { return tier*slots + (slot-c.turn)&(slots-1) }

// share is how much of a slot's traffic is shed.
func (c cut) share(tier, slot int) float64 {
	switch at := c.at(tier, slot); {
	case at < c.place:
		return 1
	case at == c.place:
		return c.split
	}
	return 0
}

// shed is the share of all sheddable traffic, and of each tier's, that c sheds.
func (c cut) shed(d *demand) (all float64, byTier [tiers]float64) {
	for tier := range sheddable {
		out, sum := 0.0, 0.0
		for place := tier * slots; place < (tier+1)*slots; place++ {
			w := d.weight(place, c.turn)
			sum += w
			switch {
			case place < c.place:
				out += w
			case place == c.place:
				out += w * c.split
			}
		}
		all += out
		byTier[tier] = clamp(out / sum)
	}
	return all, byTier
}

// of returns the cut that sheds the share level of d.
func (c cut) of(level float64, d *demand) cut {
	c.place, c.split = 0, 0
	if !(level > 0) {
		return c
	}
	if level >= 1 {
		c.place = length
		return c
	}
	before := 0.0
	for ; c.place < length; c.place++ {
		w := d.weight(c.place, c.turn)
		if before+w > level {
			switch part := (level - before) / w; {
			case w >= heavy:
				c.split = part
			case part >= 0.5:
				c.place++
			}
			break
		}
		before += w
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

// turned is how far the lines have turned at time now: once around in a period.
func turned(now, period time.Duration) int {
	return int(float64(now%period) / float64(period) * slots)
}
