package clients

import (
	"bufio"
	"context"
	"net/http"
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

// buildPayments builds the example once, into the folder that TestMain removes.
var buildPayments = sync.OnceValues(func() (string, error) {
	return filepath.Join(binaries, "payments"), command.Build(binaries, "./examples/payments")
})

// payments is a process of the payments example.
type payments struct {
	*redistest.Process
	url string
}

// startPayments starts the example on a free port, and returns once it is healthy.
func startPayments(t *testing.T, args ...string) *payments {
	t.Helper()
	path, err := buildPayments()
	require.NoError(t, err)
	cmd := exec.Command(path, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p := &payments{Process: redistest.Launch(t, cmd)}
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "payments: listening on "))
	require.Eventually(t, func() bool { return p.status(t, "/healthz", "") == http.StatusOK }, 10*time.Second, 10*time.Millisecond)
	return p
}

// onBothStores runs a test on the embedded store and on a real Redis; store is what the command is to be told.
func onBothStores(t *testing.T, test func(t *testing.T, store ...string)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, "-redis", redistest.Start(t).URL())
	})
}

// status is what a GET is answered, 0 if it is not; without a retry.
func (p *payments) status(t *testing.T, path, key string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
	require.NoError(t, err)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
