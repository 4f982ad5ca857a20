package cgroup

import (
	"math"
	"strconv"
	"strings"
)

// noQuota is the quota of a group without one, in CPUs.
const noQuota = math.MaxFloat64

// quotaFile is the file whose presence says that a group can have a quota.
func quotaFile(v1 bool) string {
	if v1 {
		return "cpu.cfs_quota_us"
	}
	return "cpu.max"
}

// quota returns how many CPUs a group may use, as a fraction: 0.5 is half of one.
func (t tree) quota(g group, v1 bool) (float64, error) {
	if v1 {
		return t.quotaV1(g)
	}
	name := g.file(quotaFile(v1))
	s, err := t.text(name)
	if err != nil {
		return 0, err
	}
	cpus, ok := parseCPUMax(s)
	if !ok {
		return 0, unexpected(name, s, `"max <period>" or "<quota> <period>", in microseconds and above 0`)
	}
	return cpus, nil
}

// parseCPUMax reads cpu.max of v2.
func parseCPUMax(s string) (cpus float64, ok bool) {
	quota, period, ok := strings.Cut(s, " ")
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseUint(period, 10, 64)
	if err != nil || p == 0 {
		return 0, false
	}
	if quota == "max" {
		return noQuota, true
	}
	q, err := strconv.ParseUint(quota, 10, 64)
	return float64(q) / float64(p), err == nil && q > 0
}

func (t tree) quotaV1(g group) (float64, error) {
	name := g.file(quotaFile(true))
	s, err := t.text(name)
	if err != nil {
		return 0, err
	}
	if s == "-1" {
		return noQuota, nil
	}
	quota, err := strconv.ParseUint(s, 10, 64)
	if err != nil || quota == 0 {
		return 0, unexpected(name, s, "-1 or a number of microseconds above 0")
	}
	name = g.file("cpu.cfs_period_us")
	period, err := t.number(name)
	if err != nil {
		return 0, err
	}
	if period == 0 {
		return 0, unexpected(name, "0", "a number of microseconds above 0")
	}
	return float64(quota) / float64(period), nil
}
