package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wrk is the load generator, with requests of a thousand callers.
type wrk struct{ path, script string }

// callersScript has wrk send the requests of a thousand callers in turn. They are written before the run.
const callersScript = `
local all, n = {}, 0
init = function(args)
  for i = 1, 1000 do
    wrk.headers["Authorization"] = string.format("Bearer sk_live_%08d", i)
    all[i] = wrk.format("GET")
  end
end
request = function()
  n = n % 1000 + 1
  return all[n]
end
`

// newWrk finds it. A short run does without where it is not installed; a long one does not.
func newWrk(t *testing.T) *wrk {
	t.Helper()
	path, err := exec.LookPath("wrk")
	if err != nil && !long() {
		t.Skip("wrk is not on PATH (scripts/deps.sh wrk)")
	}
	require.NoError(t, err, "install wrk: scripts/deps.sh wrk")
	w := &wrk{path, filepath.Join(t.TempDir(), "callers.lua")}
	require.NoError(t, os.WriteFile(w.script, []byte(callersScript), 0o600))
	return w
}

// version is what wrk says of itself.
func (w *wrk) version(t *testing.T) string {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), w.path, "-v").CombinedOutput() // it exits with 1
	first, _, _ := strings.Cut(string(out), " [")
	require.Contains(t, first, "wrk")
	return strings.TrimSpace(strings.TrimPrefix(first, "wrk"))
}

// told is what wrk says of a run.
type told struct{ perSecond, p50, p99 float64 }

func (w *wrk) run(t *testing.T, url string, d time.Duration) told {
	out, err := exec.CommandContext(t.Context(), w.path, "-t", "1", "-c", strconv.Itoa(connections),
		"-d", strconv.Itoa(int(d.Seconds()))+"s", "--latency", "-s", w.script, url).CombinedOutput()
	require.NoError(t, err, "%s", out)
	said, problem := parseWrk(string(out))
	require.Empty(t, problem, "%s", out)
	return said
}

var (
	latencyLine = regexp.MustCompile(`(?m)^\s+(50|99)%\s+([0-9.]+)(us|ms|s)\s*$`)
	rateLine    = regexp.MustCompile(`(?m)^Requests/sec:\s+([0-9.]+)$`)
)

// parseWrk reads what wrk has printed, and says what is wrong with it: answers that are no 200, too.
func parseWrk(out string) (said told, problem string) {
	for _, bad := range []string{"Non-2xx", "Socket errors"} {
		if strings.Contains(out, bad) {
			return told{}, "not every request was served"
		}
	}
	unit := map[string]float64{"us": 0.001, "ms": 1, "s": 1000}
	for _, m := range latencyLine.FindAllStringSubmatch(out, -1) {
		x, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return told{}, err.Error()
		}
		if m[1] == "50" {
			said.p50 = x * unit[m[3]]
		} else {
			said.p99 = x * unit[m[3]]
		}
	}
	if m := rateLine.FindStringSubmatch(out); m != nil {
		said.perSecond, _ = strconv.ParseFloat(m[1], 64) // the pattern has numbers only
	}
	if said.p50 == 0 || said.p99 == 0 || said.perSecond == 0 {
		return told{}, "want the latencies of 50 % and 99 %, and Requests/sec"
	}
	return said, ""
}

func TestParseWrk(t *testing.T) {
	t.Parallel()
	const good = `Running 1s test @ http://127.0.0.1:1/
  Latency Distribution
     50%  874.00us
     75%    1.20ms
     90%    1.35ms
     99%    1.02s
  12 requests in 1.00s, 1.2KB read
Requests/sec:   1234.56
`
	said, problem := parseWrk(good)
	assert.Empty(t, problem)
	assert.Equal(t, told{1234.56, 0.874, 1020}, said)
	for _, bad := range []string{
		"", "Requests/sec: 5", good + "  Non-2xx or 3xx responses: 1\n", good + "  Socket errors: connect 0, read 1\n",
		strings.ReplaceAll(good, "99%", "98%"),
	} {
		_, problem := parseWrk(bad)
		assert.NotEmpty(t, problem, bad)
	}
}
