package cgroup

import "time"

// throttlingReader measures how often groups have used up their quota. Its own goroutine reads it.
type throttlingReader struct {
	tree
	groups resolved[lineage] // those with a file for a quota
	rate   rate
}

func newThrottlingReader(t tree) *throttlingReader {
	resolve := func() (lineage, error) {
		found, err := t.lineage("cpu")
		if err != nil {
			return lineage{}, err
		}
		found.groups, err = t.with(found.groups, quotaFile(found.v1))
		return found, err
	}
	return &throttlingReader{tree: t, groups: resolved[lineage]{resolve: resolve}, rate: rate{share: shareOfPeriods}}
}

// shareOfPeriods is periods that were throttled of all. A group that was idle has none.
func shareOfPeriods(before, after counter, _ time.Duration) float64 {
	if after.of == before.of {
		return 0
	}
	return float64(after.used-before.used) / float64(after.of-before.of)
}

func (r *throttlingReader) read(now time.Duration) (float64, error) {
	if r.rate.early(now) {
		return throttlingCurve().at(r.rate.average), nil
	}
	counters, err := r.counters(now)
	if err != nil {
		r.groups.forget()
		return 0, err
	}
	if len(counters) == 0 {
		r.rate.reset()
		return 0, nil
	}
	return throttlingCurve().at(r.rate.update(now, counters)), nil
}

// counters reads the periods of every group that has a quota.
func (r *throttlingReader) counters(now time.Duration) ([]counter, error) {
	found, err := r.groups.get(now)
	if err != nil {
		return nil, err
	}
	counters := make([]counter, 0, len(found.groups))
	for _, g := range found.groups {
		quota, err := r.quota(g, found.v1)
		if err != nil {
			return nil, err
		}
		if quota == noQuota {
			continue
		}
		values, err := r.keys(g.file("cpu.stat"), "nr_throttled", "nr_periods")
		if err != nil {
			return nil, err
		}
		counters = append(counters, counter{dir: g.dir, used: values[0], of: values[1]})
	}
	return counters, nil
}
