package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheCommittedRecord is whole, and written as Marshal does.
func TestTheCommittedRecord(t *testing.T) {
	t.Parallel()
	rec, err := Measured()
	require.NoError(t, err)
	text, err := rec.Marshal()
	require.NoError(t, err)
	assert.Equal(t, string(committed), string(text))
	whole(t, rec)
	assert.GreaterOrEqual(t, rec.Rounds, 7)
	assert.GreaterOrEqual(t, rec.RoundMs, 50)
}

// TestTargets are those of the design: a line that is lost, or a target that is weaker, is no better figure.
func TestTargets(t *testing.T) {
	t.Parallel()
	want := map[string]float64{
		"decision-10k": 0.6, "decision-10k-allocs": 0, "decision-1m": 0.6, "decision-1m-allocs": 0, "redis-three-noop": 1.5,
		"redis-three-separate": 0.42, "redis-one": 1.05, "redis-crowd-one": 2.5, "redis-crowd-three": 1.5, "redis-cpu-alone": 1.45,
		"redis-cpu-batch": 1.15, "echo-ns": 1200, "echo-allocs": 3, "deny-ns": 200, "deny-commands": 0, "memory": 24,
		"memory-hash": 0.75, "frozen-before": 8, "frozen-after": 0.3, "frozen-served": 100, "fleet": 1.2, "cores-bucket": 0.35,
		"cores-three": 0.7, "process-spin": 0.95, "process-sleep": 0.95, "process-redis-p99": 1,
	}
	more := []string{"redis-crowd-one", "redis-crowd-three", "frozen-served", "process-spin", "process-sleep"}
	got := map[string]float64{}
	for _, target := range Targets() {
		if target.Want == None {
			continue
		}
		got[target.Name] = target.Value
		wanted := AtMost
		for _, name := range more {
			if name == target.Name {
				wanted = AtLeast
			}
		}
		assert.Equal(t, wanted, target.Want, target.Name)
	}
	assert.Equal(t, want, got)
}

func TestReached(t *testing.T) {
	t.Parallel()
	ratio := func(x float64) *Spread { return &Spread{Median: x, Low: x / 2, High: 2 * x} }
	half := Target{Name: "x", Unit: "ns", To: "a peer", Want: AtMost, Value: 0.5}
	assert.True(t, half.Reached(Line{Name: "x", Ratio: ratio(0.5)}))
	assert.False(t, half.Reached(Line{Name: "x", Ratio: ratio(0.501)}), "nothing is rounded in its favour")
	assert.False(t, half.Reached(Line{Name: "x", Ours: Spread{Median: 0.1}}), "the figure is no ratio")
	assert.False(t, half.Reached(Line{Name: "y", Ratio: ratio(0.5)}), "another line")
	twice := Target{Name: "x", To: "a peer", Want: AtLeast, Value: 2}
	assert.True(t, twice.Reached(Line{Name: "x", Ratio: ratio(2)}))
	assert.False(t, twice.Reached(Line{Name: "x", Ratio: ratio(1.999)}))
	figure := Target{Name: "x", Want: AtMost, Value: 0}
	assert.True(t, figure.Reached(Line{Name: "x"}))
	assert.False(t, figure.Reached(Line{Name: "x", Ours: Spread{Median: 1}}))
	assert.False(t, Target{Name: "x"}.Reached(Line{Name: "x"}), "without a target nothing is reached")
}

func TestTable(t *testing.T) {
	t.Parallel()
	rec := Record{Lines: []Line{
		{
			Name: "decision-10k", Ours: Spread{40.4, 39, 44}, Peer: &Other{sethvargo, Spread{Median: 101}},
			Limit: &Other{atomicAdd, Spread{Median: 9.5}}, Ratio: &Spread{0.4, 0.38, 0.41}, Note: "so said",
		},
		{Name: "echo-ns", Ours: Spread{1300, 1250, 1400}},
		{Name: "shedder", Ours: Spread{Median: 3}, Ratio: &Spread{1, 1, 1}},
	}}
	rows := Table(rec)
	assert.Equal(t, []string{"work", "ours", "best peer", "limit", "ratio", "target", "ok"}, rows[0])
	require.Len(t, rows, 1+len(Targets()))
	assert.Equal(t, []string{
		"in process: one bucket, 10 k keys, 2 goroutines (so said)", "40.4 ns", "101 ns, sethvargo/go-limiter", "9.50 ns, atomic add",
		"0.400 (0.380–0.410) of sethvargo/go-limiter", "≤ 0.6×", "yes",
	}, rows[1])
	assert.Equal(t, []string{"the same, allocations", "not measured", "", "", "", "≤ 0", "no"}, rows[2])
	for _, row := range rows {
		if strings.HasPrefix(row[0], "Echo") {
			assert.Equal(t, []string{"1300 ns (1250–1400)", "", "", "", "≤ 1200 ns", "no"}, row[1:])
		}
		if strings.HasPrefix(row[0], "shedder") {
			assert.Equal(t, []string{"3 ns", "", "", "1 of the best peer", "", ""}, row[1:])
		}
	}
	assert.Equal(t, "1 of 26 lines reach their target", Sum(rec))
	text := strings.Split(Text([][]string{{"a", "µs", "c"}, {"long", "b", ""}}), "\n")
	assert.Equal(t, []string{"a     µs  c", "long  b", ""}, text)
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	curve := func(costs ...float64) Curve {
		c := Curve{By: "keys", Unit: "ns"}
		for i, n := range []int{1, 10, 1000}[:len(costs)] {
			c.Points = append(c.Points, Point{n, Spread{Median: costs[i]}})
		}
		return c
	}
	assert.Equal(t, "constant: 1.10 times from 1 to 1 k", curve(100, 130, 110).Growth())
	assert.Equal(t, "linear: 99 ns + 1 ns each; 11.0 times from 1 to 1 k", curve(100, 109, 1099).Growth())
	assert.Equal(t, "logarithmic: 100 ns more for ten times as many; 4 times from 1 to 1 k", curve(100, 200, 400).Growth())
	assert.Equal(t, "falls: 0.200 times from 1 to 1 k", curve(100, 50, 20).Growth())
	assert.Equal(t, "2 M", Short(2_000_000))
	assert.Equal(t, "1500", Short(1500))
}

func TestScale(t *testing.T) {
	t.Parallel()
	p := Primary{CPU: Spread{Median: 10}}
	assert.InDelta(t, 100_000, p.PerSecond(), 1e-6)
	assert.InDelta(t, 0.5, p.Cores(50_000), 1e-9)
	assert.Equal(t, 1, p.Shards(50_000, 0.5))
	assert.Equal(t, 100, p.Shards(5_000_000, 0.5))
	assert.Equal(t, "fits: 0.500 of a core, of 0.5 that it may take", p.Fits(50_000, 0.5))
	p.CPU.Median = 16
	assert.Equal(t, "does not fit: 0.800 of a core, 0.300 more than the 0.5 that it may take; "+
		"it would with 10 µs a decision instead of 16, or on 2 shards", p.Fits(50_000, 0.5))
}
