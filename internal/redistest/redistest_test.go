//go:build unix

package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pid(s *Server) int { return s.proc.cmd.Process.Pid }

// gone tells whether no process has the id any more, not even an unreaped one.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestServer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := Start(t, "--maxclients", "77")
	c := s.Client(t)

	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	maxClients, err := c.ConfigGet(ctx, "maxclients").Result()
	require.NoError(t, err)
	assert.Equal(t, "77", maxClients["maxclients"], "arguments are passed on")
	persistence, err := c.ConfigGet(ctx, "save").Result()
	require.NoError(t, err)
	assert.Empty(t, persistence["save"])
	opts, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	assert.Equal(t, s.Addr(), opts.Addr)

	s.ResetStat(t)
	assert.Zero(t, s.CommandCalls(t, "get"))
	for range 3 {
		require.NoError(t, c.Get(ctx, "k").Err())
	}
	assert.EqualValues(t, 3, s.CommandCalls(t, "GET"))
	assert.EqualValues(t, 1, s.CommandCalls(t, "config|resetstat"))
	assert.Zero(t, s.CommandCalls(t, "hello"), "asking leaves no handshake behind")
	assert.EqualValues(t, 4, s.CommandCalls(t, "info"))
}

func TestStopCont(t *testing.T) {
	t.Parallel()
	s := Start(t)
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	answers := bufio.NewReader(conn)

	s.Stop()
	_, err = conn.Write([]byte("PING\r\n"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = answers.ReadByte()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	s.Cont()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(opTimeout)))
	answer, err := answers.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "+PONG\r\n", answer)
}

func TestKillRestart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := Start(t)
	c := s.Client(t)
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	first, addr := pid(s), s.Addr()

	s.Stop()
	s.Kill() // also a stopped one
	assert.True(t, gone(first))
	_, err := net.Dial("tcp", addr)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	s.Kill()

	s.Restart(t)
	assert.Equal(t, addr, s.Addr())
	assert.NotEqual(t, first, pid(s))
	require.ErrorIs(t, c.Get(ctx, "k").Err(), redis.Nil)

	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	s.Restart(t) // one that runs
	require.ErrorIs(t, s.Client(t).Get(ctx, "k").Err(), redis.Nil)
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"running", "stopped", "killed"} {
		var s *Server
		t.Run(state, func(t *testing.T) {
			s = Start(t)
			switch state {
			case "stopped":
				s.Stop()
			case "killed":
				s.Kill()
			}
		})
		assert.True(t, gone(pid(s)))
		assert.NoDirExists(t, s.dir)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	addrs := make(chan string, 8)
	for range cap(addrs) {
		wg.Go(func() { addrs <- Start(t).Addr() })
	}
	wg.Wait()
	close(addrs)
	seen := map[string]bool{}
	for a := range addrs {
		assert.False(t, seen[a], "%s twice", a)
		seen[a] = true
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	s := Start(t)

	// By a Redis, which answers PING, and by something that never does.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	for _, port := range []int{s.port, silent.Addr().(*net.TCPAddr).Port} {
		second := &Server{t: t, path: s.path, dir: s.dir, log: s.log, port: port}
		t.Cleanup(second.Kill)
		require.ErrorIs(t, second.run(), errPortTaken)
		assert.True(t, gone(pid(second)))
	}

	// A restart waits for its port.
	s.Kill()
	squatter, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { _ = squatter.Close() })
	s.Restart(t)
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
}

// ending records how a test ended instead of ending it.
type ending struct {
	testing.TB
	how, text string
	failed    bool
	logs      []string
	cleanups  []func()
}

func (e *ending) Helper()      {}
func (e *ending) Failed() bool { return e.failed }
func (e *ending) Fatalf(format string, args ...any) {
	e.how, e.text, e.failed = "fatal", fmt.Sprintf(format, args...), true
	runtime.Goexit()
}

func (e *ending) Skipf(format string, args ...any) {
	e.how, e.text = "skip", fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (e *ending) Logf(format string, args ...any) {
	e.logs = append(e.logs, fmt.Sprintf(format, args...))
}
func (e *ending) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

// run calls f as the testing package would.
func (e *ending) run(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
	for _, c := range e.cleanups {
		c()
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(BinaryEnv, "")
	for env, want := range map[string]string{"": "skip", "0": "skip", "1": "fatal"} {
		t.Setenv(RequireEnv, env)
		e := &ending{TB: t}
		e.run(func() { Start(e) })
		assert.Equal(t, want, e.how, "%s=%q", RequireEnv, env)
		assert.Contains(t, e.text, "redis-server is not on PATH")
		assert.Contains(t, e.text, RequireEnv)
	}
}

// TestBinary has the server that the environment names.
func TestBinary(t *testing.T) {
	named := Binary(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv(BinaryEnv, named)
	require.NoError(t, Start(t).Client(t).Ping(t.Context()).Err())

	t.Setenv(BinaryEnv, filepath.Join(t.TempDir(), "valkey-server"))
	e := &ending{TB: t}
	e.run(func() { Start(e) })
	assert.Equal(t, "fatal", e.how, "whatever is on PATH")
	assert.Contains(t, e.text, BinaryEnv)
	assert.Contains(t, e.text, "valkey-server")
}

func TestLogOfFailedTest(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{true, false} {
		e := &ending{TB: t, failed: failed}
		e.run(func() { Start(e) })
		text := strings.Join(e.logs, "\n")
		assert.Equal(t, failed, strings.Contains(text, "Ready to accept connections"), text)
	}
}

func TestBadArgument(t *testing.T) {
	t.Parallel()
	e := &ending{TB: t}
	e.run(func() { Start(e, "--no-such-option", "1") })
	assert.Equal(t, "fatal", e.how)
	assert.Contains(t, e.text, "no-such-option", "what redis-server said is told")
}

// TestOutlivesThread starts a server from a thread that then ends.
func TestOutlivesThread(t *testing.T) {
	t.Parallel()
	started := make(chan *Server)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		started <- Start(t)
	}()
	s := <-started
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
}
