package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/workershed/cgroup"
	"github.com/seawall-go/seawall/workershed/sim"
)

const sheddingPage = "shedding.md"

// grid is a table of shedding.md, which TestCommitted compares with what is played.
type grid struct {
	t    *testing.T
	rows [][]string
}

func gridOf(t *testing.T, name string) grid {
	t.Helper()
	_, rest, found := strings.Cut(pageOf(t, sheddingPage), "<!-- table: "+name+" -->")
	require.True(t, found, name)
	table, _, _ := strings.Cut(rest, "<!-- end -->")
	g := grid{t: t}
	for row := range strings.Lines(strings.TrimSpace(table)) {
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(row), "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		g.rows = append(g.rows, cells)
	}
	require.NotEmpty(t, g.rows, name)
	return g
}

// cell returns what stands in a column of the row that begins so.
func (g grid) cell(column string, begins ...string) string {
	g.t.Helper()
	for i, head := range g.rows[0] {
		if head != column {
			continue
		}
		for _, row := range g.rows[2:] {
			if strings.Join(row[:len(begins)], "|") == strings.Join(begins, "|") {
				return row[i]
			}
		}
	}
	require.Failf(g.t, "no such cell", "%s of %v", column, begins)
	return ""
}

// TestSheddingProse checks the figures that shedding.md states in sentences against its tables.
func TestSheddingProse(t *testing.T) {
	t.Parallel()
	sayf := func(format string, args ...any) {
		t.Helper()
		saysIn(t, sheddingPage, fmt.Sprintf(format, args...))
	}
	const (
		answered, p99, drained, turns = "critical in time", "their p99", "queue drained after", "reversals"
		queue, refused, back          = "longest queue", "refused", "all back after"
	)
	all := gridOf(t, "shedding-all").cell
	sayf("no shedder %s of the critical calls are answered in time, and the queue is still there when the run ends.",
		all(answered, threefold, unshed))
	assert.Equal(t, "never", all(drained, threefold, unshed))
	sayf("With the defaults it is %s, and the queue has drained after %s.", all(answered, threefold, defaults), all(drained, threefold, defaults))
	sayf("With Stripe's constants alone it is %s; with the hard cap beside them %s, while the queue takes %s.",
		all(answered, threefold, stripe), all(answered, threefold, preset), all(drained, threefold, preset))
	const spike = "10 s spike"
	sayf("their level turns %s times, and the cap alone makes %s of %s.",
		all(turns, spike, preset), all(answered, spike, preset), all(answered, spike, stripe))
	sayf("With one threshold critical calls are answered just as well. It turns %s times with 1.5x, the level once;", all(turns, mild, bangBang))
	assert.Equal(t, all(answered, mild, defaults), all(answered, mild, bangBang))
	sayf("the last time %s after the overload, when the run ends.", all(back, mild, bangBang))
	assert.Equal(t, "1", all(turns, mild, defaults))
	sayf("After 1.5x the last request is refused %s after the overload has ended.", all(back, mild, defaults))
	sayf("defaults refuse %s where bang-bang refuses %s.", all(refused, mild, defaults), all(refused, mild, bangBang))
	for _, s := range []string{unshed, bangBang, stripe, preset, defaults, logOnly} {
		sayf("with \"nothing sheddable\" %s is answered in time, with every shedder and without.", all(answered, "nothing sheddable", s))
	}
	assert.Equal(t, "0s", all(back, "nothing sheddable", defaults), "nobody is refused for it afterwards")
	sayf("the defaults take %s until it has first drained.", all(drained, "half lost", defaults))
	sayf("Without a shedder %s of the critical calls are answered in time, with it %s.",
		all(answered, "half lost", unshed), all(answered, "half lost", defaults))
	const polite = "polite retries"
	sayf("log-only tells %s where enforcement refuses %s.",
		all(refused, sim.ImpatientClients, logOnly), all(refused, sim.ImpatientClients, defaults))
	sayf("with %s it tells %s where enforcement refuses %s.", polite, all(refused, polite, logOnly), all(refused, polite, defaults))

	size := gridOf(t, "shedding-workers").cell
	sayf("Told half of its workers, it refuses %s of a load that it could serve.", size("refused at 0.6×", "20"))
	assert.Equal(t, "0.0 %", size("refused at 0.6×", "40"))
	sayf("In the table, %s is suggested to who says 20, and %s to who says 30.", size("suggested at 3×", "20"), size("suggested at 3×", "30"))
	sayf("p99 of critical calls is %s instead of %s, and up to %s requests wait instead of %s.",
		size(p99, "80"), size(p99, "40"), size(queue, "80"), size(queue, "40"))
	sayf("Told four times, %s wait.", size(queue, "160"))

	var writes float64
	_, err := fmt.Sscanf(gridOf(t, "shedding-tiers").cell("write", mild, defaults), "%f", &writes)
	require.NoError(t, err)
	sayf("the level keeps %.1f %% of the writes at 1.5×.", 100-writes)
}

// TestLogOnlyIsWithinFivePercent is what shedding.md says of its table.
func TestLogOnlyIsWithinFivePercent(t *testing.T) {
	t.Parallel()
	rows := gridOf(t, "shedding-log-only").rows[2:]
	assert.Len(t, rows, len(sim.Scenarios())-2, "all but those in which nothing can be refused")
	for _, row := range rows {
		var off float64
		_, err := fmt.Sscanf(strings.Replace(row[3], "−", "-", 1), "%f", &off)
		require.NoError(t, err, row)
		if row[0] != sim.ImpatientClients {
			assert.InDelta(t, 0, off, 5, row)
		} else {
			assert.Greater(t, off, 5.0, row)
		}
	}
}

// TestScenariosAreTold looks for a description of each.
func TestScenariosAreTold(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(pageOf(t, sheddingPage), "| scenario | what happens |\n|---|---|\n")
	require.True(t, found)
	described, _, _ := strings.Cut(rest, "\n\n")
	var told, played []string
	for row := range strings.Lines(described) {
		told = append(told, strings.Split(strings.Split(row, "|")[1], ",")...)
	}
	for i := range told {
		told[i] = strings.TrimSpace(told[i])
	}
	for _, sc := range sim.Scenarios() {
		played = append(played, strings.Split(sc.Name, ", ")...) // one has a comma in its name
	}
	assert.ElementsMatch(t, played, told)
	assert.Len(t, sim.Scenarios(), 17, "the headline says so")
}

// TestMetricsOfThePageExist compares the names in shedding.md with those that are exported.
func TestMetricsOfThePageExist(t *testing.T) {
	t.Parallel()
	code := ""
	files, err := filepath.Glob(filepath.Join(root, "middleware/telemetry/*.go"))
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			code += string(b)
		}
	}
	names := regexp.MustCompile(`seawall_[a-z_]+`).FindAllString(pageOf(t, sheddingPage), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.Contains(t, code, `"`+name+`"`)
	}
}

// TestSheddingSignals compares the table of signals with those of package cgroup.
func TestSheddingSignals(t *testing.T) {
	t.Parallel()
	for _, s := range cgroup.Signals() {
		saysIn(t, sheddingPage, "| `"+s.Name+"` | ")
	}
}

// TestSheddingCode compares the code of shedding.md with the examples that go test runs.
func TestSheddingCode(t *testing.T) {
	t.Parallel()
	for _, e := range sheddingCode() {
		code, err := e.code()
		require.NoError(t, err)
		assert.Contains(t, code, "// Output:", "go test compiles an example without, but does not run it")
		saysIn(t, sheddingPage, code)
	}
}

func TestCodeOfAnExampleThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := example{"workershed/example_test.go", "ExampleNone"}.code()
	require.EqualError(t, err, "workershed/example_test.go has no function ExampleNone")
	_, err = example{"workershed/none_test.go", "Example"}.code()
	require.ErrorIs(t, err, os.ErrNotExist)
}
