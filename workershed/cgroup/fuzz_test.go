package cgroup

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzFiles puts the same text into every place that is parsed.
func FuzzFiles(f *testing.F) {
	layouts, err := filepath.Glob("testdata/*/proc/self")
	if err != nil || len(layouts) == 0 {
		f.Fatal(layouts, err)
	}
	var kept []string
	for _, dir := range layouts {
		for _, name := range []string{"cgroup", "mountinfo"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				f.Fatal(err)
			}
			kept = append(kept, string(b))
		}
	}
	for i := 0; i+1 < len(kept); i += 2 {
		f.Add(kept[i], kept[i+1], "max 100000")
	}
	f.Add("0::/../..", "30 22 0:26 /.. /c\\040g rw - cgroup2  rw", "usage_usec 5\ninactive_file 7")
	f.Add("1:cpu:/\n2:cpuacct:/", "1 1 0:1 / / rw - cgroup cgroup cpu,cpuacct", "-1")
	f.Fuzz(func(t *testing.T, membership, mountinfo, content string) {
		if cpus, ok := parseCPUMax(content); ok && !(cpus > 0 && !math.IsInf(cpus, 0)) {
			t.Fatalf("%q is a quota of %v", content, cpus)
		}
		for _, v1 := range []bool{false, true} {
			if limit, limited, ok := parseMemoryLimit(content, v1); limited && (!ok || limit == 0) {
				t.Fatalf("%q is a limit of %d", content, limit)
			}
		}
		m, _ := parseMembership(membership)
		for _, line := range m {
			if !strings.HasPrefix(line.path, "/") {
				t.Fatalf("%q has the path %q", membership, line.path)
			}
			for _, mount := range parseMounts(mountinfo) {
				groups := groupsIn(mount, line.path)
				if last := groups[len(groups)-1]; last.dir != mount.point {
					t.Fatalf("the parents of %q end at %q, not where it is mounted, %q", line.path, last.dir, mount.point)
				}
				if rel, ok := relative(mount.root, line.path); ok && slices.Contains(rel, "..") {
					t.Fatalf("%q is above %q", line.path, mount.root)
				}
			}
		}

		tree := fstest.MapFS{
			"proc/self/cgroup":    {Data: []byte(membership)},
			"proc/self/mountinfo": {Data: []byte(mountinfo)},
		}
		for _, name := range []string{
			"cpu.max", "cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage", "memory.max", "memory.current",
			"memory.stat", "memory.limit_in_bytes", "memory.usage_in_bytes",
		} {
			tree["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(content)}
		}
		for _, s := range (System{FS: tree}).Signals() {
			for i := range 3 {
				if u, err := s.Read(tick << i); err == nil && !(u >= 0 && u <= 1) {
					t.Fatalf("%s is %v", s.Name, u)
				}
			}
		}
	})
}
