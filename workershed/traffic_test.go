package workershed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seawall-go/seawall"
)

// flow is n requests in each slot of a tier, in every tick.
func flow(d *demand, c cut, n map[seawall.Tier]uint32, ticks int) {
	for range ticks {
		var t traffic
		for tier, n := range n {
			for slot := range slots {
				if c.share(tierOf(tier), slot) == 0 {
					t[tierOf(tier)][slot].Store(n)
				}
			}
		}
		d.update(&t, &c, tick)
	}
}

func share(d *demand, tier seawall.Tier) (sum float64) {
	for slot := range slots {
		sum += d.weight(tierOf(tier), slot)
	}
	return sum
}

func TestDemandIsWhatBegins(t *testing.T) {
	d := &demand{}
	assert.InDelta(t, 1./3, share(d, seawall.Read), 1e-9, "nothing is known")
	flow(d, cut{}, map[seawall.Tier]uint32{seawall.TestMode: 1, seawall.Read: 2, seawall.Write: 1, seawall.Critical: 9}, 1)
	assert.EqualValues(t, 13*slots, d.begun)
	assert.InDelta(t, 0.25, share(d, seawall.TestMode), 1e-6)
	assert.InDelta(t, 0.5, share(d, seawall.Read), 1e-6)
	assert.InDelta(t, 0.25, share(d, seawall.Write), 1e-6)
	flow(d, cut{}, map[seawall.Tier]uint32{seawall.Write: 1}, int(5*memory/tick))
	assert.Greater(t, share(d, seawall.Write), 0.98, "what was is forgotten")
}

// TestWhatIsOutChangesAsTheRest: callers that are out may repeat what is refused as often as they like.
func TestWhatIsOutChangesAsTheRest(t *testing.T) {
	d := &demand{}
	even := map[seawall.Tier]uint32{seawall.TestMode: 1, seawall.Read: 1, seawall.Write: 1, seawall.Critical: 1}
	flow(d, cut{}, even, 400)
	c := cut{}.of(0.5, d)
	before := *d
	flow(d, c, even, 400)
	all, _ := c.shed(d)
	assert.InDelta(t, 0.5, all, 0.01)
	assert.InDelta(t, before.sum, d.sum, 0.1*before.sum)
	for range 400 { // all of it three times as much
		flow(d, c, map[seawall.Tier]uint32{seawall.TestMode: 3, seawall.Read: 3, seawall.Write: 3, seawall.Critical: 3}, 1)
	}
	all, _ = c.shed(d)
	assert.InDelta(t, 0.5, all, 0.01, "those that are out would be three times as many, too")
	assert.InDelta(t, 3*before.sum, d.sum, 0.3*before.sum)
}

func TestNoTimeNoDemand(t *testing.T) {
	d := &demand{}
	flow(d, cut{}, map[seawall.Tier]uint32{seawall.Read: 7}, 10)
	d.update(&traffic{}, &cut{}, 0)
	assert.Zero(t, d.begun)
	assert.Greater(t, share(d, seawall.Read), 0.99, "what was known is known")
}

func TestTurnedIsOnceAroundInAPeriod(t *testing.T) {
	for now, want := range map[time.Duration]int{0: 0, time.Minute: 25, 5 * time.Minute: 128, 10*time.Minute - 1: 255, 10 * time.Minute: 0, 25 * time.Minute: 128} {
		assert.Equal(t, want, turned(now, 10*time.Minute), "%v", now)
	}
}
