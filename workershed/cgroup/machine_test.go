package cgroup

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheSignalsOfThisMachine(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range Signals() {
		names = append(names, s.Name)
		for i := range 3 {
			u, err := s.Read(time.Duration(i) * time.Second)
			if err != nil {
				t.Logf("%s: %v", s.Name, err)
				assert.ErrorContains(t, err, "expected")
				continue
			}
			assert.GreaterOrEqual(t, u, 0.0)
			assert.LessOrEqual(t, u, 1.0)
		}
	}
	assert.Equal(t, []string{"cgroup_cpu", "cgroup_throttling", "memory"}, names)
	for i, s := range []string{CPU().Name, Throttling().Name, Memory().Name} {
		assert.Equal(t, names[i], s)
	}
}

func TestCPUThatIsBurntIsSeen(t *testing.T) {
	t.Parallel()
	cpu, start := CPU(), time.Now()
	first, err := cpu.Read(0)
	if err != nil {
		t.Skipf("this machine has no control group that can be read: %v", err)
	}
	require.Zero(t, first)

	var stop atomic.Bool
	var burning sync.WaitGroup
	for range runtime.NumCPU() {
		burning.Go(func() {
			for !stop.Load() {
			}
		})
	}
	defer burning.Wait()
	defer stop.Store(true)

	const enough = .3 // what two thirds of a second of all CPUs come to, on a machine of our own
	for time.Since(start) < 20*time.Second {
		time.Sleep(tick) // the CPU has to be burnt for a while, which is what is measured
		u, err := cpu.Read(time.Since(start))
		require.NoError(t, err)
		if u > enough {
			t.Logf("%.2f after %v", u, time.Since(start))
			return
		}
	}
	t.Fatal("all CPUs were burnt for 20 s, and utilization stayed below .3")
}

// Signals of one System share nothing that changes.
func TestSignalsAreReadAtTheSameTime(t *testing.T) {
	t.Parallel()
	f := load(t, "v2-host")
	s := f.system()
	var readers sync.WaitGroup
	for _, signal := range append(s.Signals(), s.Signals()...) {
		readers.Go(func() {
			for i := range 50 {
				_, err := signal.Read(time.Duration(i) * time.Second)
				assert.NoError(t, err)
			}
		})
	}
	readers.Wait()
}

func BenchmarkRead(b *testing.B) {
	for _, s := range Signals() {
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			var now time.Duration
			for b.Loop() {
				now += time.Microsecond
				if _, err := s.Read(now); err != nil {
					b.Skipf("this machine has no control group that can be read: %v", err)
				}
			}
		})
	}
}

// A group three levels deep, every level with all limits.
func BenchmarkReadOfPod(b *testing.B) {
	f := load(b, "v2-kubernetes-pod")
	for _, s := range f.system().Signals() {
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			var now time.Duration
			for b.Loop() {
				now += time.Microsecond
				read(b, s, now)
			}
		})
	}
}
