package cgroup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInactiveFilesAreNotInUse(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	memory := f.memory()
	f.set(own+"/memory.current", "990000000")
	f.set(own+"/memory.stat", "anon 1\ninactive_file 540000000\nactive_file 900000000")
	assert.InDelta(t, .35, read(t, memory, 0), 1e-9)
	f.set(own+"/memory.stat", "inactive_files 990000000\ninactive_file 0")
	assert.Equal(t, 1.0, read(t, memory, 0))
	f.set(own+"/memory.stat", "inactive_file 2000000000")
	assert.Zero(t, read(t, memory, 0), "more than there is, since the two files are not read at once")
}

func TestAMemoryLimitIsReadEveryTime(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	memory := f.memory()
	require.InDelta(t, memoryCurve().at(.5), read(t, memory, 0), 1e-9)
	f.set(own+"/memory.max", "540540541") // resized in place
	assert.InDelta(t, .85, read(t, memory, 0), 1e-6)
	f.set(own+"/memory.max", "max")
	assert.Zero(t, read(t, memory, 0))
}

func TestGoAgainstItsLimit(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host") // whose group is at .5
	for share, want := range map[float64]float64{0: memoryCurve().at(.5), .4: memoryCurve().at(.5), .925: .85, 1.5: 1} {
		memory := signal("memory", newMemoryReader(f.system().tree(), goShare{share}).read)
		assert.InDelta(t, want, read(t, memory, 0), 1e-9, "%v", share)
	}
}

func TestMemoryLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text        string
		v1          bool
		limit       uint64
		limited, ok bool
	}{
		{text: "max", ok: true},
		{text: "1048576", limit: 1 << 20, limited: true, ok: true},
		{text: "0"},
		{text: "-1"},
		{text: ""},
		{text: "1 GB"},
		{text: "99999999999999999999"},
		{text: "1048576", v1: true, limit: 1 << 20, limited: true, ok: true},
		{text: "9223372036854771712", v1: true, limit: 9223372036854771712, ok: true}, // pages of 4 KB
		{text: "9223372036854710272", v1: true, limit: 9223372036854710272, ok: true}, // pages of 64 KB
		{text: "9223372036854775807", v1: true, limit: 9223372036854775807, ok: true}, // before Linux 3.19
		{text: "max", v1: true},
		{text: "0", v1: true},
		{text: "-1", v1: true},
	} {
		limit, limited, ok := parseMemoryLimit(tc.text, tc.v1)
		assert.Equal(t, tc.ok, ok, "%+v", tc)
		assert.Equal(t, tc.limited, limited, "%+v", tc)
		assert.Equal(t, tc.limit, limit, "%+v", tc)
	}
}
