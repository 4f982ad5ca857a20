package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/workershed"
)

// tick is how often a shedder reads.
const tick = 250 * time.Millisecond

// long is an interval after which an exponential average is its last value, to the bit.
const long = time.Hour

// fixture is a copy of a tree of testdata that a test can change.
type fixture struct {
	t   testing.TB
	dir string
}

func load(t testing.TB, layout string) fixture {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", layout))))
	return fixture{t: t, dir: dir}
}

// system is the fixture as a machine with eight CPUs.
func (f fixture) system() System { return System{FS: os.DirFS(f.dir), CPUs: 8} }

// memory is the fixture's memory signal, in a process without GOMEMLIMIT.
func (f fixture) memory() workershed.Signal {
	return signal("memory", newMemoryReader(f.system().tree(), goShare{}).read)
}

// set writes a file.
func (f fixture) set(name, format string, args ...any) {
	f.t.Helper()
	name = filepath.Join(f.dir, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(f.t, os.WriteFile(name, fmt.Appendf(nil, format+"\n", args...), 0o600))
}

func (f fixture) remove(name string) {
	f.t.Helper()
	require.NoError(f.t, os.RemoveAll(filepath.Join(f.dir, name)))
}

// stat writes a cpu.stat of v2.
func (f fixture) stat(dir string, used time.Duration, periods, throttled int) {
	f.t.Helper()
	f.set(dir+"/cpu.stat", "usage_usec %d\nuser_usec 0\nsystem_usec 0\nnr_periods %d\nnr_throttled %d\nthrottled_usec 0",
		used.Microseconds(), periods, throttled)
}

// statV1 writes a cpu.stat of v1.
func (f fixture) statV1(dir string, periods, throttled int) {
	f.t.Helper()
	f.set(dir+"/cpu.stat", "nr_periods %d\nnr_throttled %d\nthrottled_time 0", periods, throttled)
}

// goShare is Go's own memory as a share of its limit.
type goShare struct{ is float64 }

func (g goShare) share() (float64, error) { return g.is, nil }

// read reads a signal, which must be possible.
func read(t testing.TB, s workershed.Signal, now time.Duration) float64 {
	t.Helper()
	u, err := s.Read(now)
	require.NoError(t, err)
	require.GreaterOrEqual(t, u, 0.0)
	require.LessOrEqual(t, u, 1.0)
	return u
}
