package redistest

import (
	"os/exec"
	"syscall"
)

// tie makes cmd die when the thread that starts it ends, whatever ends it.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
