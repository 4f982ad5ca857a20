package cgroup

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sys = "sys/fs/cgroup"

// layouts are the trees of testdata that can be read, each with the group whose limit counts.
var layouts = []struct {
	name   string
	cpu    string  // the group with the quota that counts, or the process's own if there is none
	acct   string  // v1: the same group where its time is counted
	quota  float64 // in CPUs
	none   bool    // no quota, so that nothing is throttled
	memory float64 // the share in use of the limit that counts
}{
	{name: "v2-host", cpu: sys + "/system.slice/api.service", quota: 2, memory: .5},
	{name: "v2-docker-own-namespace", cpu: sys, quota: 1.5, memory: .925},
	{name: "v2-docker-hosts-namespace", cpu: sys + "/system.slice/docker-4f1c.scope", quota: 1, memory: .45},
	{name: "v2-tighter-parent", cpu: sys + "/outer", quota: 1, memory: .9},
	{
		name: "v2-kubernetes-pod", quota: 2, memory: .92,
		cpu: sys + "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice",
	},
	{name: "v2-unlimited", cpu: sys + "/user.slice/session-1.scope", quota: 8, none: true},
	{name: "v2-half-a-cpu", cpu: sys, quota: .5, memory: .45},
	{name: "v2-blanks", cpu: "mnt/control groups/my apps", quota: 1, memory: .45},
	{name: "v2-outside", cpu: sys, quota: 1, memory: .45},
	{name: "v1-docker", cpu: sys + "/cpu,cpuacct", acct: sys + "/cpu,cpuacct", quota: 1, memory: .925},
	{name: "v1-host-separate", cpu: sys + "/cpu/batch", acct: sys + "/cpuacct/batch", quota: 1, memory: .925},
	{
		name: "hybrid", quota: 2, memory: .45,
		cpu: sys + "/cpu,cpuacct/system.slice/api.service", acct: sys + "/cpu,cpuacct/system.slice/api.service",
	},
}

func TestLayoutsCPU(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		for _, share := range []float64{0, .5, .85, .9} {
			t.Run(l.name+" "+strconv.FormatFloat(share, 'g', -1, 64), func(t *testing.T) {
				t.Parallel()
				f := load(t, l.name)
				cpu := f.system().CPU()
				require.Zero(t, read(t, cpu, 0), "a rate needs two readings")

				used := 50*time.Second + time.Duration(share*l.quota*float64(long))
				if l.acct == "" {
					f.stat(l.cpu, used, 1000, 10)
				} else {
					f.set(l.acct+"/cpuacct.usage", "%d", used.Nanoseconds())
				}
				assert.InDelta(t, cpuCurve().at(share), read(t, cpu, long), 1e-9)
			})
		}
	}
}

func TestLayoutsThrottling(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			f := load(t, l.name)
			throttling := f.system().Throttling()
			require.Zero(t, read(t, throttling, 0), "a rate needs two readings")

			if l.acct == "" {
				f.stat(l.cpu, 50*time.Second, 1100, 20)
			} else {
				f.statV1(l.cpu, 1100, 20)
			}
			want := .1 / .25
			if l.none {
				want = 0
			}
			assert.InDelta(t, want, read(t, throttling, long), 1e-9)
		})
	}
}

func TestLayoutsMemory(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			assert.InDelta(t, memoryCurve().at(l.memory), read(t, load(t, l.name).memory(), 0), 1e-9)
		})
	}
}

func TestCurves(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		curve curve
		want  []point
	}{
		"cpu":        {cpuCurve(), []point{{0, 0}, {.425, .4}, {.85, .8}, {.9, .9}, {.95, 1}, {1, 1}, {7, 1}}},
		"throttling": {throttlingCurve(), []point{{0, 0}, {.125, .5}, {.25, 1}, {1, 1}}},
		"memory":     {memoryCurve(), []point{{0, 0}, {.45, .35}, {.9, .7}, {.925, .85}, {.95, 1}, {2, 1}}},
	} {
		for _, p := range tc.want {
			assert.InDelta(t, p.utilization, tc.curve.at(p.measured), 1e-12, "%s at %v", name, p.measured)
		}
		last := 0.0
		for i := range 2000 {
			u := tc.curve.at(float64(i) / 1000)
			require.GreaterOrEqual(t, u, last, "%s at %d/1000", name, i)
			last = u
		}
		assert.Equal(t, 1.0, tc.curve.at(math.Inf(1)))
	}
}
