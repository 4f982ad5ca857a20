package workershed

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

func callers(n int) []seawall.Key {
	keys := make([]seawall.Key, n)
	for i := range keys {
		keys[i] = seawall.NewKey("caller", strconv.Itoa(i))
	}
	return keys
}

func count(out []bool) (n int) {
	for _, o := range out {
		if o {
			n++
		}
	}
	return n
}

// drawDemand draws a traffic: of all tiers or some, spread evenly or over few slots.
func drawDemand(rnd *rand.Rand) *demand {
	d := &demand{}
	for tier := range sheddable {
		some := rnd.Float64()
		scale := math.Exp(6 * rnd.Float64())
		skew := 3 * rnd.Float64()
		for slot := range d.rate[tier] {
			if rnd.Float64() < some {
				d.rate[tier][slot] = scale * math.Pow(rnd.Float64()+1e-3, -skew)
				d.sum += d.rate[tier][slot]
			}
		}
	}
	return d
}

// shedBy is what a cut sheds.
func shedBy(c cut, d *demand) (float64, [tiers]float64) { return c.shed(d) }

func TestACutShedsTheShareOfTheTraffic(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		d, level := drawDemand(rnd), rnd.Float64()
		c := cut{turn: rnd.IntN(slots)}.of(level, d)
		all, byTier := shedBy(c, d)
		require.InDelta(t, level, all, heavy/2, "the level is the share of the traffic, whoever sends it")
		sum := 0.0
		for tier, share := range byTier {
			require.True(t, share >= 0 && share <= 1)
			weight := 0.0
			for slot := range slots {
				if tier < sheddable {
					weight += d.weight(tier, slot)
				}
			}
			sum += share * weight
			if tier > 0 && share > 0 {
				require.InDelta(t, 1, byTier[tier-1], 1e-9, "a tier begins when the one below is gone")
			}
		}
		require.InDelta(t, all, sum, 1e-9)
		require.Zero(t, byTier[tierOf(seawall.Critical)])
	}
}

func TestALightCutIsExactToASlot(t *testing.T) {
	d := &demand{}
	for level := 0.0; level <= 1; level += 1. / 4096 {
		all, _ := shedBy(cut{turn: 17}.of(level, d), d)
		require.InDelta(t, level, all, 1./(sheddable*slots)+1e-9)
	}
}

func TestTheEndsOfALevel(t *testing.T) {
	d := drawDemand(rand.New(rand.NewPCG(2, 2)))
	for _, level := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
		assert.Equal(t, cut{turn: 3}, cut{turn: 3, tier: 1, arc: 9, part: 0.5}.of(level, d), "%v", level)
	}
	for _, level := range []float64{1, 2, math.Inf(1)} {
		assert.Equal(t, cut{turn: 3, tier: sheddable}, cut{turn: 3}.of(level, d), "%v", level)
	}
}

func TestNobodyChangesSidesForNoise(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	d := &demand{}
	for tier := range sheddable {
		for slot := range slots {
			d.rate[tier][slot] = 1
			d.sum++
		}
	}
	c := cut{}.of(0.4, d)
	for range 1000 {
		noisy := *d
		noisy.sum = 0
		for tier := range sheddable {
			for slot := range slots {
				noisy.rate[tier][slot] = 0.5 + rnd.Float64()
				noisy.sum += noisy.rate[tier][slot]
			}
		}
		require.Equal(t, c, c.follow(0.4, 0.4, &noisy))
	}
	rising := c.follow(0.4, 0.41, d)
	assert.Greater(t, rising.arc, c.arc)
	falling := c.follow(0.4, 0.39, d)
	assert.Less(t, falling.arc, c.arc)
	assert.Equal(t, cut{}, c.follow(0.4, 0, d))

	for tier := range sheddable { // the callers that are out have gone
		for slot := range slots {
			d.sum -= d.rate[tier][slot] * c.share(tier, slot)
			d.rate[tier][slot] *= 1 - c.share(tier, slot)
		}
	}
	changed := c.follow(0.4, 0.4, d)
	shed, _ := shedBy(changed, d)
	assert.InDelta(t, 0.4, shed, 0.01, "what is more than noise counts")
}

// TestNobodyIsOutForLongerThanOneTurn has the level do as it likes as long as it sheds a tier in part.
func TestNobodyIsOutForLongerThanOneTurn(t *testing.T) {
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		d := &demand{}
		var out [slots]int
		c, level := cut{}, 0.5
		for step := range 4 * slots {
			before := level
			level = min(max(level+0.2*(rnd.Float64()-0.5), 1./3+1e-3), 2./3-1e-3) // reads, in part
			c.turn = step % slots
			c = c.follow(before, level, d)
			for slot := range slots {
				if out[slot]++; c.share(tierOf(seawall.Read), slot) == 0 {
					out[slot] = 0
				}
				require.LessOrEqual(t, out[slot], slots, "seed %d, slot %d", seed, slot)
			}
		}
	}
}

func TestAHeavySlotIsShedInPart(t *testing.T) {
	s := newQuiet(t, Config{Workers: 100})
	whale := seawall.NewKey("whale")
	d := &demand{}
	at := int(whale.Hash() % slots)
	d.rate[tierOf(seawall.Read)][at] = 100
	d.sum = 100
	s.verdict.Store(&verdict{cut: cut{}.of(0.3, d)})
	refused, run, longest := 0, 0, 0
	for range 1000 {
		res, ticket := handle(s, &seawall.Request{Key: whale, Tier: seawall.Read}, seawall.Enforce)
		s.Leave(ticket)
		if run++; res.Admitted {
			run = 0
		} else {
			refused++
		}
		longest = max(longest, run)
	}
	assert.InDelta(t, 300, refused, 5)
	assert.Equal(t, 1, longest, "spread evenly")
}

func TestNobodysRequestsAreSpread(t *testing.T) {
	s := newQuiet(t, Config{Workers: 100})
	s.setLevel(1. / 12) // a quarter of test mode
	run, longest, refused := 0, 0, 0
	for range 1000 {
		res, ticket := handle(s, &seawall.Request{Tier: seawall.TestMode}, seawall.Enforce)
		s.Leave(ticket)
		if run++; res.Admitted {
			run = 0
		} else {
			refused++
		}
		longest = max(longest, run)
	}
	assert.InDelta(t, 250, refused, 10)
	assert.Equal(t, 1, longest, "refusals come one by one")
}
