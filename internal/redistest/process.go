//go:build unix

package redistest

import (
	"os"
	"os/exec"
	"testing"
)

// Process is a command that runs until its test ends, such as an instance of a service. On Linux it is also
// gone when the test binary is.
type Process struct {
	t    testing.TB
	proc *process
}

// Launch starts the command. It is killed when the test ends.
func Launch(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	proc, err := launch(cmd)
	if err != nil {
		t.Fatalf("redistest: start %s: %v", cmd.Path, err)
	}
	p := &Process{t, proc}
	t.Cleanup(p.Kill)
	return p
}

// Signal sends the signal.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.proc.cmd.Process.Signal(sig); err != nil {
		p.t.Errorf("redistest: %s: %v: %v", p.proc.cmd.Path, sig, err)
	}
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.proc.exited }

// Code is the exit code of a process that has ended; -1 if a signal ended it.
func (p *Process) Code() int { return p.proc.cmd.ProcessState.ExitCode() }

// Kill ends the process with SIGKILL, also if it is stopped, and returns when it is gone.
func (p *Process) Kill() { p.proc.kill() }
