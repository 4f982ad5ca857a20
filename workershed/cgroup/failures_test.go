package cgroup

import (
	"io/fs"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What went wrong elsewhere (Envoy, Sentinel, go-zero, Aegis, CockroachDB, Go). The number of runnable goroutines and
// the scheduler's latencies are no signals here at all: they mean something else on every machine and in every Go.

// In the host's namespace the mount point is the whole machine; a busy machine is no busy process.
func TestFailureHostNamespaceReadsTheMachine(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-docker-hosts-namespace")
	cpu := f.system().CPU()
	read(t, cpu, 0)
	f.stat(sys, 999*time.Second+8*long, 0, 0)
	f.stat(sys+"/system.slice", 900*time.Second+7*long, 0, 0)
	assert.Zero(t, read(t, cpu, long))
	f.set(sys+"/system.slice/memory.current", "99000000000")
	assert.InDelta(t, .35, read(t, f.memory(), 0), 1e-9, "and neither is its memory")
}

// And where the group is not where proc says, the machine is not read instead.
func TestFailureTheRootIsNoSubstitute(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-docker-hosts-namespace")
	f.remove(sys + "/system.slice")
	for name, s := range f.signals() {
		_, err := s.Read(0)
		assert.ErrorContains(t, err, "docker-4f1c.scope is missing", name)
	}
}

// Eight CPUs that are busy are 1, not 8 or 800.
func TestFailureSeveralHundredPercent(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	f.set(own+"/cpu.max", "800000 100000")
	cpu := f.system().CPU()
	read(t, cpu, 0)
	f.stat(own, 50*time.Second+4*long, 1000, 10)
	assert.InDelta(t, linear(.5), read(t, cpu, long), 1e-9)
	f.stat(own, 50*time.Second+12*long, 1000, 10)
	assert.Equal(t, 1.0, read(t, cpu, 2*long))
}

// A file of v1 beside those of v2 is not read, nor the other way round.
func TestFailureFileOfTheOtherVersion(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	f.set(own+"/cpu.cfs_quota_us", "-1")
	f.set(own+"/memory.limit_in_bytes", "1")
	cpu := f.system().CPU()
	read(t, cpu, 0)
	f.stat(own, 50*time.Second+long, 1000, 10)
	assert.InDelta(t, linear(.5), read(t, cpu, long), 1e-9)
	assert.InDelta(t, memoryCurve().at(.5), read(t, f.memory(), 0), 1e-9)

	f = load(t, "v1-docker")
	f.set(sys+"/cpu,cpuacct/cpu.max", "1 100000")
	f.set(sys+"/memory/memory.max", "1")
	cpu = f.system().CPU()
	read(t, cpu, 0)
	f.set(sys+"/cpu,cpuacct/cpuacct.usage", "%d", (50*time.Second + long/2).Nanoseconds())
	assert.InDelta(t, linear(.5), read(t, cpu, long), 1e-9)
	assert.InDelta(t, .85, read(t, f.memory(), 0), 1e-9)
}

// Half a CPU is half a CPU, not one and not the two that the virtual machine shows. Where not even the quota can be
// seen from within, it can be said.
func TestFailureHalfACPU(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-half-a-cpu")
	s := f.system()
	s.CPUs = 2
	cpu := s.CPU()
	read(t, cpu, 0)
	f.stat(sys, 50*time.Second+time.Duration(.45*float64(long)), 1000, 10)
	assert.InDelta(t, cpuCurve().at(.9), read(t, cpu, long), 1e-9)

	for _, cpus := range []float64{2, .5} {
		f = load(t, "v2-half-a-cpu")
		f.set(sys+"/cpu.max", "max 100000")
		s := f.system()
		s.CPUs = cpus
		cpu := s.CPU()
		read(t, cpu, 0)
		f.stat(sys, 50*time.Second+time.Duration(.2*float64(long)), 1000, 10)
		assert.InDelta(t, linear(.2/cpus), read(t, cpu, long), 1e-9)
	}
}

// What cannot be read is an error, by which the shedder drops the signal; never a number that sheds or that soothes.
func TestFailureUnreadableIsNoUtilization(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	signals := f.signals()
	for _, s := range signals {
		read(t, s, 0)
	}
	f.stat(own, 50*time.Second+2*long, 2000, 1010)
	for _, s := range signals {
		read(t, s, long)
	}
	for _, file := range []string{"cpu.max", "cpu.stat", "memory.max", "memory.current", "memory.stat"} {
		f.remove(own + "/" + file)
	}
	for name, s := range signals {
		u, err := s.Read(long + tick)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		assert.Zero(t, u, name)
	}
}

// A parent's limit counts, though the group itself has a looser one or none, and its siblings fill it.
func TestFailureTighterParentIsIgnored(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-kubernetes-pod")
	pod := sys + "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice"
	cpu, throttling := f.system().CPU(), f.system().Throttling()
	read(t, cpu, 0)
	read(t, throttling, 0)
	f.stat(pod, 50*time.Second+2*long, 2000, 1010) // all by a sidecar
	assert.Equal(t, 1.0, read(t, cpu, long))
	assert.Equal(t, 1.0, read(t, throttling, long))
	assert.InDelta(t, .82, read(t, f.memory(), 0), 1e-9, "the pod is at .92, the container below .2")
}

// What is read of the runtime is there in this Go, is a plain number, and has nothing to do with how its scheduler
// samples. A metric that is gone is an error.
func TestFailureRuntimeMetricsChange(t *testing.T) {
	t.Parallel()
	kinds := map[string]metrics.ValueKind{}
	for _, d := range metrics.All() {
		kinds[d.Name] = d.Kind
	}
	m := newGoMemory()
	require.NotEmpty(t, m.samples)
	for _, s := range m.samples {
		assert.Equal(t, metrics.KindUint64, kinds[s.Name], s.Name)
		assert.False(t, strings.HasPrefix(s.Name, "/sched/") || strings.HasPrefix(s.Name, "/cpu/"), s.Name)
	}
	m.samples[1].Name = "/gc/heap/gone:bytes"
	_, err := m.share()
	assert.ErrorContains(t, err, "/gc/heap/gone:bytes")
	f := load(t, "v2-host")
	_, err = newMemoryReader(f.system().tree(), m).read(0)
	assert.ErrorContains(t, err, "/gc/heap/gone:bytes")
}
