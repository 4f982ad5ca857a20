//go:build unix

package redistest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RequireEnv names the environment variable that, set to 1, makes a missing redis-server a failure instead of
// a reason to skip.
const RequireEnv = "SEAWALL_REQUIRE_REDIS"

// BinaryEnv names the environment variable that, if set, is the path of the server to run instead of the redis-server on
// PATH, such as another version's or Valkey's.
const BinaryEnv = "SEAWALL_REDIS_SERVER"

const (
	startTimeout = 15 * time.Second // generous: machines that run tests are busy
	pingTimeout  = 200 * time.Millisecond
	opTimeout    = 5 * time.Second
)

// Ports are drawn from firstPort to firstPort+ports-1, below what systems hand out to outgoing connections:
// a stopped server's port stays free for its restart, and the port of its Cluster bus, 10000 higher, is free too.
const (
	firstPort = 12000
	ports     = 10000
)

var errPortTaken = errors.New("port is taken")

// Server is a redis-server process. It is safe for concurrent use.
type Server struct {
	t    testing.TB
	path string
	dir  string
	log  string
	port int
	env  []string
	conf string // a configuration file: "" is none
	args []string
	cert *Certificate // of TLS; nil: it speaks in the clear

	mu   sync.Mutex
	proc *process // the latest one, running or not
}

// process is one run of redis-server.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has been reaped
}

// Start starts redis-server with the given arguments after ours, so that they win, and returns when it answers.
// The server is killed when the test ends; if the test failed, its log is printed.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartEnv(t, nil, args...)
}

// StartEnv is Start with further variables, as NAME=value, in the server's environment.
func StartEnv(t testing.TB, env []string, args ...string) *Server {
	t.Helper()
	s := newServer(t)
	s.env, s.args = env, args
	s.start(t)
	return s
}

// newServer returns a server that is to be started, and ends with its test.
func newServer(t testing.TB) *Server {
	t.Helper()
	path := Binary(t)
	dir := t.TempDir() // before t.Cleanup: the folder outlives the server
	s := &Server{t: t, path: path, dir: dir, log: filepath.Join(dir, "redis.log")}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("redistest: log of %s:\n%s", s.Addr(), s.readLog())
		}
	})
	return s
}

// start runs the server on a free port.
func (s *Server) start(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for range 20 {
		s.port = firstPort + rand.IntN(ports)
		if err = s.run(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil && s.lacksTLS() {
		t.Skipf("redistest: %s was built without TLS; install one that speaks it to run this test, as Debian's and Ubuntu's do", s.path)
	}
	if err != nil {
		t.Fatalf("redistest: start: %v\n%s", err, s.readLog())
	}
}

// Binary returns the path of the server that Start runs. If there is none, the test is skipped, or fails if it may not be.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(BinaryEnv); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			t.Fatalf("redistest: %s is %q: %v; want the path of a redis-server or valkey-server, or nothing for that on PATH", BinaryEnv, path, err)
		}
		return path
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv(RequireEnv) == "1" {
			t.Fatalf("redistest: redis-server is not on PATH, and %s=1 demands it", RequireEnv)
		}
		t.Skipf("redistest: redis-server is not on PATH; install it to run this test (make deps), or set %s=1 to fail instead", RequireEnv)
	}
	return path
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// URL returns the server's redis:// URL, or rediss:// if it speaks TLS.
func (s *Server) URL() string {
	if s.cert != nil {
		return "rediss://" + s.Addr()
	}
	return "redis://" + s.Addr()
}

// Client returns a new client, closed when the test ends. It is patient, and otherwise as a redisstore wants it.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	var trust *tls.Config
	if s.cert != nil {
		trust = &tls.Config{RootCAs: s.cert.issuer.Roots(), MinVersion: tls.VersionTLS12}
	}
	c := redis.NewClient(&redis.Options{
		TLSConfig: trust,
		Addr:      s.Addr(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		// Its handshake is of no use with a server that does not know it.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	return c
}

// Stop freezes the server with SIGSTOP: it accepts connections, thanks to the kernel, and never answers.
func (s *Server) Stop() {
	s.signal(syscall.SIGSTOP)
	time.Sleep(5 * time.Millisecond) // lets a system call that is under way, such as writing an answer, end
}

// Cont thaws the server with SIGCONT; it then executes what it was sent meanwhile.
func (s *Server) Cont() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.proc.cmd.Process.Signal(sig); err != nil {
		s.t.Errorf("redistest: %s: %v: %v", s.Addr(), sig, err)
	}
}

// Kill ends the server with SIGKILL, also if it is stopped, and returns when it is gone. Connections are
// refused from then on. Killing a dead server does nothing.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.kill()
	}
}

// running tells whether there is a process.
func (s *Server) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.proc.exited:
		return false
	default:
		return true
	}
}

// launch starts cmd, tied to this process. The tie is to a thread, and Go ends threads (one that is left
// locked, for example), so a goroutine keeps the thread to itself until the process has been reaped.
func launch(cmd *exec.Cmd) (*process, error) {
	tie(cmd)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // its log says more
			close(p.exited)
		}
	}()
	return p, <-started
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if it is gone already
	<-p.exited
}

// Restart kills the server if it runs and starts an empty one on the same port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.kill()
	deadline := time.Now().Add(startTimeout)
	err := s.run()
	for errors.Is(err, errPortTaken) && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
		err = s.run()
	}
	if err != nil {
		t.Fatalf("redistest: restart: %v\n%s", err, s.readLog())
	}
}

// run starts a process on s.port and waits until it answers. If it does not, none is left.
func (s *Server) run() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own copy
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var args []string
	if s.conf != "" { // nowhere but at the beginning
		args = append(args, s.conf)
	}
	args = append(args, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no")
	args = append(args, s.listening()...)
	args = append(args, s.args...)
	cmd := exec.Command(s.path, args...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := launch(cmd)
	if err != nil {
		return err
	}
	s.proc = p

	timeout := time.After(startTimeout)
	for {
		if err = s.ready(cmd.Process.Pid); err == nil {
			return nil
		}
		select {
		case <-p.exited:
			if bytes.Contains(bytes.ToLower(s.readLog()[offset:]), []byte("address already in use")) {
				return errPortTaken
			}
			return fmt.Errorf("redis-server exited: %v", cmd.ProcessState)
		case <-timeout:
			p.kill()
			return fmt.Errorf("redis-server did not answer within %v: %w", startTimeout, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// listening are the arguments that say where, and how.
func (s *Server) listening() []string {
	port := strconv.Itoa(s.port)
	if s.cert == nil {
		return []string{"--port", port}
	}
	return append([]string{
		"--port", "0", "--tls-port", port, "--tls-auth-clients", "no", "--tls-replication", "yes", "--tls-cluster", "yes",
	}, s.cert.args()...)
}

// ready tells whether the process answers PING, and whether it is ours: while ours is about to find its port
// taken, somebody else's may answer there.
func (s *Server) ready(pid int) error {
	if _, err := s.do("PING", pingTimeout); err != nil {
		return err
	}
	info, err := s.do("INFO server", pingTimeout)
	if err != nil {
		return err
	}
	if got, _ := field(info, "process_id"); got != strconv.Itoa(pid) {
		return fmt.Errorf("process %s answers on %s, not ours (%d)", got, s.Addr(), pid)
	}
	return nil
}

func (s *Server) readLog() []byte {
	log, err := os.ReadFile(s.log)
	if err != nil {
		return []byte(err.Error())
	}
	return log
}
