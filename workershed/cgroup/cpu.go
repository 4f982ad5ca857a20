package cgroup

import (
	"fmt"
	"time"
)

// cpuReader measures the CPU time of groups against their quotas. Its own goroutine reads it.
type cpuReader struct {
	tree
	cpus   float64 // what there is without a quota
	groups resolved[cpuGroups]
	rate   rate
}

// cpuGroups are the groups whose CPU time is measured.
type cpuGroups struct {
	v1      bool
	own     group
	limited []group          // those with a file for a quota
	usage   map[string]group // v1: by path, the groups that count CPU time, in a hierarchy of their own
}

func newCPUReader(t tree, cpus float64) *cpuReader {
	return &cpuReader{
		tree: t, cpus: cpus, groups: resolved[cpuGroups]{resolve: t.cpuGroups}, rate: rate{share: shareOfTime},
	}
}

// shareOfTime is CPU time used of CPU time that there was.
func shareOfTime(before, after counter, dt time.Duration) float64 {
	return float64(after.used-before.used) / (after.per * dt.Seconds())
}

func (t tree) cpuGroups() (cpuGroups, error) {
	found, err := t.lineage("cpu")
	if err != nil {
		return cpuGroups{}, err
	}
	limited, err := t.with(found.groups, quotaFile(found.v1))
	groups := cpuGroups{v1: found.v1, own: found.groups[0], limited: limited}
	if err != nil || !found.v1 {
		return groups, err
	}
	groups.usage, err = t.accounts()
	return groups, err
}

// accounts finds the groups of v1 that count CPU time, by path. They may be in another hierarchy than the quotas.
func (t tree) accounts() (map[string]group, error) {
	own, v1, err := t.member("cpuacct")
	if err != nil {
		return nil, err
	}
	if !v1 {
		return nil, fmt.Errorf("cgroup: %s: read a line of v1 that names cpu; expected one that names cpuacct, which counts"+
			" its time", t.inProc("cgroup"))
	}
	groups, err := t.groups("cgroup", "cpuacct", own)
	byPath := make(map[string]group, len(groups))
	for _, g := range groups {
		byPath[g.path] = g
	}
	return byPath, err
}

func (r *cpuReader) read(now time.Duration) (float64, error) {
	if !r.rate.early(now) {
		counters, err := r.counters(now)
		if err != nil {
			r.groups.forget()
			return 0, err
		}
		r.rate.update(now, counters)
	}
	return cpuCurve().at(r.rate.average), nil
}

// counters reads the time of every group with a quota, and of the process's own group against all CPUs unless some
// quota is below that: one that is not does not bind.
func (r *cpuReader) counters(now time.Duration) ([]counter, error) {
	groups, err := r.groups.get(now)
	if err != nil {
		return nil, err
	}
	counters := make([]counter, 0, len(groups.limited)+1)
	tightest := noQuota
	add := func(g group, cpus float64) error {
		c, err := r.counter(groups, g, cpus)
		counters = append(counters, c)
		return err
	}
	for _, g := range groups.limited {
		quota, err := r.quota(g, groups.v1)
		if err != nil {
			return nil, err
		}
		if quota == noQuota {
			continue
		}
		if err := add(g, quota); err != nil {
			return nil, err
		}
		tightest = min(tightest, quota)
	}
	if tightest >= r.cpus {
		if err := add(groups.own, r.cpus); err != nil {
			return nil, err
		}
	}
	return counters, nil
}

// counter reads the CPU time that a group has used.
func (r *cpuReader) counter(groups cpuGroups, g group, cpus float64) (counter, error) {
	if !groups.v1 {
		values, err := r.keys(g.file("cpu.stat"), "usage_usec")
		if err != nil {
			return counter{}, err
		}
		return counter{dir: g.dir, used: values[0], per: cpus * float64(time.Second/time.Microsecond)}, nil
	}
	usage, ok := groups.usage[g.path]
	if !ok {
		return counter{}, fmt.Errorf("cgroup: %s has a quota, and the CPU time of %q is counted where this process cannot"+
			" see it; expected the same group for cpu and cpuacct in %s", g.dir, g.path, r.inProc("cgroup"))
	}
	used, err := r.number(usage.file("cpuacct.usage"))
	return counter{dir: g.dir, used: used, per: cpus * float64(time.Second/time.Nanosecond)}, err
}
