//go:build unix && !linux

package redistest

import "os/exec"

// tie does nothing: only Linux ties a process's life to its parent's.
func tie(*exec.Cmd) {}
