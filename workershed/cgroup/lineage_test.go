package cgroup

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/workershed"
)

// system makes a System of a membership, mounts, and files that all hold "1".
func system(membership, mountinfo string, files ...string) System {
	tree := fstest.MapFS{
		"proc/self/cgroup":    {Data: []byte(membership)},
		"proc/self/mountinfo": {Data: []byte(mountinfo)},
	}
	for _, name := range files {
		tree[name] = &fstest.MapFile{Data: []byte("1\n")}
	}
	return System{FS: tree}
}

// dirs are where the groups of a lineage are.
func dirs(t *testing.T, s System, controller string) []string {
	t.Helper()
	found, err := s.tree().lineage(controller)
	require.NoError(t, err)
	names := make([]string, 0, len(found.groups))
	for _, g := range found.groups {
		names = append(names, g.dir)
	}
	return names
}

func TestLineage(t *testing.T) {
	t.Parallel()
	const named = "30 22 0:26 / /sys/cg/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	for name, tc := range map[string]struct {
		membership, mountinfo string
		files, want           []string
	}{
		"a mount below the root": {
			"0::/a/b/c", "30 22 0:26 /a/b /cg rw - cgroup2 cgroup2 rw",
			[]string{"cg/c/x"},
			[]string{"/cg/c", "/cg"},
		},
		"the mount that shows most parents": {
			"0::/a/b/c", "30 22 0:26 /a/b/c /one rw - cgroup2 x rw\n31 22 0:26 / /two rw - cgroup2 x rw\n" +
				"32 22 0:26 /a /three rw - cgroup2 x rw",
			[]string{"one/x", "two/a/b/c/x", "three/b/c/x"},
			[]string{"/two/a/b/c", "/two/a/b", "/two/a", "/two"},
		},
		"a bind mount of another group comes first": {
			"0::/a", "30 22 0:26 /other /bound rw - cgroup2 x rw\n31 22 0:26 / /cg rw - cgroup2 x rw",
			[]string{"bound/x", "cg/a/x"},
			[]string{"/cg/a", "/cg"},
		},
		"a group whose name begins like the root": {
			"0::/ab/c", "30 22 0:26 /a /one rw - cgroup2 x rw", []string{"one/x"}, []string{"/one"},
		},
		"a mount that another covers": {
			"0::/a", "30 30 0:26 / /cg rw - cgroup2 x rw\n31 30 0:26 /a /cg rw - cgroup2 x rw",
			[]string{"cg/a/x"},
			[]string{"/cg"},
		},
		"a mount that is its own parent, and a line of one that is broken": {
			"0::/a", "30 30 0:26 / /cg rw - cgroup2 x rw\n31 22 - cgroup2 x rw", []string{"cg/a/x"}, []string{"/cg/a", "/cg"},
		},
		"a mount below a directory that another covers": {
			"0::/a", "30 22 0:26 / /hidden/cg rw - cgroup2 x rw\n31 22 0:26 /a /cg rw - cgroup2 x rw",
			[]string{"cg/x"},
			[]string{"/cg"},
		},
		"outside of the namespace": {
			"0::/../other", "30 22 0:26 / /cg rw - cgroup2 x rw", []string{"cg/x"}, []string{"/cg"},
		},
		"outside of the namespace, mounted from there": {
			"0::/../other", "30 22 0:26 /.. /cg rw - cgroup2 x rw", []string{"cg/other/x"}, []string{"/cg/other", "/cg"},
		},
		"a mount from outside of the namespace comes first": {
			"0::/", "30 22 0:26 /../.. /out rw - cgroup2 x rw\n62 22 0:26 / /cg rw - cgroup2 x rw",
			[]string{"out/x", "cg/x"},
			[]string{"/cg"},
		},
		"above what is mounted": {
			"0::/../..", "30 22 0:26 /.. /cg rw - cgroup2 x rw", []string{"cg/x"}, []string{"/cg"},
		},
		"v1 by controller, among hierarchies without": {
			"1:name=systemd:/wrong\n9:memory:/wrong\n4:cpuacct,cpu:/a\n0::/wrong",
			named + "31 22 0:27 / /cg/memory rw - cgroup cgroup rw,memory\n32 22 0:28 / /cg/cpu rw - cgroup cgroup rw,cpuacct,cpu\n" +
				"33 22 0:29 / /cg/set rw - cgroup cgroup rw,cpuset\n34 22 0:30 / /cg/v2 rw - cgroup2 cgroup2 rw",
			[]string{"cg/cpu/a/x", "cg/v2/wrong/x", "cg/memory/wrong/x"},
			[]string{"/cg/cpu/a", "/cg/cpu"},
		},
		"v2 beside v1 hierarchies without the controller": {
			"1:name=systemd:/wrong\n2:cpuset:/wrong\n0::/a", named + "34 22 0:30 / /cg/v2 rw - cgroup2 cgroup2 rw",
			[]string{"cg/v2/a/x"},
			[]string{"/cg/v2/a", "/cg/v2"},
		},
		"colons, blanks and what looks like an escape": {
			"0::/a:b/c d/\\040", "30 22 0:26 / /c\\040g\\134x rw a:1 b:2 - cgroup2  rw", // without a source
			[]string{`c g\x/a:b/c d/\040/x`}, []string{`/c g\x/a:b/c d/\040`, `/c g\x/a:b/c d`, `/c g\x/a:b`, `/c g\x`},
		},
		"lines of other file systems that are broken": {
			"0::/", "nonsense\n\n77 22 0:9 / /d rw - 9p drvfs rw,path=C:\\Program Files\\Docker\n30 22 0:26 / /cg rw - cgroup2 x rw",
			[]string{"cg/x"},
			[]string{"/cg"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, dirs(t, system(tc.membership, tc.mountinfo, tc.files...), "cpu"))
		})
	}
}

func TestProcElsewhere(t *testing.T) {
	t.Parallel()
	s := System{Proc: "/host/proc", FS: fstest.MapFS{
		"host/proc/self/cgroup":    {Data: []byte("0::/a\n")},
		"host/proc/self/mountinfo": {Data: []byte("30 22 0:26 / /host/cg rw - cgroup2 x rw\n")},
		"host/cg/a/cpu.stat":       {Data: []byte("usage_usec 1\n")},
	}}
	assert.Equal(t, []string{"/host/cg/a", "/host/cg"}, dirs(t, s, "cpu"))
}

func TestAProcessThatIsMovedIsFoundAgain(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	memory, cpu := f.memory(), f.system().CPU()
	require.InDelta(t, memoryCurve().at(.5), read(t, memory, 0), 1e-9)
	read(t, cpu, 0)

	const moved = sys + "/moved"
	f.set("proc/self/cgroup", "0::/moved")
	f.set(moved+"/memory.max", "1000")
	f.set(moved+"/memory.current", "925")
	f.set(moved+"/memory.stat", "inactive_file 0")
	f.set(moved+"/cpu.max", "400000 100000")
	f.stat(moved, 900*time.Second, 1, 1)

	assert.InDelta(t, memoryCurve().at(.5), read(t, memory, 10*time.Second-1), 1e-9, "paths are kept")
	assert.InDelta(t, .85, read(t, memory, 10*time.Second), 1e-9)

	before := read(t, cpu, resolveAfter)
	f.stat(moved, 900*time.Second+2*long, 1, 1)
	assert.Zero(t, before, "the counter of another group is no rate")
	assert.InDelta(t, linear(.5), read(t, cpu, resolveAfter+long), 1e-9)
}

func TestAGroupThatVanishesIsLookedForAtOnce(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	signals := []workershed.Signal{f.system().CPU(), f.system().Throttling(), f.memory()}
	for _, s := range signals {
		read(t, s, 0)
	}
	f.remove(own)
	f.set("proc/self/cgroup", "0::/moved")
	for file, content := range map[string]string{
		"memory.max": "1000", "memory.current": "925", "memory.stat": "inactive_file 0", "cpu.max": "400000 100000",
	} {
		f.set(sys+"/moved/"+file, "%s", content)
	}
	f.stat(sys+"/moved", time.Second, 1, 1)
	for _, s := range signals {
		_, err := s.Read(tick)
		assert.ErrorContains(t, err, "/"+own, s.Name)
		read(t, s, 2*tick)
	}
	assert.InDelta(t, .85, read(t, signals[2], 3*tick), 1e-9)
}

func TestAControllerThatIsAddedIsFound(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-unlimited")
	memory := f.memory()
	require.Zero(t, read(t, memory, 0))
	dir := sys + "/user.slice/session-1.scope/"
	f.set(dir+"memory.max", "1000")
	f.set(dir+"memory.current", "925")
	f.set(dir+"memory.stat", "inactive_file 0")
	assert.InDelta(t, .85, read(t, memory, resolveAfter), 1e-9)
}

func TestMountinfoOfAHostWithManyMounts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for range 15_000 {
		b.WriteString("900 22 0:99 / /var/lib/kubelet/pods/0b5a/volumes/kubernetes.io~projected/kube-api-access-x rw shared:9 " +
			"- tmpfs t rw\n")
	}
	b.WriteString("30 22 0:26 / /cg rw - cgroup2 x rw\n")
	assert.Equal(t, []string{"/cg/a", "/cg"}, dirs(t, system("0::/a", b.String(), "cg/a/x"), "cpu"))
}
