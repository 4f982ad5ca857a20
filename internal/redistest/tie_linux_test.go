package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKilledTestBinary kills a test binary that has one running and one stopped server.
func TestKilledTestBinary(t *testing.T) {
	const victimEnv = "SEAWALL_REDISTEST_VICTIM"
	if os.Getenv(victimEnv) != "" {
		s, stopped := Start(t), Start(t)
		stopped.Stop()
		fmt.Println("victim", pid(s), pid(stopped))
		select {}
	}
	t.Parallel()
	Binary(t)
	adoptOrphans(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTimeout)
	defer cancel()
	victim := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledTestBinary$")
	victim.Env = append(os.Environ(), victimEnv+"=1", "TMPDIR="+t.TempDir()) // which it cannot clean up
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	p, err := launch(victim)
	require.NoError(t, err)
	var running, stopped int
	_, err = fmt.Fscanf(out, "victim %d %d\n", &running, &stopped)
	require.NoError(t, err)

	p.kill()
	for _, pid := range []int{running, stopped} {
		died := assert.Eventually(t, func() bool {
			reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			return err == nil && reaped == pid
		}, opTimeout, 5*time.Millisecond)
		if !died {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// adoptOrphans makes this process the parent of its grandchildren whose parent dies, so that it can reap them:
// in containers often nobody does.
func adoptOrphans(t *testing.T) {
	t.Helper()
	const prSetChildSubreaper = 36
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	require.Zero(t, errno)
}
