package clients

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// long is the variable that, set to long, has the tests run clients that must be installed first.
const long = "SEAWALL_CLIENTS"

// TestOtherLanguages has clients of Python and JavaScript send twenty requests at once, against a bucket of five, and one to
// a fleet that is busy.
func TestOtherLanguages(t *testing.T) {
	if os.Getenv(long) != "long" {
		t.Skipf("%s=long runs clients of other languages; it needs node, npm and its registry, and Debian's python3-urllib3", long)
	}
	python, npm := folder(t, "python"), folder(t, "npm")
	output(t, npm, "npm", "ci", "--no-audit", "--no-fund")
	for name, client := range map[string]client{
		"urllib3":     {python, []string{"/usr/bin/python3", "retry.py"}},
		"axios-retry": {npm, []string{"node", "retry.mjs"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t, startPayments(t, "-rate", "5", "-burst", "5", "-max-in-flight", "100"))
			client.served(t, r, 20)
			r.waitedOut(t, http.StatusTooManyRequests)
			_, refusals := r.count()
			assert.GreaterOrEqual(t, refusals, 15, "they were sent at once")
			t.Logf("20 requests at once, %d refusals", refusals)

			r = recordBusyFleet(t)
			client.served(t, r, 1)
			r.waitedOut(t, http.StatusServiceUnavailable)
			_, refusals = r.count()
			assert.GreaterOrEqual(t, refusals, 1)
		})
	}
}

// client is a command that is told a URL, and how many requests to send at once; it prints how many were served.
type client struct {
	dir     string
	command []string
}

// served asserts that all were, in the end.
func (c client) served(t *testing.T, r *recorder, n int) {
	t.Helper()
	count := strconv.Itoa(n)
	assert.Equal(t, count, output(t, c.dir, append(slices.Clone(c.command), r.url+"/v1/charges", count)...))
	requests, _ := r.count()
	assert.Equal(t, n, requests)
}

// folder returns a copy of a folder in testdata, for what is installed and compiled there.
func folder(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))))
	return dir
}

// output runs a command in the folder and returns what it prints.
func output(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", out, stderr.String())
	return strings.TrimSpace(string(out))
}
