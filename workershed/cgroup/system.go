package cgroup

import (
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/seawall-go/seawall/workershed"
)

// CPU is the CPU time of this process's control group against its quota.
func CPU() workershed.Signal { return System{}.CPU() }

// Throttling is the share of scheduling periods in which this process's control group used up its quota and had to wait.
func Throttling() workershed.Signal { return System{}.Throttling() }

// Memory is the memory of this process's control group against its limit, and Go's own against GOMEMLIMIT.
func Memory() workershed.Signal { return System{}.Memory() }

// Signals are all signals of this package.
func Signals() []workershed.Signal { return System{}.Signals() }

// System is where the kernel's files are. The zero System is the machine this process runs on. Mount points need no
// setting, they are what mountinfo says. Every Signal that is made of it keeps its own state, so that several may be read
// at the same time.
type System struct {
	// FS is the file tree, by paths from its root; nil is that of this machine.
	FS fs.FS

	// Proc is where procfs is mounted; empty is /proc.
	Proc string

	// CPUs is how many CPUs the process may use if no quota says less; zero or less is runtime.NumCPU(). Set it where the
	// limit cannot be seen from within, as in a virtual machine whose CPUs the host throttles.
	CPUs float64
}

// CPU is like the function CPU.
func (s System) CPU() workershed.Signal {
	return signal("cgroup_cpu", newCPUReader(s.tree(), s.cpus()).read)
}

// Throttling is like the function Throttling.
func (s System) Throttling() workershed.Signal {
	return signal("cgroup_throttling", newThrottlingReader(s.tree()).read)
}

// Memory is like the function Memory.
func (s System) Memory() workershed.Signal {
	return signal("memory", newMemoryReader(s.tree(), newGoMemory()).read)
}

// Signals are all of them.
func (s System) Signals() []workershed.Signal {
	return []workershed.Signal{s.CPU(), s.Throttling(), s.Memory()}
}

func (s System) tree() tree {
	t := tree{files: s.FS, proc: s.Proc}
	if t.files == nil {
		t.files = os.DirFS("/")
	}
	if t.proc == "" {
		t.proc = "/proc"
	}
	return t
}

func (s System) cpus() float64 {
	if s.CPUs > 0 {
		return s.CPUs
	}
	return float64(runtime.NumCPU())
}

func signal(name string, read func(time.Duration) (float64, error)) workershed.Signal {
	return workershed.Signal{Name: name, Read: read}
}
