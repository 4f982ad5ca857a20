package cgroup

import (
	"slices"
	"strings"
)

// mount is a hierarchy's place in the file tree: one line of /proc/self/mountinfo.
type mount struct {
	id, parent  string
	root        string   // the group that is seen at point
	point       string   // where
	fsType      string   // cgroup or cgroup2; empty is anything else
	controllers []string // v1's, among other options
}

// parseMounts returns the mounts of control groups that can be seen. Lines that it does not understand are those of other
// file systems, some of which write what they like, and are passed over.
func parseMounts(text string) []mount {
	type place struct{ parent, point string }
	var mounts []mount
	covered := map[place]bool{} // a mount whose parent is at the same point hides it
	for line := range strings.Lines(text) {
		m, ok := parseMount(strings.TrimSuffix(line, "\n"))
		if !ok {
			continue
		}
		if m.parent != m.id { // as the root of all mounts may say
			covered[place{m.parent, m.point}] = true
		}
		if m.fsType != "" {
			mounts = append(mounts, m)
		}
	}
	return slices.DeleteFunc(mounts, func(m mount) bool { return covered[place{m.id, m.point}] })
}

// parseMount reads one line:
//
//	30 23 0:26 /docker/4f /sys/fs/cgroup/cpu rw,nosuid shared:11 - cgroup cgroup rw,cpu,cpuacct
//
// that is id, parent, device, root, mount point, options, any number of other fields, a dash, type, source (which may
// be empty) and the hierarchy's options.
func parseMount(line string) (mount, bool) {
	head, tail, ok := strings.Cut(line, " - ")
	fields := strings.Fields(head)
	if !ok || len(fields) < 6 || !strings.HasPrefix(fields[4], "/") {
		return mount{}, false
	}
	m := mount{id: fields[0], parent: fields[1], root: unescape(fields[3]), point: unescape(fields[4])}
	fsType, rest, _ := strings.Cut(tail, " ")
	if fsType != "cgroup" && fsType != "cgroup2" {
		return m, true
	}
	_, options, ok := strings.Cut(rest, " ")
	if !ok || !strings.HasPrefix(m.root, "/") {
		return mount{}, false
	}
	m.fsType, m.controllers = fsType, strings.Split(options, ",")
	return m, true
}

// unescape undoes mountinfo's octal escapes: \040 is a blank.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := octal(s[i:]); ok {
			b.WriteByte(c)
			i += 3
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// octal returns the byte that s begins with as \ooo.
func octal(s string) (byte, bool) {
	if len(s) < 4 || s[0] != '\\' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[1:4]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n*8 + int(c-'0')
	}
	return byte(n), n <= 0xff
}
