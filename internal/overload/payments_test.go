package overload

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall/internal/command"
	"github.com/seawall-go/seawall/internal/redistest"
)

const (
	processors = 2 // that the command may use, however many there are
	workers    = 16
	workMs     = 20 // a longer one is a lower rate, so the load takes less of the processors that it shares
	patience   = 2 * time.Second
)

// build builds the command once, without the race detector, into the folder that TestMain removes.
var build = sync.OnceValues(func() (string, error) {
	return filepath.Join(binaries, "payments"), command.Build(binaries, "./examples/payments")
})

// payments is a process of the command.
type payments struct {
	*redistest.Process
	pid    int
	url    string
	client *http.Client // gives up as customers do
}

// start runs the command with nothing but the worker shedder, which is off or enforced, and returns once it is healthy. Of
// the other layers, rate and fleet are off. Concurrency has a limit that nobody reaches, for its gauge: what is in flight
// is in seawall_inflight with the shedder off, too.
func start(t *testing.T, shedder string) *payments {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	cmd := exec.Command(path, "-addr", "127.0.0.1:0", "-flags", flagFile(t, shedder),
		"-work", "cpu", "-workers", fmt.Sprint(workers), "-max-in-flight", "1000000")
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", processors), "SEAWALL_SECRET=in every run the same callers are in or out together")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var log bytes.Buffer // complete when the process has ended
	cmd.Stderr = &log
	transport := &http.Transport{MaxIdleConnsPerHost: 10_000, DisableCompression: true}
	p := &payments{client: &http.Client{Transport: transport, Timeout: patience}}
	p.Process = redistest.Launch(t, cmd)
	p.pid = cmd.Process.Pid
	t.Cleanup(func() {
		p.Kill() // it would finish what its clients have long given up
		transport.CloseIdleConnections()
		if t.Failed() {
			t.Logf("log of the command:\n%.4000s", log.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "payments: listening on "))
	require.Eventually(t, func() bool { return p.do(request{method: http.MethodGet, path: "/healthz"}) == http.StatusOK },
		30*time.Second, 10*time.Millisecond)
	return p
}

// flagFile writes flags in flagd's format that switch off what is not measured.
func flagFile(t *testing.T, shedder string) string {
	t.Helper()
	off := []string{"ratelimit", "fleetshed"}
	if shedder == Off {
		off = append(off, "workershed")
	}
	var lines []string
	for _, layer := range off {
		lines = append(lines, fmt.Sprintf(
			`"seawall-%s-enabled": {"state": "ENABLED", "variants": {"v": false}, "defaultVariant": "v"}`, layer))
	}
	path := filepath.Join(t.TempDir(), "flags.json")
	require.NoError(t, os.WriteFile(path, []byte("{\"flags\": {\n"+strings.Join(lines, ",\n")+"\n}}\n"), 0o600))
	return path
}

// do sends a request and returns the status: 0 if there was no answer in time.
func (p *payments) do(r request) int {
	req, err := http.NewRequestWithContext(context.Background(), r.method, p.url+r.path, http.NoBody)
	if err != nil {
		return 0
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}
