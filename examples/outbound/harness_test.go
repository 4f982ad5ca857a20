package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
)

// commandEnv makes the test binary the command, so that its processes need no build and are raced as well.
const commandEnv = "SEAWALL_OUTBOUND_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		main()
		return
	}
	logging.Disable()
	_ = flag.Set("test.parallel", "6") // most of these tests wait most of the time; the command line still wins
	goleak.VerifyTestMain(m)
}

// process is the command, running.
type process struct {
	cmd  *exec.Cmd
	out  *output
	wait func() error // until it and all that it started are gone: they share its output
}

// start runs the command until the test ends, in a time zone where it is about noon.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], append([]string{"-zone", noon()}, args...)...), out: &output{}}
	p.cmd.Env = append(os.Environ(), commandEnv+"=1", "GORACE=atexit_sleep_ms=0")
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.WaitDelay = 10 * time.Second
	p.wait = sync.OnceValue(p.cmd.Wait)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails if it is gone, as it should be
		_ = p.wait()
		if t.Failed() {
			t.Logf("process %d:\n%s", p.cmd.Process.Pid, p.out)
		}
	})
	return p
}

// terminate sends SIGTERM and waits for a clean end, which is due within a second.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	began := time.Now()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, p.wait())
	took := time.Since(began)
	assert.Less(t, took, 3*time.Second, "the machine may be busy")
	t.Logf("SIGTERM took %v", took)
}

// says waits until it has said so.
func (p *process) says(t *testing.T, pattern string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool { return re.MatchString(p.out.String()) }, 20*time.Second, 5*time.Millisecond, pattern)
}

// lost is how many calls its workers know of that may have been paid for and not made.
func (p *process) lost(t *testing.T) int64 { return p.tally(t, "unanswered") + p.tally(t, "not sent") }

// tally sums up what its workers said last of a count, such as "units" or "not sent".
func (p *process) tally(t *testing.T, what string) (sum int64) {
	t.Helper()
	last := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^(.*): \d+ calls, .*$`).FindAllStringSubmatch(p.out.String(), -1) {
		n := regexp.MustCompile(`(\d+) ` + what).FindStringSubmatch(m[0])
		if n != nil {
			count, err := strconv.ParseInt(n[1], 10, 64)
			require.NoError(t, err)
			last[m[1]] = count
		}
	}
	for _, n := range last {
		sum += n
	}
	return sum
}

// output collects what is written. It is safe for concurrent use.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// newRedis returns the URL of a Redis that is given time: a busy machine is not what the test is about.
func newRedis(t *testing.T) string {
	t.Helper()
	return redistest.Start(t).URL() + "?dial_timeout=5s&read_timeout=5s&write_timeout=5s&pool_timeout=5s"
}

// noon is a time zone whose midnight is about twelve hours away.
func noon() string {
	switch east := 12 - time.Now().UTC().Hour(); {
	case east > 0:
		return fmt.Sprintf("Etc/GMT-%d", east) // its sign is the other way round
	default:
		return fmt.Sprintf("Etc/GMT+%d", -east)
	}
}

// provider is an API that counts, until the test ends.
type provider struct {
	api
	url string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	server := httptest.NewServer(&p.api)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// charged asserts that the budget was not overdrawn, and that no more of it was lost than may have been.
func (p *provider) charged(t *testing.T, units, lost int64) {
	t.Helper()
	got := p.units.Load()
	t.Logf("charged %d of %d units in %d calls; %d may have been lost", got, units, p.calls.Load(), lost)
	assert.LessOrEqual(t, got, units)
	assert.Greater(t, got, units-price(search)-lost, "what is left would have paid for another search")
}

// left returns what is left of the day on Redis.
func left(t *testing.T, args ...string) int64 {
	t.Helper()
	o, err := parse(append([]string{"-zone", noon()}, args...), &output{})
	require.NoError(t, err)
	store, closeStore, err := o.openStore()
	require.NoError(t, err)
	defer func() { assert.NoError(t, closeStore(t.Context())) }()
	day, err := newBudget(store, o.daily())
	require.NoError(t, err)
	var a *ratelimit.Answer
	require.Eventually(t, func() bool {
		a, err = day.Peek(t.Context(), &seawall.Request{Key: account()})
		return err == nil
	}, 10*time.Second, 50*time.Millisecond)
	return a.Remaining
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
