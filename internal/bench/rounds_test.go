package bench

import (
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// subject is what is measured beside others.
type subject struct {
	name string
	// round works for about d and returns figures, by what they measure. It fails its test if a result is not what the
	// set-up was to give.
	round func(d time.Duration) figures
}

// figures are those of a round, by what they measure.
type figures map[string]float64

// cost is the figure that most subjects have: what one of what they do takes.
const cost = "cost"

// series are the figures of all rounds, by subject.
type series map[string][]figures

// interleave has every subject work once in every round, in an order drawn from rnd: what disturbs the machine for a while
// disturbs all of them. A round before the first is not counted, unless there is only one. The order of a seed is always the
// same.
func interleave(rnd *rand.Rand, rounds int, d time.Duration, subjects ...subject) series {
	all := series{}
	for i := -min(1, rounds-1); i < rounds; i++ {
		for _, k := range rnd.Perm(len(subjects)) {
			tidy()
			f := subjects[k].round(d)
			if i >= 0 {
				all[subjects[k].name] = append(all[subjects[k].name], f)
			}
		}
	}
	return all
}

// tidy collects what one subject has left, or that is done while another works. With a million keys it would take longer than a
// round; those who are measured with so many allocate nothing.
func tidy() {
	const small = 64 << 20
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Uint64() < small {
		runtime.GC()
	}
}

// of is the spread of a subject's figures.
func (s series) of(name, what string) Spread { return spread(s.each(name, what)) }

// ratio is the spread of the ratios that two subjects' figures have within a round.
func (s series) ratio(what, a, b string) Spread {
	x, y := s.each(a, what), s.each(b, what)
	for i := range x {
		x[i] /= y[i]
	}
	return spread(x)
}

// more is the spread of what a subject's figure is more than another one's within a round.
func (s series) more(what, a, b string) Spread {
	x, y := s.each(a, what), s.each(b, what)
	for i := range x {
		x[i] -= y[i]
	}
	return spread(x)
}

// best is the least figure of some subjects, or the greatest if more is better.
func (s series) best(what string, more bool, names ...string) *Other {
	var best *Other
	for _, name := range names {
		f := s.of(name, what)
		if best == nil || more && f.Median > best.Figure.Median || !more && f.Median < best.Figure.Median {
			best = &Other{name, f}
		}
	}
	return best
}

func (s series) other(name, what string) *Other { return &Other{name, s.of(name, what)} }

func (s series) each(name, what string) []float64 {
	var x []float64
	for _, f := range s[name] {
		v, ok := f[what]
		if !ok {
			panic(name + " has no figure " + what)
		}
		x = append(x, v)
	}
	if len(x) == 0 {
		panic("there is no subject " + name)
	}
	return x
}

// times is a spread in another unit.
func (s Spread) times(f float64) Spread {
	return Spread{digits(s.Median * f), digits(s.Low * f), digits(s.High * f)}
}

// digits leaves a figure six digits: a record is for people, too.
func digits(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		panic(err) // a number that was formatted parses
	}
	return y
}

// spread is the median between the quartiles, interpolated.
func spread(x []float64) Spread {
	x = slices.Sorted(slices.Values(x))
	at := func(q float64) float64 {
		p := q * float64(len(x)-1)
		i := int(p)
		if i+1 == len(x) {
			return digits(x[i])
		}
		return digits(x[i] + (p-float64(i))*(x[i+1]-x[i]))
	}
	return Spread{at(0.5), at(0.25), at(0.75)}
}

// allocations are those of one call: the least of a few counts, since the process has other goroutines.
func allocations(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for range 2 {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

func TestSpread(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Spread{3, 2, 4}, spread([]float64{5, 1, 4, 2, 3}))
	assert.Equal(t, Spread{1.5, 1.25, 1.75}, spread([]float64{2, 1}))
	assert.Equal(t, Spread{7, 7, 7}, spread([]float64{7}))
	assert.Equal(t, Spread{0.123457, 0.123457, 0.123457}, spread([]float64{0.123456789}))
}

func TestInterleave(t *testing.T) {
	t.Parallel()
	play := func(seed uint64) (order string, s series) {
		subjectOf := func(name string, f float64) subject {
			n := 0.0
			return subject{name, func(d time.Duration) figures {
				assert.Equal(t, time.Second, d)
				order += name
				n++
				return figures{cost: f * n * n}
			}}
		}
		s = interleave(rand.New(rand.NewPCG(seed, 0)), 3, time.Second, subjectOf("a", 1), subjectOf("b", 10))
		return order, s
	}
	order, s := play(1)
	assert.Len(t, order, 8, "the first round warms up")
	for i := 0; i < 8; i += 2 {
		assert.ElementsMatch(t, []rune("ab"), []rune(order[i:i+2]), "each once in a round")
	}
	again, _ := play(1)
	assert.Equal(t, order, again)
	different := false
	for seed := range uint64(10) {
		o, _ := play(seed)
		different = different || o != order
	}
	assert.True(t, different, "the seed draws the order")

	require.Len(t, s["a"], 3)
	assert.Equal(t, Spread{9, 6.5, 12.5}, s.of("a", cost), "4, 9 and 16")
	assert.Equal(t, Spread{10, 10, 10}, s.ratio(cost, "b", "a"), "of one round to the other's same one")
	assert.Equal(t, Spread{81, 58.5, 112.5}, s.more(cost, "b", "a"))
	assert.Equal(t, "a", s.best(cost, false, "a", "b").Name)
	assert.Equal(t, "b", s.best(cost, true, "a", "b").Name)
	assert.Panics(t, func() { s.of("c", cost) })
	assert.Panics(t, func() { s.of("a", "weight") })
}
