package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordEnv names the environment variable with the file that a long run writes its record into.
const recordEnv = "SEAWALL_BENCH_RECORD"

// stagesEnv names the environment variable with the stages to run, if not all: then nothing is written.
const stagesEnv = "SEAWALL_BENCH_STAGES"

// seed draws the order within the rounds.
const seed = 2026

// bench is a run of all stages.
type bench struct {
	pace pace
	rnd  *rand.Rand
	rec  Record
}

// stages are what is measured, each by itself.
func (b *bench) stages() []stage {
	return []stage{
		{"in process", b.inProcess},
		{"shedders", b.shedders},
		{"Echo", b.echo},
		{"one caller on Redis", b.alone},
		{"a crowd on Redis", b.crowd},
		{"time in scripts", b.scripts},
		{"deny cache", b.denyCache},
		{"memory of Redis", b.memory},
		{"a core of Redis", b.cores},
		{"growth", b.growth},
		{"frozen", b.frozen},
		{"whole process", b.process},
		{"fleet", b.fleet},
	}
}

type stage struct {
	name string
	run  func(t *testing.T)
}

// line notes what was measured.
func (b *bench) line(l Line) { b.rec.Lines = append(b.rec.Lines, l) }

// TestBench measures everything. The short run, which is an ordinary test, asserts that every stage is set up as it should be
// and fills its lines; its times mean nothing. The long one writes the record, unless a stage has failed.
func TestBench(t *testing.T) {
	b := &bench{pace: thePace(), rnd: rand.New(rand.NewPCG(seed, 0))}
	b.rec = Record{
		Machine:    fmt.Sprintf("%d processors, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()),
		Processors: runtime.GOMAXPROCS(0), Seed: seed, Rounds: b.pace.rounds, RoundMs: int(b.pace.round.Milliseconds()),
		Versions: versions(t),
	}
	began, only := time.Now(), os.Getenv(stagesEnv)
	skipped := only != ""
	for _, s := range b.stages() {
		if only != "" && !strings.Contains(only, s.name) {
			continue
		}
		since := time.Now()
		ok := t.Run(s.name, func(t *testing.T) {
			t.Cleanup(func() { skipped = skipped || t.Skipped() })
			s.run(t)
		})
		runtime.GC() // what the stage has left is not the next one's
		if long() {
			fmt.Fprintf(os.Stderr, "%s: %.0f s\n", s.name, time.Since(since).Seconds())
		}
		if !ok {
			t.Fatalf("the stage %q is not set up as it should be; nothing is written", s.name)
		}
	}
	b.rec.Minutes = round(time.Since(began).Minutes())
	t.Log("\n" + Text(Table(b.rec)) + Sum(b.rec))
	if skipped {
		t.Log("not all stages have run, so the record is not whole; nothing is written")
		return
	}
	whole(t, b.rec)
	if path := os.Getenv(recordEnv); long() && path != "" && !t.Failed() {
		out, err := b.rec.Marshal()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, out, 0o644))
	}
}

// whole asserts that a record has what the document shows.
func whole(t *testing.T, rec Record) {
	t.Helper()
	var want, got []string
	for _, target := range Targets() {
		want = append(want, target.Name)
		l, ok := rec.Line(target.Name)
		assert.Equal(t, ok && target.To != "", l.Ratio != nil, "%s: a ratio is what the target is of", target.Name)
		assert.NotEmpty(t, target.Work)
	}
	for _, l := range rec.Lines {
		got = append(got, l.Name)
	}
	assert.ElementsMatch(t, want, got, "every target has one line")
	assert.Len(t, rec.Versions, 9)
	assert.NotEmpty(t, rec.Everybody)
	assert.NotEmpty(t, rec.Shedders)
	assert.NotEmpty(t, rec.Echo)
	assert.Len(t, rec.Scale, 4)
	for _, c := range rec.Growth {
		assert.GreaterOrEqual(t, len(c.Points), 3, c.By)
	}
	assert.NotEmpty(t, rec.Growth)
	assert.NotEmpty(t, rec.Process)
}

// versions are those of the peers, by go.mod: a test binary does not know what it is built with.
func versions(t *testing.T) []Version {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	var all []Version
	for _, path := range []string{
		"golang.org/x/time", "github.com/sethvargo/go-limiter", "github.com/ulule/limiter/v3", "github.com/throttled/throttled/v2",
		"github.com/labstack/echo/v4", "github.com/go-chi/httprate", "github.com/go-redis/redis_rate/v10",
		"github.com/failsafe-go/failsafe-go", "github.com/zeromicro/go-zero",
	} {
		_, rest, ok := strings.Cut(string(text), "\t"+path+" ")
		require.True(t, ok, "go.mod does not require %s", path)
		version, _, _ := strings.Cut(rest, "\n")
		all = append(all, Version{strings.TrimPrefix(path, "github.com/"), strings.TrimSuffix(version, " // indirect")})
	}
	return all
}

func round(x float64) float64 { return float64(int(x*10+0.5)) / 10 }
