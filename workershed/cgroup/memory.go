package cgroup

import (
	"strconv"
	"time"
)

// noLimitV1 is where v1's limits begin that are none: it has the greatest multiple of a page below 2^63.
const noLimitV1 = 1 << 62

// memoryReader measures the memory of groups against their limits, and Go's. Its own goroutine reads it.
type memoryReader struct {
	tree
	groups resolved[lineage] // those with a file for a limit
	goes   interface{ share() (float64, error) }
}

// memoryFiles are what the files are called.
type memoryFiles struct{ limit, usage, inactive string }

func memoryFilesOf(v1 bool) memoryFiles {
	if v1 {
		return memoryFiles{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", inactive: "total_inactive_file"}
	}
	return memoryFiles{limit: "memory.max", usage: "memory.current", inactive: "inactive_file"}
}

func newMemoryReader(t tree, goes interface{ share() (float64, error) }) *memoryReader {
	resolve := func() (lineage, error) {
		found, err := t.lineage("memory")
		if err != nil {
			return lineage{}, err
		}
		found.groups, err = t.with(found.groups, memoryFilesOf(found.v1).limit)
		return found, err
	}
	return &memoryReader{tree: t, groups: resolved[lineage]{resolve: resolve}, goes: goes}
}

func (r *memoryReader) read(now time.Duration) (float64, error) {
	greatest, err := r.goes.share()
	if err != nil {
		return 0, err
	}
	found, err := r.groups.get(now)
	if err != nil {
		return 0, err
	}
	for _, g := range found.groups {
		share, err := r.share(g, found.v1)
		if err != nil {
			r.groups.forget()
			return 0, err
		}
		greatest = max(greatest, share)
	}
	return memoryCurve().at(greatest), nil
}

// share is how much of its limit a group has in use that the kernel would not drop first. Without a limit it is 0. It may
// be a bit below, since the two numbers are not read at the same moment.
func (r *memoryReader) share(g group, v1 bool) (float64, error) {
	files := memoryFilesOf(v1)
	limit, limited, err := r.limit(g.file(files.limit), v1)
	if err != nil || !limited {
		return 0, err
	}
	usage, err := r.number(g.file(files.usage))
	if err != nil {
		return 0, err
	}
	inactive, err := r.keys(g.file("memory.stat"), files.inactive)
	if err != nil {
		return 0, err
	}
	return (float64(usage) - float64(inactive[0])) / float64(limit), nil
}

// limit reads a limit in bytes, and whether there is one.
func (r *memoryReader) limit(name string, v1 bool) (limit uint64, limited bool, err error) {
	s, err := r.text(name)
	if err != nil {
		return 0, false, err
	}
	limit, limited, ok := parseMemoryLimit(s, v1)
	if !ok {
		want := `"max" or a number of bytes above 0`
		if v1 {
			want = "a number of bytes above 0"
		}
		return 0, false, unexpected(name, s, want)
	}
	return limit, limited, nil
}

func parseMemoryLimit(s string, v1 bool) (limit uint64, limited, ok bool) {
	if !v1 && s == "max" {
		return 0, false, true
	}
	limit, err := strconv.ParseUint(s, 10, 64)
	if err != nil || limit == 0 {
		return 0, false, false
	}
	return limit, !v1 || limit < noLimitV1, true
}
