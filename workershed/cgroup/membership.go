package cgroup

import (
	"slices"
	"strings"
)

// membership is which groups a process is in: the lines of /proc/self/cgroup.
type membership []memberLine

// memberLine is the process's group in one hierarchy.
type memberLine struct {
	controllers []string // of v1, such as cpu and cpuacct; none is v2
	path        string   // the group, from the root of its hierarchy or of the cgroup namespace
}

// parseMembership reads "7:cpu,cpuacct:/path" of v1 and "0::/path" of v2. Paths are as they are, with blanks and colons.
func parseMembership(text string) (membership, bool) {
	var m membership
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok || !strings.HasPrefix(path, "/") {
			return nil, false
		}
		switch {
		case controllers != "":
			m = append(m, memberLine{controllers: strings.Split(controllers, ","), path: path})
		case id == "0":
			m = append(m, memberLine{path: path})
		}
	}
	return m, true
}

// v1 returns the process's group for a controller that is on v1.
func (m membership) v1(controller string) (path string, ok bool) {
	i := slices.IndexFunc(m, func(l memberLine) bool { return slices.Contains(l.controllers, controller) })
	if i < 0 {
		return "", false
	}
	return m[i].path, true
}

// v2 returns the process's group on v2.
func (m membership) v2() (path string, ok bool) {
	i := slices.IndexFunc(m, func(l memberLine) bool { return len(l.controllers) == 0 })
	if i < 0 {
		return "", false
	}
	return m[i].path, true
}
