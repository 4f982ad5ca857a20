package cgroup

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/workershed"
)

func (f fixture) signals() map[string]workershed.Signal {
	return map[string]workershed.Signal{
		"cpu": f.system().CPU(), "throttling": f.system().Throttling(), "memory": f.memory(),
	}
}

// What is broken in one file is an error that names it, says what was read and what should have been, and is over when
// the file is as it was.
func TestErrorsNameTheFileAndPass(t *testing.T) {
	t.Parallel()
	const v1 = sys + "/cpu,cpuacct/"
	for _, tc := range []struct {
		layout, file, content string
		signals, want         string // want: what the error says beside the file, one by line
	}{
		{"v2-host", own + "/cpu.max", "banana", "cpu throttling", "read \"banana\"\nexpected \"max <period>\""},
		{"v2-host", own + "/cpu.max", "", "cpu throttling", "read \"\""},
		{"v2-host", own + "/cpu.max", "max", "cpu throttling", "read \"max\""},
		{"v2-host", own + "/cpu.max", "0 100000", "cpu throttling", "above 0"},
		{"v2-host", own + "/cpu.max", "-1 100000", "cpu throttling", "above 0"},
		{"v2-host", own + "/cpu.max", "100000 0", "cpu throttling", "above 0"},
		{"v2-host", own + "/cpu.max", "max 0", "cpu throttling", "above 0"},
		{"v2-host", own + "/cpu.max", "NaN 100000", "cpu throttling", "read \"NaN 100000\""},
		{"v2-host", own + "/cpu.max", "1 2 3", "cpu throttling", "read \"1 2 3\""},
		{"v2-host", own + "/cpu.stat", "user_usec 1", "cpu throttling", "expected a line"},
		{"v2-host", own + "/cpu.stat", "usage_usec x\nnr_periods -1\nnr_throttled 5", "cpu throttling", "expected a line"},
		{"v2-host", own + "/memory.max", "0", "memory", "read \"0\"\nabove 0"},
		{"v2-host", own + "/memory.max", "-1", "memory", "read \"-1\"\nabove 0"},
		{"v2-host", own + "/memory.current", "12 MB", "memory", "read \"12 MB\"\none whole number"},
		{"v2-host", own + "/memory.stat", "anon 1", "memory", "inactive_file <whole number>"},
		{"v2-host", own + "/memory.stat", "anon 1\ninactive_file", "memory", "inactive_file <whole number>"},
		{"v1-docker", v1 + "cpu.cfs_quota_us", "-2", "cpu throttling", "read \"-2\"\n-1 or a number"},
		{"v1-docker", v1 + "cpu.cfs_quota_us", "0", "cpu throttling", "read \"0\""},
		{"v1-docker", v1 + "cpu.cfs_period_us", "0", "cpu throttling", "above 0"},
		{"v1-docker", v1 + "cpu.cfs_period_us", "?", "cpu throttling", "read \"?\""},
		{"v1-docker", v1 + "cpuacct.usage", "-5", "cpu", "read \"-5\""},
		{"v1-docker", sys + "/memory/memory.limit_in_bytes", "0", "memory", "above 0"},
		{"v2-host", "proc/self/cgroup", "banana", "cpu throttling memory", "read \"banana\\n\"\n0::/<path>"},
		{"v2-host", "proc/self/cgroup", "0::relative", "cpu throttling memory", "0::/<path>"},
		{"v2-host", "proc/self/cgroup", "1:name=systemd:/", "cpu throttling memory", "expected a line \"0::/<path>\" of v2"},
		{
			"v2-host", "proc/self/cgroup", "1:cpu:/a\n2:memory:/a", "cpu throttling memory",
			"/proc/self/mountinfo: \nexpected a line with \" - cgroup \" and the option ",
		},
		{"v1-docker", "proc/self/cgroup", "1:cpu:/docker/4f1c\n2:memory:/docker/4f1c\n0::/", "cpu", "names cpuacct"},
		{"v2-host", "proc/self/mountinfo", "banana", "cpu throttling memory", "read \"banana\\n\"\n - cgroup2 \nmount it"},
		{"v2-host", "proc/self/mountinfo", "1 - cgroup2 x rw", "cpu throttling memory", "expected a line"},
	} {
		f := load(t, tc.layout)
		good, err := fs.ReadFile(f.system().FS, tc.file)
		require.NoError(t, err)
		f.set(tc.file, "%s", tc.content)
		for name, s := range f.signals() {
			if !strings.Contains(tc.signals, name) {
				continue
			}
			f.set(tc.file, "%s", tc.content)
			_, err := s.Read(0)
			if assert.Error(t, err, "%s: %s with %q", name, tc.file, tc.content) && !strings.Contains(tc.want, "mountinfo") {
				assert.ErrorContains(t, err, "/"+tc.file)
			}
			for want := range strings.SplitSeq(tc.want, "\n") {
				assert.ErrorContains(t, err, want, "%s with %q", tc.file, tc.content)
			}
			f.set(tc.file, "%s", strings.TrimSpace(string(good)))
			read(t, s, tick)
			// And broken after it was good.
			f.set(tc.file, "%s", tc.content)
			_, err = s.Read(tick + resolveAfter)
			assert.Error(t, err, "%s: %s with %q", name, tc.file, tc.content)
		}
	}
}

func TestFilesThatAreMissing(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]map[string]string{
		"v2-missing-files": {
			"cpu": sys + "/api/cpu.stat", "throttling": sys + "/api/cpu.stat", "memory": sys + "/api/memory.current",
		},
		"v2-garbage": {"cpu": sys + "/api/cpu.max", "throttling": sys + "/api/cpu.max", "memory": sys + "/api/memory.max"},
		"":           {"cpu": "proc/self/cgroup", "throttling": "proc/self/cgroup", "memory": "proc/self/cgroup"}, // macOS
	} {
		f := load(t, layout)
		if layout == "" {
			f.remove(".")
		}
		for name, s := range f.signals() {
			_, err := s.Read(0)
			require.Error(t, err)
			assert.ErrorContains(t, err, "cgroup: /"+want[name]+": ", name)
			assert.ErrorContains(t, err, "expected ", name)
			if layout != "v2-garbage" {
				assert.ErrorIs(t, err, fs.ErrNotExist)
			}
		}
	}
}

func TestTheGroupThatProcNamesIsMissing(t *testing.T) {
	t.Parallel()
	const mountinfo = "30 22 0:26 /other /bound rw - cgroup2 x rw\n31 22 0:26 / /cg rw - cgroup2 x rw"
	_, err := system("0::/gone", mountinfo, "cg/cpu.stat", "bound/cpu.stat").CPU().Read(0)
	assert.ErrorContains(t, err, `/cg/gone is missing; expected the group "/gone" of /proc/self/cgroup`)
}

func TestAQuotaWhoseTimeIsCountedElsewhere(t *testing.T) {
	t.Parallel()
	f := load(t, "v1-host-separate")
	f.set("proc/self/cgroup", "4:memory:/batch/api\n2:cpuacct:/\n1:cpu:/batch/api")
	_, err := f.system().CPU().Read(0)
	assert.ErrorContains(t, err, sys+"/cpu/batch has a quota")
	assert.ErrorContains(t, err, "expected the same group for cpu and cpuacct")
}

// forbidden is a tree in which a file may not even be looked at.
type forbidden struct {
	fs.FS
	name string
}

func (f forbidden) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Open(name)
}

func TestWhatMayNotBeReadIsNoMissingLimit(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	for file, signals := range map[string][]int{own + "/cpu.max": {0, 1}, own + "/memory.max": {2}, own: {0, 1, 2}} {
		s := f.system()
		s.FS = forbidden{s.FS, file}
		for _, i := range signals {
			_, err := s.Signals()[i].Read(0)
			assert.ErrorIs(t, err, fs.ErrPermission, file)
			assert.ErrorContains(t, err, "/"+file+": permission denied")
		}
	}
}

// onlySmall fails a test that reads on behind what a control file may hold.
type onlySmall struct {
	fs.FS
	t *testing.T
}

type smallFile struct {
	fs.File
	t    *testing.T
	read int
}

func (s onlySmall) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return &smallFile{File: f, t: s.t}, err
}

func (f *smallFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read += n
	assert.LessOrEqual(f.t, f.read, maxMountinfo+1)
	return n, err
}

func TestHugeFilesAreNotReadWhole(t *testing.T) {
	t.Parallel()
	huge := &fstest.MapFile{Data: []byte(strings.Repeat("0", 10<<20))}
	for _, name := range []string{"proc/self/cgroup", "proc/self/mountinfo", "cg/cpu.max", "cg/cpu.stat"} {
		tree := fstest.MapFS{
			"proc/self/cgroup":    {Data: []byte("0::/")},
			"proc/self/mountinfo": {Data: []byte("30 22 0:26 / /cg rw - cgroup2 x rw")},
			"cg/cpu.max":          {Data: []byte("1 1")},
			"cg/cpu.stat":         {Data: []byte("usage_usec 1")},
		}
		tree[name] = huge
		_, err := System{FS: onlySmall{FS: tree, t: t}}.CPU().Read(0)
		require.ErrorContains(t, err, "/"+name+": read \"000")
		require.ErrorContains(t, err, "expected at most ")
		assert.Less(t, len(err.Error()), 300)
	}
}
