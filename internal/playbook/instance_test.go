package playbook

import (
	"bufio"
	"context"
	"errors"
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

// top is the root of the repository.
const top = "../.."

// secret makes the ids of callers those of the page.
const secret = "the playbook's callers have these ids"

// build builds the examples once, into the folder that TestMain removes.
var build = sync.OnceValue(func() error { return command.Build(binaries, "./examples/payments", "./examples/report") })

// instance is a process of the payments example.
type instance struct {
	url     string
	greeted string // the line that it has printed
	log     string // the file of what it has logged
}

// launch starts the example in a folder, on a free port, and returns once it is healthy.
func launch(t *testing.T, dir string, args ...string) *instance {
	t.Helper()
	require.NoError(t, build())
	cmd := exec.Command(filepath.Join(binaries, "payments"), append(args, "-addr", "127.0.0.1:0")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SEAWALL_SECRET="+secret, "SEAWALL_INSTANCES=")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	redistest.Launch(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	i := &instance{greeted: strings.TrimSpace(line), log: log.Name()}
	require.NoError(t, err, i.logged(t))
	i.url = strings.TrimPrefix(i.greeted, "payments: listening on ")
	require.Eventually(t, func() bool { _, err := i.get(t, "/healthz"); return err == nil }, 10*time.Second, 10*time.Millisecond)
	return i
}

// logged returns the lines logged so far.
func (i *instance) logged(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(i.log)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// get returns the body of a 200.
func (i *instance) get(t *testing.T, path string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.url+path, http.NoBody)
	require.NoError(t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// scrape returns its metrics.
func (i *instance) scrape(t *testing.T) Scrape {
	t.Helper()
	text, err := i.get(t, "/metrics")
	require.NoError(t, err)
	s, err := ParseScrape(text)
	require.NoError(t, err)
	require.NotEmpty(t, s)
	return s
}

// modes returns the layers' modes, as /seawall/ shows them.
func (i *instance) modes(t *testing.T) []string {
	t.Helper()
	text, err := i.get(t, "/seawall/")
	require.NoError(t, err)
	var modes []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		fields := strings.Fields(line)
		require.Greater(t, len(fields), 1, line)
		modes = append(modes, fields[1])
	}
	require.NotEmpty(t, modes)
	return modes
}

// withoutRedis returns the metrics of an instance whose Redis has never answered: some are of it alone.
func withoutRedis(t *testing.T) Scrape {
	t.Helper()
	i := launch(t, t.TempDir(), "-redis", "redis://127.0.0.1:1") // nothing listens there
	for range 3 {
		_, err := i.get(t, "/v1/charges")
		require.NoError(t, err)
	}
	return i.scrape(t)
}
