//go:build unix

package redistest

import (
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProcess(t *testing.T) {
	t.Parallel()
	var left *Process
	t.Run("left running", func(t *testing.T) { left = Launch(t, exec.Command("sleep", "60")) })
	assert.True(t, gone(left.proc.cmd.Process.Pid))

	p := Launch(t, exec.Command("sh", "-c", "exit 7"))
	<-p.Exited()
	assert.Equal(t, 7, p.Code())

	p = Launch(t, exec.Command("sleep", "60"))
	p.Signal(syscall.SIGSTOP)
	p.Kill()
	assert.Equal(t, -1, p.Code())

	e := &ending{TB: t}
	e.run(func() { Launch(e, exec.Command("/no/such/command")) })
	assert.Equal(t, "fatal", e.how)
	assert.Contains(t, e.text, "/no/such/command")
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := StartEnv(t, []string{"TZ=XXX-14"}) // 14 hours ahead; Redis logs in local time
	started := regexp.MustCompile(`(?m)^\d+:M (\d+ \w+ \d+ \d+:\d+:\d+)`).FindSubmatch(s.readLog())
	require.NotNil(t, started)
	at, err := time.Parse("02 Jan 2006 15:04:05", string(started[1]))
	require.NoError(t, err)
	assert.InDelta(t, 14, time.Until(at).Hours(), 0.5)
}
