package abuse

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/command"
	"github.com/seawall-go/seawall/internal/redistest"
)

// build builds the command once, into the folder that TestMain removes.
var build = sync.OnceValues(func() (string, error) {
	return filepath.Join(binaries, "payments"), command.Build(binaries, "./examples/payments")
})

// api is a process of the payments command.
type api struct {
	addr   string
	client *http.Client
	redis  *redis.Client // nil on memory
	log    command.Log
	proc   *redistest.Process
	ended  sync.Once
}

// onBothStores runs a test on memory and on a real Redis, which is nil on memory.
func onBothStores(t *testing.T, test func(t *testing.T, server *redistest.Server)) {
	t.Run("memory", func(t *testing.T) { test(t, nil) })
	t.Run("redis", func(t *testing.T) { test(t, redistest.Start(t)) })
}

// notInMemory skips a short run on memory, of what is no other there.
func notInMemory(t *testing.T, server *redistest.Server) {
	t.Helper()
	if server == nil && !long() {
		t.Skip("on memory only with SEAWALL_ABUSE=long: it takes seconds, and finds what it finds on Redis, too")
	}
}

// start runs the command until the test ends, and returns once it is healthy and every series that it ever has is there.
// In the end SIGTERM ends it, with 0, and leaves nothing on Redis that is held.
func start(t *testing.T, server *redistest.Server, args ...string) *api {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	args = append([]string{"-addr", "127.0.0.1:0"}, args...)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	p := &api{client: &http.Client{Transport: transport, Timeout: soon}}
	if server != nil {
		args = append(args, "-redis", server.URL())
		p.redis = server.Client(t)
	}
	cmd := exec.Command(path, args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = &p.log
	p.proc = redistest.Launch(t, cmd)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		p.stop(t)
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.addr = strings.TrimSpace(strings.TrimPrefix(line, "payments: listening on http://"))
	require.Eventually(t, func() bool { return p.do(http.MethodGet, "/healthz", "", "").code == http.StatusOK }, soon, 5*time.Millisecond)
	p.warm(t)
	return p
}

// warm has every policy decide, so that every series that there ever is is there.
func (p *api) warm(t *testing.T) {
	t.Helper()
	for _, route := range []string{"POST /v1/charges", "POST /v1/refunds", "GET /v1/reports", "POST /v1/login"} {
		method, path, _ := strings.Cut(route, " ")
		a := p.do(method, path, fmt.Sprint("warm", path), `{"account": "warm"}`)
		require.Equal(t, http.StatusOK, a.code, a.body)
	}
}

// stop ends the command as its operator does.
func (p *api) stop(t *testing.T) { p.ended.Do(func() { p.end(t) }) }

func (p *api) end(t *testing.T) {
	p.proc.Signal(syscall.SIGTERM)
	select {
	case <-p.proc.Exited():
		assert.Zero(t, p.proc.Code(), p.log.String())
	case <-time.After(soon):
		assert.Fail(t, "SIGTERM did not end it", p.log.String())
	}
	if p.redis != nil {
		assert.Zero(t, held(t, p.redis), "leases that a stopped instance has left")
		assert.Zero(t, p.redis.HLen(context.Background(), "payments:{fleet}:members").Val(), "it has left the fleet")
	}
	lines := strings.Count(p.log.String(), "\n")
	assert.LessOrEqual(t, lines, 10*int(soon/time.Second), "lines of its log:\n%.2000s", p.log.String())
	if t.Failed() {
		t.Logf("log of the command:\n%.4000s", p.log.String())
	}
}

// held returns how many leases Redis holds: members of its sorted sets, which nothing else uses here.
func held(t assert.TestingT, c *redis.Client) (n int64) {
	for _, key := range keys(t, c) {
		if c.Type(context.Background(), key).Val() == "zset" {
			n += c.ZCard(context.Background(), key).Val()
		}
	}
	return n
}

// keys returns the names of all that Redis holds.
func keys(t assert.TestingT, c *redis.Client) []string {
	all, err := c.Keys(context.Background(), "*").Result()
	assert.NoError(t, err)
	return all
}

// answer is a response, read. Its code is 0 if there was none.
type answer struct {
	code   int
	header http.Header
	body   string
}

// do sends a request with the key sk_live_<caller>, or without one.
func (p *api) do(method, path, caller, body string) answer {
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		return answer{body: err.Error()}
	}
	if caller != "" {
		req.Header.Set("Authorization", "Bearer sk_live_"+caller)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{body: err.Error()}
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}
