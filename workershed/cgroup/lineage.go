package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// lineage is where one controller's files of this process are: its own group first, then its parents up to the mount point.
type lineage struct {
	v1     bool
	groups []group
}

// group is one control group.
type group struct {
	path string // within its hierarchy
	dir  string // within the file tree
}

// file is the name of one of a group's files.
func (g group) file(name string) string { return path.Join(g.dir, name) }

// lineage finds the groups for a controller.
func (t tree) lineage(controller string) (lineage, error) {
	own, v1, err := t.member(controller)
	if err != nil {
		return lineage{}, err
	}
	fsType := "cgroup2"
	if v1 {
		fsType = "cgroup"
	}
	groups, err := t.groups(fsType, controller, own)
	return lineage{v1: v1, groups: groups}, err
}

// member returns the process's group for a controller, on v1 if that has it and on v2 otherwise.
func (t tree) member(controller string) (own string, v1 bool, err error) {
	name := t.inProc("cgroup")
	b, err := t.read(name, maxControlFile)
	if err != nil {
		return "", false, err
	}
	m, ok := parseMembership(string(b))
	if !ok {
		return "", false, unexpected(name, string(b), `lines such as "0::/<path>" or "4:cpu,cpuacct:/<path>"`)
	}
	if own, ok := m.v1(controller); ok {
		return own, true, nil
	}
	if own, ok := m.v2(); ok {
		return own, false, nil
	}
	return "", false, unexpected(name, string(b), `a line "0::/<path>" of v2, or one of v1 that names `+controller)
}

// groups finds the group own and its parents, in v2 (cgroup2) or in the hierarchy of v1 that has the controller (cgroup).
func (t tree) groups(fsType, controller, own string) ([]group, error) {
	name := t.inProc("mountinfo")
	b, err := t.read(name, maxMountinfo)
	if err != nil {
		return nil, err
	}
	mounts := slices.DeleteFunc(parseMounts(string(b)), func(m mount) bool {
		return m.fsType != fsType || fsType == "cgroup" && !slices.Contains(m.controllers, controller)
	})
	if len(mounts) == 0 {
		want := fmt.Sprintf("a line with \" - %s \"", fsType)
		if fsType == "cgroup" {
			want += " and the option " + controller
		}
		return nil, unexpected(name, string(b), want+" (a mount of the hierarchy; in a container, mount it)")
	}
	sortMounts(mounts, own)
	var missing error
	for _, m := range mounts {
		groups := groupsIn(m, own)
		if _, sees := relative(m.root, own); !sees && missing != nil {
			break // another group is no substitute for one that should be there
		}
		found, err := t.exists(groups[0].dir)
		if found {
			return groups, nil
		}
		missing = cmp.Or(missing, err, fmt.Errorf("cgroup: %s is missing; expected the group %q of %s, mounted as %s says",
			groups[0].dir, own, t.inProc("cgroup"), name))
	}
	return nil, missing
}

// sortMounts puts first what shows the most parents of own, and last where own cannot be seen.
func sortMounts(mounts []mount, own string) {
	slices.SortStableFunc(mounts, func(a, b mount) int {
		_, aSees := relative(a.root, own)
		_, bSees := relative(b.root, own)
		if aSees != bSees {
			if aSees {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(components(a.root)), len(components(b.root)))
	})
}

// groupsIn returns own and its parents as m shows them. A mount that does not show own is taken for own itself.
func groupsIn(m mount, own string) []group {
	rel, ok := relative(m.root, own)
	if !ok {
		return []group{{path: own, dir: m.point}}
	}
	groups := []group{{path: m.root, dir: m.point}}
	for _, name := range rel {
		parent := groups[len(groups)-1]
		groups = append(groups, group{path: path.Join(parent.path, name), dir: path.Join(parent.dir, name)})
	}
	slices.Reverse(groups)
	return groups
}

// relative returns the components from root to own, and false if own is not within root. In a cgroup namespace both
// may begin with /.., for what is above it.
func relative(root, own string) ([]string, bool) {
	above, all := components(root), components(own)
	if len(all) < len(above) || !slices.Equal(above, all[:len(above)]) {
		return nil, false
	}
	rel := all[len(above):]
	return rel, !slices.Contains(rel, "..")
}

func components(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(name string) bool { return name == "" || name == "." })
}

// with returns the groups that have a file of that name. A group without is one that the controller does not limit:
// v2's root, or one to which it is not delegated.
func (t tree) with(groups []group, name string) ([]group, error) {
	var errs []error
	has := slices.DeleteFunc(slices.Clone(groups), func(g group) bool {
		found, err := t.exists(g.file(name))
		errs = append(errs, err)
		return !found
	})
	return has, errors.Join(errs...)
}
