package faults

import (
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/redistest"
)

// clock is that of a redis-server of its own.
type clock struct{ file string }

// startWithClock starts a redis-server whose clock can be stepped.
func startWithClock(t *testing.T) (*redistest.Server, *clock) {
	t.Helper()
	dir := t.TempDir()
	shim := filepath.Join(dir, "clock.so")
	out, err := exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", shim, filepath.Join("testdata", "clock.c")).CombinedOutput()
	if err != nil {
		if os.Getenv(redistest.RequireEnv) == "1" {
			t.Fatalf("cc: %v\n%s", err, out)
		}
		t.Skipf("no C compiler to step Redis' clock with (make deps): %v\n%s", err, out)
	}
	c := &clock{filepath.Join(dir, "shift")}
	require.NoError(t, os.WriteFile(c.file, make([]byte, 8), 0o600))
	return redistest.StartEnv(t, []string{"LD_PRELOAD=" + shim, "SEAWALL_CLOCK=" + c.file}), c
}

// set makes the server's clock differ from the true time by so much, in whole seconds.
func (c *clock) set(t *testing.T, server *redistest.Server, shift time.Duration) {
	t.Helper()
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(shift/time.Second)), 0)
	require.NoError(t, err)
	now, err := server.Client(t).Time(context.Background()).Result()
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(shift), now, 5*time.Second, "the clock is stepped")
}
