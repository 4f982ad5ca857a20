package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seawall-go/seawall/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable()
	goleak.VerifyTestMain(m)
}

// instance is a running payments API.
type instance struct {
	url    string
	client *http.Client
	stop   func() error // as SIGTERM does; idempotent
}

// start runs the command on a free port until the test ends, and waits until it is healthy.
func start(t *testing.T, args ...string) *instance {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), w)
		_ = w.CloseWithError(io.EOF)
		ended <- err
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		cancel()
		require.NoError(t, <-ended)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	i := &instance{
		url:    strings.TrimSpace(strings.TrimPrefix(line, "payments: listening on ")),
		client: &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}
	i.stop = sync.OnceValue(func() error {
		transport.CloseIdleConnections()
		cancel()
		return <-ended
	})
	t.Cleanup(func() { assert.NoError(t, i.stop()) })
	require.Eventually(t, func() bool { return i.get(t, "/healthz", "").code == http.StatusOK }, 10*time.Second, 10*time.Millisecond)
	return i
}

// onBothStores runs a test on the embedded store and on a real Redis.
func onBothStores(t *testing.T, test func(t *testing.T, store ...string)) {
	t.Run("memory", func(t *testing.T) { test(t) })
	t.Run("redis", func(t *testing.T) { test(t, "-redis", redistest.Start(t).URL()) })
}

// answer is a response, read.
type answer struct {
	code   int
	header http.Header
	body   string
	took   time.Duration
}

func (i *instance) get(t *testing.T, path, key string) answer {
	return i.do(t, http.MethodGet, path, key, "")
}

func (i *instance) do(t *testing.T, method, path, key, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, i.url+path, strings.NewReader(body))
	if !assert.NoError(t, err) {
		return answer{}
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	began := time.Now()
	resp, err := i.client.Do(req)
	if !assert.NoError(t, err) {
		return answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	assert.NoError(t, err)
	return answer{resp.StatusCode, resp.Header, string(text), time.Since(began)}
}

// parallel calls f for 0 to n-1 at once and returns the answers.
func parallel(n int, f func(k int) answer) []answer {
	answers := make([]answer, n)
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { answers[k] = f(k) })
	}
	all.Wait()
	return answers
}

func codes(answers []answer) map[int]int {
	n := map[int]int{}
	for _, a := range answers {
		n[a.code]++
	}
	return n
}

// metric sums the samples of a metric whose labels include all the given texts, such as `mode="enforce"`.
func (i *instance) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(i.get(t, "/metrics", "").body) {
		head, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(head, name+"{") {
			if head, value, _ = strings.Cut(strings.TrimSpace(line), " "); head != name {
				continue
			}
		}
		matches := true
		for _, l := range labels {
			matches = matches && strings.Contains(head+"}", l)
		}
		if matches {
			v, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err, line)
			sum += v
		}
	}
	return sum
}

// flagsFile writes a flag file that gives each flag the value, and returns its path.
func flagsFile(t *testing.T, flags map[string]any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flags.json")
	setFlags(t, path, flags)
	return path
}

func setFlags(t *testing.T, path string, flags map[string]any) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"flags": {`)
	sep := ""
	for key, value := range flags {
		if s, ok := value.(string); ok {
			value = strconv.Quote(s)
		}
		fmt.Fprintf(&b, "%s\n  %q: {\"state\": \"ENABLED\", \"variants\": {\"v\": %v}, \"defaultVariant\": \"v\"}", sep, key, value)
		sep = ","
	}
	b.WriteString("\n}}\n")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
}
